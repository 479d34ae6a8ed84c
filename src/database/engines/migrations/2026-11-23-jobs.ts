import type { Migration } from "../engine.ts";

export const jobs: Migration = {
  name: "2026-11-23-jobs",
  statements: [
    // The server process of the run's transactions; null on an embedded store.
    "ALTER TABLE run ADD COLUMN backend TEXT",
    // The run that a schedule started last. Its time may be later than that of newer runs, after the
    // clock was set back.
    "CREATE INDEX run_by_schedule ON run (job, brand, id) WHERE scheduled_at IS NOT NULL",
    // Programs that do not know one of these migrations are older than the version, and must not use
    // the store. A migration that takes something away from older programs inserts itself.
    "CREATE TABLE schema_minimum (migration TEXT PRIMARY KEY, version TEXT NOT NULL)",
  ],
};
