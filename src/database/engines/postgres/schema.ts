import { tables } from "../../schema.ts";
import type { ColumnTypes, ProductFact } from "../engine.ts";

export const columnTypes: ColumnTypes = {
  counter: "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  key: 'TEXT COLLATE "C"',
  bytes: "BYTEA",
  clustered: "",
  singleProcess: "WITH (parallel_workers = 0)",
};

/** Expression: an instant as ISO 8601 in UTC with milliseconds. */
export const toText = (instant: string) => `to_char((${instant}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export const now = toText("clock_timestamp()");

/** The lock "changes". The trigger takes it, too. */
export const changesLock = 7365747303;

/**
 * Splits the text, because JSON functions fail for texts that PostgreSQL cannot store. The first
 * match is the key: quotation marks inside values are escaped.
 */
export const handleOf = (document: string) =>
  `nullif(left(split_part(split_part(${document}, ',"handle":"', 2), '"', 1), 300), '')`;

/** An index takes no long values. */
const maxLength = 200;

/** Expression: a text of a product's document, as JSON escapes it; empty without one. */
const textOf = (document: string, field: string) => `split_part(split_part(${document}, ',"${field}":"', 2), '","', 1)`;

const statusOf = (document: string) => `left(${textOf(document, "status")}, ${maxLength})`;
const vendorOf = (document: string) => `left(${textOf(document, "vendor")}, ${maxLength})`;
const cut = (value: string) => `left(CAST(${value} AS TEXT), ${maxLength})`;

/** Conditions on values as JSON escapes them. They are indexed. */
export const hasFact: Readonly<Record<ProductFact, (document: string, value: string) => string>> = {
  status: (document, value) => `${statusOf(document)} = ${cut(value)}`,
  vendor: (document, value) => `${vendorOf(document)} = ${cut(value)}`,
  tag: (document, value) => `product_tags(${document}) @> ARRAY[${cut(value)}]`,
};

export const schema: readonly string[] = [
  ...tables(columnTypes, now),
  // Each change of a product leaves a row in `change`, which keeps the newest, and so does a change of
  // each handle, which requests by handle may have cached.
  `CREATE FUNCTION record_product_change() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    handle_before TEXT := ${handleOf("OLD.document")};
    handle_after TEXT := ${handleOf("NEW.document")};
  BEGIN
    PERFORM pg_advisory_xact_lock(${changesLock});
    INSERT INTO change (noun, scope) VALUES ('product', CAST(coalesce(NEW.id, OLD.id) AS TEXT));
    IF handle_before IS DISTINCT FROM handle_after OR OLD.visible_from IS DISTINCT FROM NEW.visible_from THEN
      INSERT INTO change (noun, scope) SELECT DISTINCT 'product', 'handle:' || handle
        FROM unnest(ARRAY[handle_before, handle_after]) AS handle WHERE handle IS NOT NULL;
    END IF;
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
  // Rarely, because a deletion rereads rows that its own transaction has deleted: an import of
  // 100,000 products took 15 minutes. Readers expect at least the 100,000 newest rows.
  `CREATE TRIGGER change_inserted AFTER INSERT ON change FOR EACH ROW WHEN (NEW.id % 1000 = 0)
    EXECUTE FUNCTION remove_old_changes()`,
  // `toWords` has folded and separated the words, so no text search parser runs.
  "CREATE INDEX product_word ON product USING gin ((array_to_tsvector(string_to_array(words, ' '))))",
  `CREATE INDEX product_by_handle ON product ((${handleOf("document")}), updated_at, id)`,
  `CREATE INDEX product_by_status ON product ((${statusOf("document")}), id)`,
  `CREATE INDEX product_by_vendor ON product ((${vendorOf("document")}), id)`,
  `CREATE FUNCTION product_tags(document TEXT) RETURNS TEXT[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array(SELECT left(tag, ${maxLength}) FROM unnest(string_to_array(${textOf("document", "tags")}, ', ')) AS tag)
  $$`,
  "CREATE INDEX product_by_tag ON product USING gin (product_tags(document))",
];
