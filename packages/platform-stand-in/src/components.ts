import type { Access } from "./access.ts";
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
