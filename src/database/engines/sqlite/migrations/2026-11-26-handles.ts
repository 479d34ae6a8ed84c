import type { Migration } from "../../engine.ts";

/** In a document, quotation marks inside values are escaped, so that the first match is the key. */
const key = `',"handle":"'`;
const restOf = (document: string) => `substr(${document}, instr(${document}, ${key}) + 11)`;

/** Expression: the handle in a product's document, as JSON escapes it; null without one. */
export const handleOf = (document: string) =>
  `CASE WHEN instr(${document}, ${key}) > 0 THEN substr(${restOf(document)}, 1, instr(${restOf(document)}, '"') - 1) END`;

const [before, after] = [handleOf("OLD.document"), handleOf("NEW.document")];

/** Records a change of each handle, which requests by handle may have cached. */
const trigger = (name: string, event: string, handles: string) => `
  CREATE TRIGGER ${name} AFTER ${event} BEGIN
    INSERT INTO change (noun, scope, recorded_at)
    SELECT 'product', 'handle:' || handle, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    FROM (${handles}) WHERE handle <> '';
  END`;

export const handles: Migration = {
  name: "2026-11-26-handles",
  statements: [
    `CREATE INDEX product_by_handle ON product (${handleOf("document")}, updated_at)`,
    trigger("product_handle_inserted", "INSERT ON product", `SELECT ${after} AS handle`),
    trigger("product_handle_deleted", "DELETE ON product", `SELECT ${before} AS handle`),
    trigger(
      "product_handle_updated",
      `UPDATE ON product
      WHEN OLD.tag <> NEW.tag AND (${before} IS NOT ${after} OR OLD.visible_from IS NOT NEW.visible_from)`,
      `SELECT ${before} AS handle UNION SELECT ${after}`,
    ),
  ],
};
