import type { Migration } from "../../engine.ts";
import { createPurge } from "../../migrations/2026-11-25-purge.ts";
import { columnTypes } from "../column-types.ts";

/** The trigger of the initial migration, which now records the time. */
const replaceTrigger = (name: string, event: string, row: "NEW" | "OLD"): string[] => [
  `DROP TRIGGER ${name}`,
  `CREATE TRIGGER ${name} AFTER ${event} BEGIN
    INSERT INTO change (noun, scope, recorded_at)
    VALUES ('product', CAST(${row}.id AS TEXT), strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
  END`,
];

export const purge: Migration = {
  name: "2026-11-25-purge",
  statements: [
    ...createPurge(columnTypes),
    ...replaceTrigger("product_inserted", "INSERT ON product", "NEW"),
    ...replaceTrigger("product_updated", "UPDATE ON product WHEN OLD.tag <> NEW.tag", "NEW"),
    ...replaceTrigger("product_deleted", "DELETE ON product", "OLD"),
  ],
};
