import type { Migration } from "../../engine.ts";
import { createTables } from "../../migrations/2026-11-22-tables.ts";
import { columnTypes } from "../column-types.ts";

export const initial: Migration = {
  name: "2026-11-22-initial",
  statements: [
    ...createTables(columnTypes),
    // Each change of a product leaves a row in `change`, which keeps the newest. The lock is that
    // of "changes".
    `CREATE FUNCTION record_product_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock(7365747303);
      INSERT INTO change (noun, scope) VALUES ('product', CAST(coalesce(NEW.id, OLD.id) AS TEXT));
      RETURN NULL;
    END $$`,
    // Deferred, so that a transaction takes the lock only when it is about to commit.
    `CREATE CONSTRAINT TRIGGER product_inserted AFTER INSERT OR DELETE ON product
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_product_change()`,
    `CREATE CONSTRAINT TRIGGER product_updated AFTER UPDATE ON product
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.tag <> NEW.tag) EXECUTE FUNCTION record_product_change()`,
    `CREATE FUNCTION remove_old_changes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      DELETE FROM change WHERE id <= NEW.id - 100000;
      RETURN NULL;
    END $$`,
    "CREATE TRIGGER change_inserted AFTER INSERT ON change FOR EACH ROW EXECUTE FUNCTION remove_old_changes()",
    // `toWords` has folded and separated the words, so no text search parser runs.
    "CREATE INDEX product_word ON product USING gin ((array_to_tsvector(string_to_array(words, ' '))))",
  ],
};
