import type { BulkRuns } from "../bulk/runs.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Counters } from "../counters.ts";
import type { FaultEffect } from "../faults.ts";
import type { Subscriptions } from "../webhooks/subscriptions.ts";

export interface ShopDetails {
  readonly id: string;
  readonly name: string;
  readonly myshopifyDomain: string;
  readonly ianaTimezone: string;
  readonly primaryDomain: { readonly host: string };
  readonly weightUnit: "GRAMS" | "KILOGRAMS" | "OUNCES" | "POUNDS";
}

/** Passed to the resolvers with each request. */
export interface RequestContext {
  readonly appName: string;
  readonly scopes: ReadonlySet<string>;
  readonly shop: ShopDetails;
  readonly catalog: Catalog;
  readonly bulk: BulkRuns;
  readonly counters: Counters;
  readonly subscriptions: Subscriptions;
  /** The time that a read which lags behind shows: milliseconds since 1970; undefined for now. */
  readonly readsAtMs: number | undefined;
  /** The same for a list. */
  readonly listsAtMs: number | undefined;
  /** Takes the fault for the next bulk run, if any. */
  readonly bulkFault: () => FaultEffect | undefined;
}
