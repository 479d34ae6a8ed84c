import type { SQL } from "bun";
import { ServiceError } from "../../../errors.ts";
import { progressTable, type Transfer } from "../transfer.ts";
import { connect, connectOnce } from "./connect.ts";

/** Advisory locks: of the tables that a backup reads, and of the staging area. */
const backupLock = 7365747304;
const stagingLock = 7365747305;

/** Rows of the first batch; then as many as make about `batchBytes`. */
const firstRows = 16;
const maxRows = 2000;
const batchBytes = 2 ** 20;

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * Readers of a table wait behind one who waits for its exclusive lock. After two seconds in the queue
 * for the store, requests fail.
 */
const lockTimeout = "1s";
const maxAttempts = 30;

/** The reader of a snapshot may pause: a copy builds indexes, which takes minutes for a large generation. */
const snapshotIdle = { idle_in_transaction_session_timeout: "600000" };

/** The server notices within this time that the client of a lock was killed. */
const killedMs = "10000";

/** lock_not_available, deadlock_detected */
const isLocked = (error: unknown) => ["55P03", "40P01"].includes(`${(error as { errno?: unknown }).errno}`);

/**
 * no_active_sql_transaction, invalid_cursor_name: the driver has opened another connection, on which the
 * snapshot does not exist.
 */
const isSnapshotLost = (error: unknown) => ["25P01", "34000"].includes(`${(error as { errno?: unknown }).errno}`);

/**
 * Expressions: the name of the staging area, and both schemas. The server cuts names off after 63 bytes,
 * which would make a long one that of the store.
 */
const stagingName = `CASE
  WHEN octet_length(CAST(current_schema() AS TEXT)) > 55 THEN md5(current_schema()) ELSE current_schema()
  END || '_restore'`;
const storeSchema = "CAST(quote_ident(current_schema()) AS regnamespace)";
const stagingSchema = `CAST(quote_ident(${stagingName}) AS regnamespace)`;

/** Query: the store's tables, as `name`. Others may share its schema. */
const replacedTables = `SELECT relname AS name FROM pg_class
  WHERE relnamespace = ${storeSchema} AND relkind = 'r' AND (relname ~ '^generation_[0-9]+_(sku|style|group)$'
    OR relname IN (SELECT relname FROM pg_class WHERE relnamespace = ${stagingSchema} AND relkind = 'r'))
  ORDER BY relname`;

/** One statement: all requests wait, and the process that sends it has the lowest priority, or is far away. */
const move = `DO $$
DECLARE
  store CONSTANT TEXT := current_schema();
  staging CONSTANT TEXT := ${stagingName};
  moved RECORD;
BEGIN
  EXECUTE format('DROP TABLE %I.${progressTable}', staging);
  EXECUTE (SELECT 'DROP TABLE ' || string_agg(quote_ident(name), ', ') || ' CASCADE' FROM (${replacedTables}) AS replaced);
  FOR moved IN
    SELECT quote_ident(proname) || '(' || pg_get_function_identity_arguments(oid) || ')' AS signature
    FROM pg_proc WHERE pronamespace = ${stagingSchema}
  LOOP
    EXECUTE format('DROP FUNCTION IF EXISTS %I.%s', store, moved.signature);
    EXECUTE format('ALTER FUNCTION %I.%s SET SCHEMA %I', staging, moved.signature, store);
  END LOOP;
  FOR moved IN SELECT relname FROM pg_class WHERE relnamespace = ${stagingSchema} AND relkind = 'r' LOOP
    EXECUTE format('ALTER TABLE %I.%I SET SCHEMA %I', staging, moved.relname, store);
  END LOOP;
  EXECUTE format('DROP SCHEMA %I', staging);
END $$`;

async function withConnection<T>(url: string, work: (sql: SQL) => Promise<T>): Promise<T> {
  await using sql = connectOnce(url);
  return await work(sql);
}

const stagingSchemaOf = (url: string) =>
  withConnection(url, async (sql) => {
    const [row] = await sql.unsafe<{ name: string }[]>(`SELECT ${stagingName} AS name`);
    return row?.name ?? "";
  });

export const transfer: Transfer = {
  columnsQuery: (table) => `SELECT column_name AS name, data_type AS type FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = '${table}' ORDER BY ordinal_position`,
  counterQuery: (table) =>
    `SELECT CAST(CASE WHEN is_called THEN last_value ELSE 0 END AS INTEGER) AS last FROM ${table}_id_seq`,
  setCounters: (sql, counters) => {
    const calls = Object.entries(counters).map(
      ([table, last]) => `setval('${table}_id_seq', ${Math.max(last, 1)}, ${last > 0})`,
    );
    return sql.unsafe(`SELECT ${calls.join(", ")}`);
  },

  openSnapshot: async (url, isStaging) => {
    const sql = connectOnce(url, {
      ...snapshotIdle,
      ...(isStaging && { search_path: quote(await stagingSchemaOf(url)) }),
    });
    try {
      // Before the moment of the snapshot, so that no table of it is dropped.
      if (!isStaging) await sql`SELECT CAST(pg_advisory_lock(${backupLock}) AS TEXT)`;
      await sql.unsafe("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    } catch (cause) {
      await sql.close({ timeout: 0 });
      if (!isLocked(cause)) throw cause;
      throw new ServiceError("unavailable", "another backup or copy of the store is in progress", { cause });
    }
    const execute = async <Row>(statement: string): Promise<Row[]> => {
      try {
        return await sql.unsafe<Row[]>(statement);
      } catch (cause) {
        throw isSnapshotLost(cause) ? new Error("the connection was lost", { cause }) : cause;
      }
    };
    return {
      all: (query) => sql.unsafe(query),
      batches: async function* <Row>(query: string) {
        await execute(`DECLARE batches NO SCROLL CURSOR FOR ${query}`);
        for (let rows = firstRows; ; ) {
          const batch = await execute<Row>(`FETCH ${rows} FROM batches`);
          if (batch.length > 0) yield batch;
          if (batch.length < rows) break;
          const bytes = batch.reduce((total, row) => total + sizeOf(row as object), 0);
          rows = Math.min(maxRows, 2 * rows, Math.max(1, Math.floor((rows * batchBytes) / bytes)));
        }
        await sql.unsafe("CLOSE batches");
      },
      close: () => sql.close({ timeout: 0 }),
    };
  },

  lockStaging: async (url) => {
    const sql = connectOnce(url, { lock_timeout: killedMs });
    const release = () => sql.close({ timeout: 0 });
    try {
      await sql`SELECT CAST(pg_advisory_lock(${stagingLock}) AS TEXT)`;
      return release;
    } catch (error) {
      await release();
      if (isLocked(error)) return undefined;
      throw error;
    }
  },
  openStaging: async (url) => {
    const staging = quote(await stagingSchemaOf(url));
    await withConnection(url, (sql) =>
      sql.unsafe(`SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS ${staging}`),
    ).catch((cause: unknown) => {
      // insufficient_privilege
      if ((cause as { errno?: unknown }).errno !== "42501") throw cause;
      const reason = "this role may not create it; grant the role CREATE on the database";
      throw new ServiceError("unavailable", `the new store is built in the schema ${staging}, but ${reason}`, {
        cause,
      });
    });
    return connect(url, "job", {}, { search_path: staging });
  },
  removeStaging: async (url) => {
    const staging = quote(await stagingSchemaOf(url));
    await withConnection(url, (sql) =>
      sql.unsafe(`SET client_min_messages = warning; DROP SCHEMA IF EXISTS ${staging} CASCADE`),
    );
  },
  withStaging: (_sql, _url, work) => work(),
  lockStore: async (transaction) => {
    await transaction.unsafe(`SET LOCAL lock_timeout = '${lockTimeout}'; SAVEPOINT locking`);
    for (let attempt = 1; ; attempt++) {
      try {
        const tables = await transaction.unsafe<{ name: string }[]>(replacedTables);
        await transaction.unsafe(
          `LOCK TABLE ${tables.map(({ name }) => quote(name)).join(", ")} IN ACCESS EXCLUSIVE MODE`,
        );
        return;
      } catch (error) {
        if (!isLocked(error)) throw error;
        if (attempt === maxAttempts) {
          const reason = "another program, such as a backup, holds locks on the store's tables; try again without it";
          throw new ServiceError("unavailable", reason, { cause: error });
        }
        await transaction.unsafe("ROLLBACK TO SAVEPOINT locking");
        await Bun.sleep(1000);
      }
    }
  },
  moveTables: (transaction) => transaction.unsafe(move),
};

const sizeOf = (row: object) =>
  Object.values(row).reduce<number>((total, cell) => total + ((cell as { length?: number } | null)?.length ?? 8), 0);

/** Several transactions may drop tables at once, but none while a backup reads them. */
export async function mayDropTables(transaction: SQL): Promise<boolean> {
  const [row] = await transaction<{ isFree: boolean }[]>`
    SELECT pg_try_advisory_xact_lock_shared(${backupLock}) AS "isFree"`;
  return row?.isFree === true;
}
