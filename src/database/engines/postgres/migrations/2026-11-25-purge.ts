import type { Migration } from "../../engine.ts";
import { createPurge } from "../../migrations/2026-11-25-purge.ts";
import { columnTypes } from "../column-types.ts";

export const purge: Migration = {
  name: "2026-11-25-purge",
  statements: [
    ...createPurge(columnTypes),
    // Apart from the column, so that the rows are not written again.
    `ALTER TABLE change ALTER COLUMN recorded_at
      SET DEFAULT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  ],
};
