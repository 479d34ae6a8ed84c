import { counter, gauge, type Metric } from "../base/metric.ts";
import { type CatalogTruth, verifiedAges } from "./product-truth.ts";
import type { DeliveryCounter } from "./push/delivery-counter.ts";
import type { PushState } from "./push/state.ts";

export function measureCatalog({ products, verified, unsettled, waiting }: CatalogTruth): Metric[] {
  const ratios = verifiedAges.map(
    (age, index) => [products === 0 ? 1 : (verified[index] ?? 0) / products, { within: `${age}` }] as const,
  );
  return [
    gauge(
      "catalog_verified_ratio",
      "Share of the platform's stored products that were known to be current within so many seconds; 1 without a platform.",
      "within",
      ratios,
    ),
    gauge("catalog_unsettled_products", "Stored products that must be read again, because they may have changed.", "", [
      [unsettled],
    ]),
    gauge(
      "catalog_waiting_products",
      "Products that could not be stored for more than 60 seconds, because they change while they are read.",
      "",
      [[waiting]],
    ),
  ];
}

export const measurePush = ({ queue, subscribed, uninstalledAt }: PushState): Metric[] => [
  gauge("push_queue_products", "Products that were delivered and have not settled since.", "", [[queue.products]]),
  gauge("push_queue_oldest_seconds", "Age of the oldest delivery after which the product has not been read.", "", [
    [queue.oldestS],
  ]),
  gauge(
    "push_subscriptions_missing",
    "Topics that `pds platform subscribe` arranged and the platform no longer delivers.",
    "",
    [[subscribed?.missing.length ?? 0]],
  ),
  gauge("push_app_removed", "1 after the shop removed the app.", "", [[Number(uninstalledAt !== undefined)]]),
];

export const measureDeliveries = (deliveries: DeliveryCounter): Metric[] => [
  counter(
    "webhook_deliveries_total",
    "Deliveries of the platform by topic and result: `accepted`, `ignored`, `forged`, `wrong_shop`, `too_large`, `unreadable`, or `unavailable`.",
    "topic result",
    deliveries.list().map(({ topic, result, count }) => [count, { topic, result }]),
  ),
];
