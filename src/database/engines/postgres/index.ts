import { SQL } from "bun";
import type { Engine, LockName } from "../engine.ts";
import { columnTypes } from "./column-types.ts";
import { connect, maxConcurrentReads } from "./connect.ts";
import { loadByCopy } from "./copy.ts";
import { checkPooler } from "./pooler.ts";
import { productQueries, readByIndex } from "./product-queries.ts";
import { findMissingRight, names } from "./rights.ts";
import { endAbandoned, holdRun } from "./run-lock.ts";
import { changesLock, handleOf, hasStatus, hasTag, hasVendor, now, schema, toText } from "./schema.ts";

/** Arbitrary keys that nothing else in the database uses. */
const lockKeys: Readonly<Record<LockName, number>> = {
  schema: 7365747301,
  changes: changesLock,
};
/** The first key of the locks of brands; the second is a hash, which two brands may share. */
const brandLocks = 736574730;

const sqlStateOf = (error: unknown) => (error as { errno?: unknown }).errno;

/** read_only_sql_transaction: a standby, which the connection led to during a failover. */
const isReadOnly = (error: unknown) => sqlStateOf(error) === "25006";

/** PostgreSQL: a server that several replicas share. */
export const postgres: Engine = {
  schemes: ["postgres:", "postgresql:"],
  exists: () => true,
  requireWritable: () => {},
  open: async (url, purpose, options) => connect(url, purpose, options),
  schema,
  // Looking at a server changes nothing.
  lookAt: async () => undefined,
  names,
  prepareFile: async () => {},
  columnTypes,
  maxConcurrentReads,

  // Not READ WRITE: a standby would refuse it with a code that says nothing of a standby.
  writeMode: "ISOLATION LEVEL READ COMMITTED",
  lock: (transaction, name) => transaction.unsafe(`SELECT pg_advisory_xact_lock(${lockKeys[name]})`),
  lockBrand: (transaction, brand) =>
    transaction`SELECT CAST(pg_advisory_xact_lock(${brandLocks}, hashtext(${brand})) AS TEXT)`,
  withoutTimeouts: (transaction) => transaction.unsafe("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0"),
  findMissingRight,
  checkPooler,
  limitLockWaits: (transaction) => transaction.unsafe("SET LOCAL lock_timeout = 500"),
  holdRun,
  endAbandoned,

  // The timeline. That of the last checkpoint would be an old one for a while.
  history: "CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END",
  now,
  later: (seconds) => toText(`clock_timestamp() + ${seconds} * interval '1 second'`),
  toBytes: (text) => `convert_to(${text}, 'UTF8')`,
  handleOf,
  contains: (bytes, text) => `position(convert_to(${text}, 'UTF8') IN ${bytes}) > 0`,
  placeholder: (place) => `$${place}`,
  hasStatus,
  hasVendor,
  hasTag,
  productQueries,
  readByIndex,
  toSearchText: (words, isLastPrefix) => `${words.map((word) => `'${word}'`).join(" & ")}${isLastPrefix ? ":*" : ""}`,

  keyList: {
    contains: (column, value) => `${column} = ANY(${value})`,
    toValue: (keys) => `{${keys.map((key) => `"${key.replace(/["\\]/g, "\\$&")}"`).join(",")}}`,
  },
  hasRoundTrips: true,

  load: loadByCopy,
  vacuum: (sql, table) => sql.unsafe(`VACUUM ${table}`),
  // The server looks after its log.
  truncateLog: async () => {},
  readReusableBytes: async () => 0,

  backUp: undefined,

  // The base class: a lost connection may have no class of its own.
  isStoreError: (error) => error instanceof SQL.SQLError,
  isBusy: () => false,
  // lock_not_available
  isLocked: (error) => sqlStateOf(error) === "55P03",
  // disk_full
  isDiskFull: (error) => sqlStateOf(error) === "53100",
  // undefined_table
  isTableMissing: (error) => sqlStateOf(error) === "42P01",
  // Those of the driver, and admin_shutdown, crash_shutdown, cannot_connect_now, and idle_session_timeout.
  isConnectionLost: (error) =>
    /^ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)_/.test(`${(error as { code?: unknown }).code}`) ||
    /^57P0[1235]$/.test(`${sqlStateOf(error)}`) ||
    isReadOnly(error),
  // duplicate_prepared_statement, invalid_sql_statement_name
  isPreparedElsewhere: (error) => /^(42P05|26000)$/.test(`${sqlStateOf(error)}`),
  // protocol_violation. The server has other codes and words for parameters.
  isPoolerRefusal: (error) =>
    sqlStateOf(error) === "08P01" && (error as Error).message.startsWith("unsupported startup parameter"),
  isReadOnly,
};
