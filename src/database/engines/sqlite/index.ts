import type { Engine } from "../engine.ts";
import { backUp } from "./backup.ts";
import { classify } from "./errors.ts";
import { findProductIds } from "./find-products.ts";
import { load } from "./load.ts";
import { filePathOf, lookAt, openFile, prepare, requireWhole, requireWritable, scheme } from "./open.ts";
import { columnTypes, handleOf, now, schema } from "./schema.ts";

/** SQLite: an embedded store in one file. A transaction that writes holds its only lock. */
export const sqlite: Engine = {
  schemes: [scheme],
  open: (url, purpose) => openFile(filePathOf(url), purpose),
  file: {
    lookAt: (url, work) => lookAt(filePathOf(url), work),
    requireWritable: (url) => requireWritable(filePathOf(url)),
    requireWhole: (url) => requireWhole(filePathOf(url)),
    prepare,
    // Waits until no reader needs the log.
    truncateLog: (sql) => sql.unsafe("PRAGMA wal_checkpoint(TRUNCATE)"),
    readReusableBytes: async (sql) => {
      const [row] = await sql<{ bytes: number }[]>`
        SELECT freelist_count * page_size AS bytes FROM pragma_freelist_count(), pragma_page_size()`;
      return row?.bytes ?? 0;
    },
    backUp: (url, path) => backUp(filePathOf(url), path),
  },
  classify,
  // Each read blocks the event loop for about 20 µs, so other work gets a turn after 32 of them.
  maxConcurrentReads: 32,

  schema,
  names: "SELECT name FROM sqlite_schema",
  columnTypes,

  history: "''",
  now,
  later: (seconds) => `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ${seconds} || ' seconds')`,
  toBytes: (text) => `CAST(${text} AS BLOB)`,
  contains: (bytes, text) => `instr(${bytes}, CAST(${text} AS BLOB)) > 0`,
  keyList: {
    contains: (column, value) => `${column} IN (SELECT value FROM json_each(${value}))`,
    toValue: JSON.stringify,
  },
  handleOf,

  findProductIds,
  load,
};
