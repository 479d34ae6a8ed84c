import type { Access } from "./access.ts";
import type { BulkRuns } from "./bulk/runs.ts";
import type { Catalog } from "./catalog/catalog.ts";
import type { Counters } from "./counters.ts";
import type { Faults } from "./faults.ts";
import type { Executor } from "./graphql/executor.ts";
import type { FieldRules } from "./graphql/field-rules.ts";
import type { StandInSettings } from "./options.ts";

/** The components of a running stand-in, for its endpoints. */
export interface Components {
  readonly settings: StandInSettings;
  readonly access: Access;
  readonly bulk: BulkRuns;
  readonly catalog: Catalog;
  readonly counters: Counters;
  readonly executor: Executor;
  readonly faults: Faults;
  readonly fields: FieldRules;
}
