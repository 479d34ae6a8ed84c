import type { Access, App } from "./access.ts";
import type { BulkRuns } from "./bulk/runs.ts";
import type { Catalog } from "./catalog/catalog.ts";
import type { Counters } from "./counters.ts";
import type { Faults } from "./faults.ts";
import type { Executor } from "./graphql/executor.ts";
import type { FieldRules } from "./graphql/field-rules.ts";
import type { Lag } from "./lag.ts";
import type { StandInSettings } from "./options.ts";
import type { Deliveries } from "./webhooks/deliveries.ts";
import type { Subscriptions } from "./webhooks/subscriptions.ts";

/** The components of a running stand-in, for its endpoints. */
export interface Components {
  readonly settings: StandInSettings;
  readonly access: Access;
  readonly bulk: BulkRuns;
  readonly catalog: Catalog;
  readonly counters: Counters;
  readonly deliveries: Deliveries;
  readonly executor: Executor;
  readonly faults: Faults;
  readonly lag: Lag;
  readonly subscriptions: Subscriptions;
  readonly fields: FieldRules;
}

/**
 * A running stand-in for one shop. Control it through its components, or from another process at
 * `/control`.
 */
export interface StandIn extends Components {
  /** `http://127.0.0.1:…`, without a trailing slash. */
  readonly origin: string;
  graphqlUrl(version?: string): string;
  readonly accessTokenUrl: string;
  readonly controlUrl: string;
  /** Returns the named app, or the first. */
  findApp(name?: string): App;
  /**
   * State and counters; with `allReads`, the number of reads of each product instead of a total.
   */
  describe(allReads?: boolean): Readonly<Record<string, unknown>>;
  /** Removes an app from the shop: its tokens and subscriptions end, and it is notified. */
  uninstall(name?: string): void;
  stop(): Promise<void>;
}
