/** What the console shows, counts, and finds. */
export const prepareForConsole: readonly string[] = [
  // 1 when it ran because its job had never succeeded, 0 otherwise; null for runs of older programs.
  "ALTER TABLE run ADD COLUMN is_first INTEGER",
  "CREATE INDEX run_by_reason ON run (id) WHERE reason IS NOT NULL",
  // Imports whose feed had not changed count nothing.
  "CREATE INDEX run_by_count ON run (job, brand, id) WHERE outcome = 'succeeded' AND counts > 0",
  // Counts of products read these indexes, and no documents.
  "CREATE INDEX product_by_visibility ON product (visible_from)",
  "CREATE INDEX product_by_truth ON product (id, way, updated_at, checked_at, read_from) WHERE way <> 'import'",
];
