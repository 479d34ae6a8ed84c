import type { BulkFault, BulkRuns } from "../bulk/runs.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Counters } from "../counters.ts";
import type { ShopFacts } from "../options.ts";

/** What resolvers are handed with one request. */
export interface RequestContext {
  readonly appName: string;
  readonly scopes: ReadonlySet<string>;
  readonly shop: ShopFacts;
  readonly catalog: Catalog;
  readonly bulk: BulkRuns;
  readonly counters: Counters;
  /** The fault that the next bulk run shall meet; drawing it uses it up. */
  readonly bulkFault: () => BulkFault | undefined;
}
