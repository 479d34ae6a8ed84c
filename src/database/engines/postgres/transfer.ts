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

/** Readers of a table wait behind one who waits for its exclusive lock, so this is short. */
const lockTimeout = "2s";
const maxAttempts = 30;

/** The reader of a snapshot may pause: a copy builds indexes, which takes minutes for a large generation. */
const snapshotIdle = { idle_in_transaction_session_timeout: "600000" };

/** The server notices within this time that the client of a lock was killed. */
const killedMs = "10000";

/** lock_not_available, deadlock_detected */
const isLocked = (error: unknown) => ["55P03", "40P01"].includes(`${(error as { errno?: unknown }).errno}`);

const ofGeneration = "relname ~ '^generation_[0-9]+_(sku|style|group)$'";

/** @returns the name of the store's schema, and that of its staging area */
async function schemasOf(sql: SQL): Promise<{ readonly store: string; readonly staging: string }> {
  const [row] = await sql<{ name: string }[]>`SELECT current_schema() AS name`;
  return { store: row?.name ?? "", staging: `${row?.name}_restore` };
}

async function withConnection<T>(url: string, work: (sql: SQL) => Promise<T>): Promise<T> {
  await using sql = connectOnce(url);
  return await work(sql);
}

const stagingSchemaOf = (url: string) => withConnection(url, async (sql) => (await schemasOf(sql)).staging);

export const transfer: Transfer = {
  columnsQuery: (table) => `SELECT column_name AS name, data_type AS type FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = '${table}' ORDER BY ordinal_position`,
  counterQuery: (table) =>
    `SELECT CAST(CASE WHEN is_called THEN last_value ELSE 0 END AS INTEGER) AS last FROM ${table}_id_seq`,
  setCounter: (sql, table, last) =>
    sql`SELECT setval(CAST(${`${table}_id_seq`} AS regclass), greatest(CAST(${last} AS INTEGER), 1), ${last > 0})`,

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
    return {
      all: (query) => sql.unsafe(query),
      batches: async function* <Row>(query: string) {
        await sql.unsafe(`DECLARE batches NO SCROLL CURSOR FOR ${query}`);
        for (let rows = firstRows; ; ) {
          const batch: Row[] = await sql.unsafe(`FETCH ${rows} FROM batches`);
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
    const { store, staging } = await schemasOf(transaction);
    const tables = await listReplaced(transaction, store, staging);
    await transaction.unsafe(`SET LOCAL lock_timeout = '${lockTimeout}'; SAVEPOINT locking`);
    for (let attempt = 1; ; attempt++) {
      try {
        await transaction.unsafe(`LOCK TABLE ${tables.map(quote).join(", ")} IN ACCESS EXCLUSIVE MODE`);
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
  moveTables: async (transaction) => {
    const { store, staging } = await schemasOf(transaction);
    await transaction.unsafe(`DROP TABLE ${quote(staging)}.${progressTable}`);
    const replaced = await listReplaced(transaction, store, staging);
    await transaction.unsafe(`DROP TABLE ${replaced.map(quote).join(", ")} CASCADE`);
    const functions = await transaction<{ signature: string }[]>`
      SELECT quote_ident(proname) || '(' || pg_get_function_identity_arguments(oid) || ')' AS signature
      FROM pg_proc WHERE pronamespace = CAST(${quote(staging)} AS regnamespace)`;
    for (const { signature } of functions) {
      await transaction.unsafe(`DROP FUNCTION IF EXISTS ${quote(store)}.${signature}`);
      await transaction.unsafe(`ALTER FUNCTION ${quote(staging)}.${signature} SET SCHEMA ${quote(store)}`);
    }
    for (const table of await listTables(transaction, staging)) {
      await transaction.unsafe(`ALTER TABLE ${quote(staging)}.${quote(table)} SET SCHEMA ${quote(store)}`);
    }
    await transaction.unsafe(`DROP SCHEMA ${quote(staging)}`);
  },
};

async function listTables(sql: SQL, schema: string, condition = "TRUE"): Promise<string[]> {
  const rows = await sql.unsafe<{ name: string }[]>(
    `SELECT relname AS name FROM pg_class
    WHERE relnamespace = CAST($1 AS regnamespace) AND relkind = 'r' AND ${condition} ORDER BY relname`,
    [quote(schema)],
  );
  return rows.map(({ name }) => name);
}

/** The store's tables. Others may share its schema. */
async function listReplaced(sql: SQL, store: string, staging: string): Promise<string[]> {
  const staged = await listTables(sql, staging, `NOT ${ofGeneration}`);
  const stored = await listTables(sql, store);
  const ofGenerations = await listTables(sql, store, ofGeneration);
  return [...staged.filter((table) => stored.includes(table)), ...ofGenerations];
}

const sizeOf = (row: object) =>
  Object.values(row).reduce<number>((total, cell) => total + ((cell as { length?: number } | null)?.length ?? 8), 0);

/** Several transactions may drop tables at once, but none while a backup reads them. */
export async function mayDropTables(transaction: SQL): Promise<boolean> {
  const [row] = await transaction<{ isFree: boolean }[]>`
    SELECT pg_try_advisory_xact_lock_shared(${backupLock}) AS "isFree"`;
  return row?.isFree === true;
}
