import type { SQL } from "bun";
import { type Cell, insertRows, type NewRows } from "./rows.ts";

/** Every difference between the two engines, by what it is for. */
export interface Dialect {
  /** Statements for a new connection. */
  readonly setup: readonly string[];
  /** Options of BEGIN for a transaction that will write, so that it waits for its turn at the start. */
  readonly write: string;
  /** Statement that makes other migrating replicas wait until this transaction ends. */
  readonly lockMigrations: string;
  /** Statement that makes others who begin, choose or remove generations wait until this transaction ends. */
  readonly lockGenerations: string;
  /** Statement that makes others who record changes wait until this transaction ends: so they are numbered in the order in which they become visible. */
  readonly lockChanges: string;
  /** Statements for triggers: each change of a product leaves a row in `change`, and the oldest rows make room. */
  readonly changeTriggers: (kept: number) => readonly string[];
  /** Statements for the index of `product.words`, which follows every change of a product by itself. */
  readonly wordIndex: readonly string[];
  /** Query: the identifiers of products that a search (`$1`, made by `toSearch`) finds, in their order, `$2` at most. */
  readonly search: string;
  /** A search for products that have all the words, the last of them as a whole or as a beginning. */
  readonly toSearch: (words: readonly string[], isLastBeginning: boolean) => string;
  /** How many queries it answers at once; more of them would only wait inside. */
  readonly readers: number;
  /** Column type of a key that the database counts up. */
  readonly counter: string;
  /** Column type of text compared byte by byte. */
  readonly key: string;
  /** Table option that keeps the rows in the primary key's order. */
  readonly clustered: string;
  /** Column type of bytes. */
  readonly bytes: string;
  /** Expression: a text as its bytes in UTF-8, which need not be made a string on the way. */
  readonly bytesOf: (text: string) => string;
  /** How a statement names its nth value, counted from 1. */
  readonly placeholder: (place: number) => string;
  /** Adds many rows of new keys to a table, as fast as the engine takes them. */
  readonly load: <Row>(sql: SQL, rows: NewRows<Row>) => Promise<void>;
  /** Statement that gives the space of deleted rows back to a table, and tells its readers which pages everyone may see. */
  readonly tidy: (table: string) => string;
  /** Statement that gives back what the log of changes takes on the disk. */
  readonly shrinkLog: string;
  /** Expression: the database's clock, as ISO 8601 text in UTC with milliseconds. */
  readonly now: string;
  /** Expression: the same some seconds later. */
  readonly later: (seconds: number) => string;
  /** Statements for a connection whose process must not stand still while another one writes: it is told so at once instead. */
  readonly yielding: readonly string[];
  /** Whether that is what an error tells. */
  readonly isBusy: (error: unknown) => boolean;
  /** Whether an error tells that its disk is full, or that a file there may grow no further. */
  readonly isFull: (error: unknown) => boolean;
}

/** Characters that are sent at once. */
const copyPiece = 256 * 1024;
const special = /[\\\t\n\r]/;
const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

async function loadByCopy<Row>(sql: SQL, { table, columns, rows, append }: NewRows<Row>): Promise<void> {
  const writer = sql
    .unsafe(`COPY ${table} (${columns.join(", ")}) FROM STDIN`)
    .writable()
    .getWriter();
  const cells: Cell[] = [];
  let piece = "";
  for (const row of rows) {
    cells.length = 0;
    append(cells, row);
    // A cell seldom holds what must be escaped.
    const isPlain = !cells.some((cell) => typeof cell === "string" && special.test(cell));
    piece += `${(isPlain ? cells : cells.map(escaped)).join("\t")}\n`;
    if (piece.length < copyPiece) continue;
    await writer.write(piece);
    piece = "";
  }
  await writer.write(piece);
  await writer.close();
}

const escaped = (cell: Cell) => `${cell}`.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character);

/** Names would be looked up one among the others, so that hundreds of them take longer than the insertion. */
const positional = () => "?";

const sqlite: Dialect = {
  setup: [
    // First, so that whatever follows waits for another process's lock.
    "PRAGMA busy_timeout = 10000",
    // Readers go on while an import writes.
    "PRAGMA journal_mode = WAL",
    // With WAL this loses at most the last commits at a power cut, and never the database.
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -16384",
    "PRAGMA journal_size_limit = 67108864",
    // For ANALYZE: a look at some rows of each index is enough.
    "PRAGMA analysis_limit = 1000",
  ],
  write: "IMMEDIATE",
  lockMigrations: "SELECT 1",
  // Whoever will write has waited for the turn already.
  lockGenerations: "SELECT 1",
  lockChanges: "SELECT 1",
  changeTriggers: (kept) => [
    `CREATE TRIGGER product_inserted AFTER INSERT ON product BEGIN
      INSERT INTO change (noun, what) VALUES ('product', CAST(NEW.id AS TEXT));
    END`,
    `CREATE TRIGGER product_updated AFTER UPDATE ON product WHEN OLD.tag <> NEW.tag BEGIN
      INSERT INTO change (noun, what) VALUES ('product', CAST(NEW.id AS TEXT));
    END`,
    `CREATE TRIGGER product_deleted AFTER DELETE ON product BEGIN
      INSERT INTO change (noun, what) VALUES ('product', CAST(OLD.id AS TEXT));
    END`,
    `CREATE TRIGGER change_inserted AFTER INSERT ON change BEGIN
      DELETE FROM change WHERE id <= NEW.id - ${kept};
    END`,
  ],
  // It answers on the thread that asks: so many, each some 50 µs, before what else that has to do gets its turn.
  readers: 32,
  wordIndex: [
    // Where a word stands is not asked. The words come folded and parted: nothing is left to do for the tokenizer but to cut at spaces.
    `CREATE VIRTUAL TABLE product_word USING fts5 (
      words, content = '', contentless_delete = 1, detail = none, prefix = '1 2 3', tokenize = 'ascii'
    )`,
    "INSERT INTO product_word (rowid, words) SELECT id, words FROM product",
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
  search: "SELECT rowid AS id FROM product_word WHERE product_word MATCH $1 ORDER BY rowid LIMIT $2",
  toSearch: (words, isLastBeginning) =>
    `${words.map((word) => `"${word}"`).join(" AND ")}${isLastBeginning ? " *" : ""}`,
  counter: "INTEGER PRIMARY KEY AUTOINCREMENT",
  key: "TEXT",
  clustered: "WITHOUT ROWID",
  bytes: "BLOB",
  bytesOf: (text) => `CAST(${text} AS BLOB)`,
  placeholder: positional,
  load: (sql, rows) => insertRows(sql, positional, rows),
  // Deleted rows leave free pages behind at once.
  tidy: () => "SELECT 1",
  // It waits until no reader needs the log.
  shrinkLog: "PRAGMA wal_checkpoint(TRUNCATE)",
  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  later: (seconds) => `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+${seconds} seconds')`,
  // Nor does it write the log back, which is work for as long as an import's: whoever else writes does that.
  yielding: ["PRAGMA busy_timeout = 0", "PRAGMA wal_autocheckpoint = 0"],
  isBusy: (error) => `${(error as { code?: unknown }).code}`.startsWith("SQLITE_BUSY"),
  // A quota and a size limit come as a failed write.
  isFull: (error) => /^SQLITE_(FULL|IOERR_WRITE|IOERR_SHMSIZE)$/.test(`${(error as { code?: unknown }).code}`),
};

/** A product's words as the index has them: folded and parted by whoever writes them, so that there is nothing left to parse. */
const wordVector = "array_to_tsvector(string_to_array(words, ' '))";

const textOf = (instant: string) => `to_char((${instant}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const postgres: Dialect = {
  setup: [],
  write: "READ WRITE",
  // Any constant does that nothing else in the database uses: this one spells "pds" and a number.
  lockMigrations: "SELECT pg_advisory_xact_lock(7365747301)",
  lockGenerations: "SELECT pg_advisory_xact_lock(7365747302)",
  lockChanges: "SELECT pg_advisory_xact_lock(7365747303)",
  changeTriggers: (kept) => [
    `CREATE FUNCTION record_product_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock(7365747303);
      INSERT INTO change (noun, what) VALUES ('product', CAST(coalesce(NEW.id, OLD.id) AS TEXT));
      RETURN NULL;
    END $$`,
    // At the end of the transaction: until then nobody else waits for the lock.
    `CREATE CONSTRAINT TRIGGER product_inserted AFTER INSERT OR DELETE ON product
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION record_product_change()`,
    `CREATE CONSTRAINT TRIGGER product_updated AFTER UPDATE ON product
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.tag <> NEW.tag) EXECUTE FUNCTION record_product_change()`,
    `CREATE FUNCTION remove_old_changes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      DELETE FROM change WHERE id <= NEW.id - ${kept};
      RETURN NULL;
    END $$`,
    `CREATE TRIGGER change_inserted AFTER INSERT ON change FOR EACH ROW EXECUTE FUNCTION remove_old_changes()`,
  ],
  wordIndex: [`CREATE INDEX product_word ON product USING gin ((${wordVector}))`],
  // Some of those found are put in order: all of them may be half the catalog, and in their order it would look at every product.
  search: `SELECT id FROM (
      SELECT id FROM product WHERE ${wordVector} @@ CAST(CAST($1 AS TEXT) AS tsquery) LIMIT 1000
    ) AS matching ORDER BY id LIMIT $2`,
  toSearch: (words, isLastBeginning) => `${words.map((word) => `'${word}'`).join(" & ")}${isLastBeginning ? ":*" : ""}`,
  readers: 5,
  counter: "INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  key: 'TEXT COLLATE "C"',
  clustered: "",
  bytes: "BYTEA",
  bytesOf: (text) => `convert_to(${text}, 'UTF8')`,
  placeholder: (place) => `$${place}`,
  load: loadByCopy,
  tidy: (table) => `VACUUM ${table}`,
  shrinkLog: "SELECT 1",
  now: textOf("clock_timestamp()"),
  later: (seconds) => textOf(`clock_timestamp() + interval '${seconds} seconds'`),
  yielding: [],
  isBusy: () => false,
  // disk_full
  isFull: (error) => (error as { errno?: unknown }).errno === "53100",
};

/** The dialect of a `sqlite:` or `postgres:` address. */
export function dialectOf(url: string): Dialect {
  return url.startsWith("sqlite:") ? sqlite : postgres;
}
