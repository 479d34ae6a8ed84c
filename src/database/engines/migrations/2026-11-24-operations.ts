import type { ColumnTypes, Migration } from "../engine.ts";

/** What operators ask of jobs and runs. */
export const operations = ({ key }: ColumnTypes): Migration => ({
  name: "2026-11-24-operations",
  statements: [
    // By whom the run is cancelled, in words; null unless somebody asked for it.
    "ALTER TABLE run ADD COLUMN cancelled TEXT",
    "CREATE INDEX run_by_cancellation ON run (job, brand, id) WHERE outcome = 'cancelled'",
    // resumed_at: null while the job is paused. It stays afterwards: no earlier time is made up for.
    `CREATE TABLE job_pause (
      job ${key} NOT NULL,
      brand ${key} NOT NULL,
      paused_at TEXT NOT NULL,
      paused_by TEXT NOT NULL,
      resumed_at TEXT,
      PRIMARY KEY (job, brand)
    )`,
  ],
});
