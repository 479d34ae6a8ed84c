import type { Migration } from "../../engine.ts";

/**
 * Expression: the handle in a product's document, as JSON escapes it; null without one. In a
 * document, quotation marks inside values are escaped, so that the first match is the key. The JSON
 * functions fail for texts that PostgreSQL cannot store. An index takes no long values.
 */
export const handleOf = (document: string) =>
  `nullif(left(split_part(split_part(${document}, ',"handle":"', 2), '"', 1), 300), '')`;

export const handles: Migration = {
  name: "2026-11-26-handles",
  statements: [
    `CREATE INDEX product_by_handle ON product ((${handleOf("document")}), updated_at, id)`,
    // As before, and a change of each handle, which requests by handle may have cached.
    `CREATE OR REPLACE FUNCTION record_product_change() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      handle_before TEXT := ${handleOf("OLD.document")};
      handle_after TEXT := ${handleOf("NEW.document")};
    BEGIN
      PERFORM pg_advisory_xact_lock(7365747303);
      INSERT INTO change (noun, scope) VALUES ('product', CAST(coalesce(NEW.id, OLD.id) AS TEXT));
      IF handle_before IS DISTINCT FROM handle_after OR OLD.visible_from IS DISTINCT FROM NEW.visible_from THEN
        INSERT INTO change (noun, scope) SELECT DISTINCT 'product', 'handle:' || handle
          FROM unnest(ARRAY[handle_before, handle_after]) AS handle WHERE handle IS NOT NULL;
      END IF;
      RETURN NULL;
    END $$`,
  ],
};
