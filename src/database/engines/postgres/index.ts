import { SQL } from "bun";
import type { Connections, Engine, LockName, Purpose, Value } from "../engine.ts";
import { columnTypes } from "./column-types.ts";
import { loadByCopy } from "./copy.ts";
import { initial } from "./migrations/2026-11-22-initial.ts";

/**
 * The driver opens a whole pool at once, and the server counts those of all replicas and runs. The
 * driver also sends statements without waiting for the last one's rows: with few connections, each
 * wake-up of a server process or of ours handles several of them.
 */
const maxConnections: Readonly<Record<Purpose, number>> = { serving: 2, working: 5, scheduling: 2, background: 2 };

/** Arbitrary keys that nothing else in the database uses. */
const lockKeys: Readonly<Record<LockName, number>> = {
  migrations: 7365747301,
  generations: 7365747302,
  changes: 7365747303,
};

const toText = (instant: string) => `to_char((${instant}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const sqlStateOf = (error: unknown) => (error as { errno?: unknown }).errno;

/** PostgreSQL: a server that several replicas share. */
export const postgres: Engine = {
  schemes: ["postgres:", "postgresql:"],
  exists: () => true,
  open: async (url, purpose) => connect(url, purpose),
  migrations: [initial],
  columnTypes,
  maxConcurrentReads: 16,

  writeMode: "READ WRITE",
  lock: (transaction, name) => transaction.unsafe(`SELECT pg_advisory_xact_lock(${lockKeys[name]})`),

  now: toText("clock_timestamp()"),
  later: (seconds) => toText(`clock_timestamp() + ${seconds} * interval '1 second'`),
  toBytes: (text) => `convert_to(${text}, 'UTF8')`,
  contains: (bytes, text) => `position(convert_to(${text}, 'UTF8') IN ${bytes}) > 0`,
  placeholder: (place) => `$${place}`,
  // The expression is that of the index `product_word`. The limit keeps the planner on that index:
  // to sort half of a catalog, it would read every product in order instead.
  searchQuery: `SELECT id FROM (
      SELECT id FROM product
      WHERE array_to_tsvector(string_to_array(words, ' ')) @@ CAST(CAST($1 AS TEXT) AS tsquery) LIMIT 1000
    ) AS matching ORDER BY id LIMIT $2`,
  toSearchText: (words, isLastPrefix) => `${words.map((word) => `'${word}'`).join(" & ")}${isLastPrefix ? ":*" : ""}`,

  keyList: {
    contains: (column, value) => `${column} = ANY(${value})`,
    toValue: (keys) => `{${keys.map((key) => `"${key.replace(/["\\]/g, "\\$&")}"`).join(",")}}`,
  },

  load: loadByCopy,
  vacuum: (sql, table) => sql.unsafe(`VACUUM ${table}`),
  // The server looks after its log.
  truncateLog: async () => {},

  // The base class: a lost connection may have no class of its own.
  isStoreError: (error) => error instanceof SQL.SQLError,
  isBusy: () => false,
  // disk_full
  isDiskFull: (error) => sqlStateOf(error) === "53100",
  // undefined_table
  isTableMissing: (error) => sqlStateOf(error) === "42P01",
};

function connect(url: string, purpose: Purpose): Connections {
  const sql = new SQL(url, {
    connectionTimeout: 5,
    max: maxConnections[purpose],
    // A prepared statement's plan ignores the values: to find the newest run of a job that rarely
    // ran, it would scan all runs.
    prepare: purpose !== "background",
  });
  const read = <Row>(statement: string, values: Value[]) => sql.unsafe<Row[]>(statement, values);
  return { sql, read, closeReader: () => {}, folder: undefined };
}
