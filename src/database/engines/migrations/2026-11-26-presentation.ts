import type { ColumnTypes, Migration } from "../engine.ts";

/** What styles, lines, and choices are called, and how they are filled in. */
export const presentation = ({ counter, key }: ColumnTypes): Migration => ({
  name: "2026-11-26-presentation",
  statements: [
    // One row is a brand's whole presentation: document is the JSON of its entries.
    // since: when it became the brand's current one; null when it isn't.
    // previous: the one that was current before. feed: its file as JSON, to recognize it.
    `CREATE TABLE presentation (
      id ${counter},
      brand ${key} NOT NULL,
      loaded_at TEXT NOT NULL,
      since TEXT,
      previous INTEGER,
      entries INTEGER NOT NULL,
      feed TEXT NOT NULL,
      document TEXT NOT NULL
    )`,
    "CREATE UNIQUE INDEX presentation_current ON presentation (brand) WHERE since IS NOT NULL",
  ],
});
