import type { SQL } from "bun";

interface Replication {
  readonly isStandby: boolean;
  readonly isPaused: boolean;
  readonly isConnected: boolean;
}

/** Says why a server lacks changes of the primary for long. */
export async function explainLag(sql: SQL): Promise<string | undefined> {
  // On a server that is not a standby, the function fails.
  const [found] = await sql<Replication[]>`
    SELECT
      pg_is_in_recovery() AS "isStandby",
      CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE FALSE END AS "isPaused",
      EXISTS (SELECT FROM pg_stat_wal_receiver) AS "isConnected"`;
  if (found === undefined) return undefined;
  const { isStandby, isPaused, isConnected } = found;
  if (!isStandby) return "it is not a standby: it was promoted, so build it again from the primary";
  if (isPaused) return "its replay is paused: SELECT pg_wal_replay_resume()";
  if (!isConnected) return "it is not connected to the primary: see its log, and primary_conninfo";
  return undefined;
}
