import type { ColumnTypes } from "../engine.ts";

/** How far each cache in front of the service has been purged. */
export const createPurge = ({ key }: ColumnTypes): readonly string[] => [
  // When the change was made; null for changes of older programs.
  "ALTER TABLE change ADD COLUMN recorded_at TEXT",
  `CREATE TABLE purge_target (
    name ${key} PRIMARY KEY,
    state TEXT NOT NULL
  )`,
];
