import type { ColumnTypes, Migration } from "../engine.ts";

/** The processes that serve from the store. */
export const replicas = ({ key }: ColumnTypes): Migration => ({
  name: "2026-11-30-console",
  statements: [
    // id: chosen by the process, which also holds its leases by this name.
    // state: what it said of itself at seen_at, as JSON.
    `CREATE TABLE replica (
      id ${key} PRIMARY KEY,
      started_at TEXT NOT NULL,
      seen_at TEXT NOT NULL,
      state TEXT NOT NULL
    )`,
  ],
});
