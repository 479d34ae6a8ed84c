import { tables } from "../../schema.ts";
import type { ColumnTypes, ProductFact } from "../engine.ts";

export const columnTypes: ColumnTypes = {
  counter: "INTEGER PRIMARY KEY AUTOINCREMENT",
  key: "TEXT",
  bytes: "BLOB",
  clustered: "WITHOUT ROWID",
  singleProcess: "",
};

export const now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/** In a document, quotation marks inside values are escaped, so that the first match is the key. */
const key = `',"handle":"'`;
const restOf = (document: string) => `substr(${document}, instr(${document}, ${key}) + 11)`;

export const handleOf = (document: string) =>
  `CASE WHEN instr(${document}, ${key}) > 0 THEN substr(${restOf(document)}, 1, instr(${restOf(document)}, '"') - 1) END`;

/** Expression: the part of a product's document from status to vendor, cut at 20,000 characters. */
function factsOf(document: string): string {
  const begin = `instr(${document}, ',"status":"')`;
  const end = `instr(substr(${document}, ${begin}, 20000), ',"admin_graphql_api_id":')`;
  // Includes the next quotation mark, so that the last value ends like the others.
  return `substr(${document}, ${begin}, ${end} + 1)`;
}

const hasText = (field: string) => (document: string, value: string) =>
  `instr(${factsOf(document)}, ',"${field}":"' || ${value} || '","') > 0`;

function hasTag(document: string, value: string): string {
  const facts = factsOf(document);
  const rest = `substr(${facts}, instr(${facts}, ',"tags":"') + 9)`;
  const tags = `substr(${rest}, 1, instr(${rest}, '","') - 1)`;
  // The cheap first condition rules out most products.
  return `instr(${facts}, ${value}) > 0 AND instr(', ' || ${tags} || ', ', ', ' || ${value} || ', ') > 0`;
}

export const hasFact: Readonly<Record<ProductFact, (document: string, value: string) => string>> = {
  status: hasText("status"),
  vendor: hasText("vendor"),
  tag: hasTag,
};

const [before, after] = [handleOf("OLD.document"), handleOf("NEW.document")];

/** Records a change of each handle, which requests by handle may have cached. */
const handleTrigger = (name: string, event: string, handles: string) => `
  CREATE TRIGGER ${name} AFTER ${event} BEGIN
    INSERT INTO change (noun, scope) SELECT 'product', 'handle:' || handle FROM (${handles}) WHERE handle <> '';
  END`;

export const schema: readonly string[] = [
  ...tables(columnTypes, now),
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
  handleTrigger("product_handle_inserted", "INSERT ON product", `SELECT ${after} AS handle`),
  handleTrigger("product_handle_deleted", "DELETE ON product", `SELECT ${before} AS handle`),
  handleTrigger(
    "product_handle_updated",
    `UPDATE ON product
    WHEN OLD.tag <> NEW.tag AND (${before} IS NOT ${after} OR OLD.visible_from IS NOT NEW.visible_from)`,
    `SELECT ${before} AS handle UNION SELECT ${after}`,
  ),
  // Rarely, because other stores pay for each deletion until the transaction ends.
  `CREATE TRIGGER change_inserted AFTER INSERT ON change WHEN NEW.id % 1000 = 0 BEGIN
    DELETE FROM change WHERE id <= NEW.id - 100000;
  END`,
  `CREATE INDEX product_by_handle ON product (${handleOf("document")}, updated_at)`,
  // A filter reads this index in the order of the products, and no documents.
  `CREATE INDEX product_filter ON product (id, ${factsOf("document")})`,
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
];
