import { tablesOf } from "../generation-tables.ts";

/** A table whose rows are part of a copy of the store. */
export interface KeptTable {
  readonly name: string;
  /** Its rows are read in this order, which all engines share. */
  readonly key: string;
  /** Condition: which of its rows. */
  readonly only?: string;
}

/**
 * The data that other stores need. Runs in progress and the rows that they load stay behind: their
 * processes work on the original.
 */
export const keptTables: readonly KeptTable[] = [
  { name: "generation", key: "id", only: "state = 'complete'" },
  { name: "current_generation", key: "brand" },
  { name: "presentation", key: "id" },
  { name: "product", key: "id" },
  { name: "product_news", key: "id" },
  { name: "product_removal", key: "id" },
  { name: "push_queue", key: "product" },
  { name: "cursor", key: "name" },
  { name: "run", key: "id", only: "finished_at IS NOT NULL" },
  { name: "job_pause", key: "job, brand" },
  { name: "audit_record", key: "id" },
];

/**
 * Tables of which nothing is kept: rights of processes and browsers, what migrations write, and what caches have
 * to be told. Publishing a copy writes that anew, or, for a CDN, the service does: without a target's
 * row it purges everything.
 */
export const leftTables = [
  "lease",
  "operator_session",
  "change",
  "generation_list",
  "purge_target",
  "schema_migration",
  "schema_minimum",
] as const;

/** Tables whose ids a counter gives. No id is given twice. */
export const countedTables = [
  "run",
  "generation",
  "presentation",
  "change",
  "product_removal",
  "audit_record",
] as const;

export type Counters = Readonly<Partial<Record<(typeof countedTables)[number], number>>>;

/** The tables of a generation, in the order in which they are copied. */
export const generationTables = (generation: number): readonly KeptTable[] => {
  const { skus, styles, groups } = tablesOf(generation);
  return [
    { name: styles, key: "number" },
    { name: groups, key: "number" },
    { name: skus, key: "sku" },
  ];
};
