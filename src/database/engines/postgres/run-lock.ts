import type { SQL } from "bun";
import { sqlStateOf } from "./errors.ts";

/** The first key of the advisory locks of runs; the second is the run's id. */
const lockClass = 736574731;

/** Identifies a server process. Ids are reused, so it includes the start; null for other roles. */
const backendOf = (activity: string) => `${activity}.pid || '/' || extract(epoch FROM ${activity}.backend_start)`;

/**
 * Marks a transaction as one of a run until it ends.
 * @param pool another connection, so that the transaction does not lock the run's row
 */
export async function holdRun(transaction: SQL, pool: SQL, run: number): Promise<void> {
  const [own] = await transaction<{ backend: string }[]>`
    SELECT ${transaction.unsafe(backendOf("own"))} AS backend, CAST(pg_advisory_xact_lock(${lockClass}, ${run}) AS TEXT)
    FROM pg_stat_activity own WHERE own.pid = pg_backend_pid()`;
  const backend = own?.backend ?? null;
  await pool`UPDATE run SET backend = ${backend} WHERE id = ${run} AND backend IS DISTINCT FROM ${backend}`;
}

/** Ends connections that hold locks of abandoned runs: a frozen client would keep them. */
export async function endAbandoned(sql: SQL): Promise<string[]> {
  type Row = { run: number; pid: number; isHidden: boolean };
  try {
    // A connection is only ended if it holds the run's lock and is the one that the run recorded.
    const rows = await sql<Row[]>`
      SELECT run.id AS run, held.pid, activity.backend_start IS NULL AS "isHidden",
        CASE WHEN ${sql.unsafe(backendOf("activity"))} = run.backend THEN pg_terminate_backend(held.pid, 1000) END
      FROM pg_locks held
      JOIN run ON run.id = CAST(held.objid AS BIGINT)
      LEFT JOIN pg_stat_activity activity ON activity.pid = held.pid
      WHERE held.locktype = 'advisory' AND held.classid = ${lockClass} AND held.objsubid = 2 AND held.granted
        AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND run.outcome = 'abandoned'`;
    return rows
      .filter(({ isHidden }) => isHidden)
      .map(({ run, pid }) => `run ${run} was abandoned, and its connection (process ${pid}) ${missing}`);
  } catch (error) {
    // insufficient_privilege
    if (sqlStateOf(error) !== "42501") throw error;
    return [`the connection of an abandoned run ${missing}`];
  }
}

const missing =
  "still holds locks, but this role may not end it: use the same role for all replicas and jobs, or grant this one " +
  "pg_signal_backend and pg_read_all_stats";
