import { gauge, type Metric } from "../base/metric.ts";
import { measureCache } from "../cache/metrics.ts";
import { measureCatalog, measureDeliveries, measurePush } from "../catalog/metrics.ts";
import { measurePurgeStatus, measurePurges } from "../cdn/metrics.ts";
import { measureLimiters } from "../http/metrics.ts";
import { measureJobs } from "../jobs/metrics.ts";
import type { ServiceContext } from "./context.ts";
import type { StoreReader } from "./readiness.ts";

/** Omits what is unknown, because the other metrics then matter even more. */
export async function measureService(store: StoreReader, context: ServiceContext): Promise<Metric[]> {
  const { requests, push, purging } = context;
  const { cache, limiters, isStoreUnreachable } = requests.meters;
  const readings = await store.readAll();
  const { generations, catalogTruth, jobs, push: pushState, purge } = readings;
  const isIncomplete = Object.values(readings).some((reading) => reading?.problem !== undefined);
  return [
    gauge(
      "store_metrics_missing",
      "1 if metrics from the store are missing, because it did not respond in time or could not be read.",
      "",
      [[Number(isIncomplete)]],
    ),
    gauge(
      "personalization_generation",
      "Number of the current generation.",
      "brand",
      (generations.value ?? []).map(({ brand, generation }) => [generation, { brand }]),
    ),
    ...(catalogTruth.value ? measureCatalog(catalogTruth.value) : []),
    ...measureJobs(jobs.value ?? []),
    ...(pushState?.value ? measurePush(pushState.value) : []),
    ...(purge?.value ? measurePurgeStatus(purge.value) : []),
    ...measureCache(cache),
    ...measureLimiters(limiters),
    ...(push ? measureDeliveries(push.counter) : []),
    ...(purging ? measurePurges(purging.counter) : []),
    gauge("store_read_only", "1 if the store accepts no writes of this process, or is damaged.", "", [
      [Number(context.writes.problem() !== undefined)],
    ]),
    gauge("store_unreachable", "1 if this process cannot reach the store.", "", [[Number(isStoreUnreachable())]]),
  ];
}
