/** What the console shows and finds of runs. */
export const prepareRunsForConsole: readonly string[] = [
  // 1 when it ran because its job had never succeeded, 0 otherwise; null for runs of older programs.
  "ALTER TABLE run ADD COLUMN is_first INTEGER",
  "CREATE INDEX run_by_reason ON run (id) WHERE reason IS NOT NULL",
  // Imports whose feed had not changed count nothing.
  "CREATE INDEX run_by_count ON run (job, brand, id) WHERE outcome = 'succeeded' AND counts > 0",
];
