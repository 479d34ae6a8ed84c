import type { Migration } from "../engine.ts";

export const jobs: Migration = {
  name: "2026-11-23-jobs",
  statements: [
    // The server process of the run's transactions; null on an embedded store.
    "ALTER TABLE run ADD COLUMN backend TEXT",
  ],
};
