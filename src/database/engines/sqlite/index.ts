import type { Engine } from "../engine.ts";
import { insertRows } from "../insert-rows.ts";
import { backUp } from "./backup.ts";
import { columnTypes } from "./column-types.ts";
import { isBusy, isDiskFull, isStoreError, isTableMissing } from "./errors.ts";
import { exists, filePathOf, lookAt, openFile, prepareFile, requireWritable, scheme } from "./open.ts";
import { productQueries } from "./product-queries.ts";
import { handleOf, hasStatus, hasTag, hasVendor, now, schema } from "./schema.ts";

/** SQLite looks named values up one by one, so hundreds of names take longer than the insertion. */
const placeholder = () => "?";

/** SQLite: an embedded store in one file. */
export const sqlite: Engine = {
  schemes: [scheme],
  exists: (url) => exists(filePathOf(url)),
  requireWritable: (url) => requireWritable(filePathOf(url)),
  open: (url, purpose) => openFile(filePathOf(url), purpose),
  schema,
  lookAt: (url, work) => lookAt(filePathOf(url), work),
  names: "SELECT name FROM sqlite_schema",
  prepareFile,
  columnTypes,
  // Reads run on the event loop, at about 20 µs each: 32 of them, then other work has its turn.
  maxConcurrentReads: 32,

  writeMode: "IMMEDIATE",
  // A transaction that writes holds the only write lock already.
  lock: async () => {},
  lockBrand: async () => {},
  withoutTimeouts: async () => {},
  // The file's rights are those of its opening.
  findMissingRight: async () => undefined,
  // A reader keeps what it reads.
  checkPooler: async () => [],
  limitLockWaits: async () => {},
  // The lock of a process ends with it.
  holdRun: async () => {},
  endAbandoned: async () => [],

  history: "''",
  now,
  later: (seconds) => `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ${seconds} || ' seconds')`,
  toBytes: (text) => `CAST(${text} AS BLOB)`,
  handleOf,
  contains: (bytes, text) => `instr(${bytes}, CAST(${text} AS BLOB)) > 0`,
  placeholder,
  hasStatus,
  hasVendor,
  hasTag,
  productQueries,
  readByIndex: (sql, statement, values) => sql.unsafe(statement, values),
  toSearchText: (words, isLastPrefix) => `${words.map((word) => `"${word}"`).join(" AND ")}${isLastPrefix ? " *" : ""}`,

  keyList: {
    contains: (column, value) => `${column} IN (SELECT value FROM json_each(${value}))`,
    toValue: JSON.stringify,
  },
  hasRoundTrips: false,

  load: (sql, rows) => insertRows(sql, placeholder, rows),
  // Deletions free their pages at once.
  vacuum: async () => {},
  // Waits until no reader needs the log.
  truncateLog: (sql) => sql.unsafe("PRAGMA wal_checkpoint(TRUNCATE)"),
  readReusableBytes: async (sql) => {
    const [row] = await sql<{ bytes: number }[]>`
      SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count(), pragma_page_size()`;
    return row?.bytes ?? 0;
  },

  backUp,

  isStoreError,
  isBusy,
  isLocked: () => false,
  isDiskFull,
  isTableMissing,
  isConnectionLost: () => false,
  isPreparedElsewhere: () => false,
  isPoolerRefusal: () => false,
  isReadOnly: () => false,
};
