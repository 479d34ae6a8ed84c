import type { Migration } from "../../engine.ts";
import { createTables } from "../../migrations/2026-11-22-tables.ts";
import { columnTypes } from "../column-types.ts";

export const initial: Migration = {
  name: "2026-11-22-initial",
  statements: [
    ...createTables(columnTypes),
    // Each change of a product leaves a row in `change`, which keeps the newest.
    `CREATE TRIGGER product_inserted AFTER INSERT ON product BEGIN
      INSERT INTO change (noun, scope) VALUES ('product', CAST(NEW.id AS TEXT));
    END`,
    `CREATE TRIGGER product_updated AFTER UPDATE ON product WHEN OLD.tag <> NEW.tag BEGIN
      INSERT INTO change (noun, scope) VALUES ('product', CAST(NEW.id AS TEXT));
    END`,
    `CREATE TRIGGER product_deleted AFTER DELETE ON product BEGIN
      INSERT INTO change (noun, scope) VALUES ('product', CAST(OLD.id AS TEXT));
    END`,
    `CREATE TRIGGER change_inserted AFTER INSERT ON change BEGIN
      DELETE FROM change WHERE id <= NEW.id - 100000;
    END`,
    // `toWords` has folded and separated the words, so the tokenizer only splits at spaces.
    // No query asks for positions or contents.
    `CREATE VIRTUAL TABLE product_word USING fts5 (
      words, content = '', contentless_delete = 1, detail = none, prefix = '1 2 3', tokenize = 'ascii'
    )`,
    `CREATE TRIGGER product_word_inserted AFTER INSERT ON product BEGIN
      INSERT INTO product_word (rowid, words) VALUES (NEW.id, NEW.words);
    END`,
    `CREATE TRIGGER product_word_updated AFTER UPDATE ON product WHEN OLD.words <> NEW.words BEGIN
      UPDATE product_word SET words = NEW.words WHERE rowid = NEW.id;
    END`,
    `CREATE TRIGGER product_word_deleted AFTER DELETE ON product BEGIN
      DELETE FROM product_word WHERE rowid = OLD.id;
    END`,
  ],
};
