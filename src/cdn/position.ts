import { findOldestChangeS, StandbyError } from "../database/change.ts";
import type { Position } from "../database/change-log.ts";
import type { Database, Queryable, Transaction } from "../database/database.ts";
import { Lease } from "../database/lease.ts";

/** The right to purge a cache. @param holder id of this process among those of the store */
export const purgeLease = (database: Database, target: string, holder: string): Lease =>
  new Lease(database, { name: `purge ${target}`, holder, renewMs: 500, shortestS: 1, longestS: 5 });

/** A first purge whose second one is due later. */
export interface PurgeMark {
  /** Number of the last change that was purged. */
  readonly upTo: number;
  /** Whether everything was purged, and not only changes. */
  readonly isEverything: boolean;
  /** When: ISO 8601, by the database's clock. */
  readonly at: string;
}

/** How far a cache has been purged. */
export interface PurgeState {
  /** Identifies everything besides the data that responses depend on. */
  readonly form: string;
  /** In which history of the store the numbers are. */
  readonly history: string;
  /** Number of the last change that was purged once, and of the last one that was purged twice. */
  readonly first: number;
  readonly second: number;
  /** In the order of their changes. */
  readonly marks: readonly PurgeMark[];
  /** Tokens of the provider's budget that were left at a time; undefined for a full bucket. */
  readonly tokens: { readonly left: number; readonly at: string } | undefined;
  /** How many purges to send before the state is saved; undefined for any number. */
  readonly atOnce: number | undefined;
  /** Undefined while purging works. */
  readonly failure: PurgeFailure | undefined;
  /** The last purges, the newest first; absent before the first. */
  readonly recent?: readonly PurgeRecord[];
}

/** A purge that succeeded. */
export interface PurgeRecord {
  /** When, by the database's clock. */
  readonly at: string;
  /** How many changes it was the first purge for; 0 if it only repeated one. */
  readonly changes: number;
  /** Whether everything was purged, because the changes were unknown. */
  readonly isAll: boolean;
  readonly requests: number;
  readonly tags: number;
}

/** Purges that failed in a row. */
export interface PurgeFailure {
  readonly count: number;
  /** When the first and the last of them were sent, and when the next is: by the database's clock. */
  readonly since: string;
  readonly at: string;
  readonly retryAt: string;
  /** Of the last one. */
  readonly reason: string;
}

export interface PurgePosition {
  /** Undefined if the cache has never been purged. */
  readonly state: PurgeState | undefined;
  /** The newest change. */
  readonly newest: Position;
  /** The database's clock. */
  readonly now: string;
}

/**
 * How far a cache has been purged, and how far the changes are.
 * @throws StandbyError when the server is a standby, whose changes may be behind
 */
export async function findPurgePosition({ read, engine }: Queryable, target: string): Promise<PurgePosition> {
  const [row] = await read<{ newest: number; state: string | null; history: string | null; now: string }>(
    `SELECT (SELECT coalesce(max(id), 0) FROM change) AS newest,
      (SELECT state FROM purge_target WHERE name = $1) AS state, ${engine.history} AS history, ${engine.now} AS now`,
    [target],
  );
  if (row === undefined || row.history === null) throw new StandbyError();
  const { newest: number, state, history, now } = row;
  return { newest: { number, history }, now, state: state === null ? undefined : (JSON.parse(state) as PurgeState) };
}

/**
 * Saves how far a cache has been purged.
 * @param from the state before
 * @param lease the right to purge
 * @returns false if another process has had the right to purge meanwhile, or if the state was removed
 * to have everything purged: then nothing is saved
 */
export async function savePurgeState(
  transaction: Transaction,
  target: string,
  { from, to }: { readonly from: PurgeState | undefined; readonly to: PurgeState },
  lease: Lease,
): Promise<boolean> {
  const { sql } = transaction;
  if (!(await lease.renewIn(transaction))) return false;
  const state = JSON.stringify(to);
  const { count } =
    from === undefined
      ? await sql`
          INSERT INTO purge_target (name, state) VALUES (${target}, ${state})
          ON CONFLICT (name) DO UPDATE SET state = excluded.state`
      : await sql`UPDATE purge_target SET state = ${state} WHERE name = ${target}`;
  return count > 0;
}

/** Has everything purged, everywhere. */
export async function removePurgeStates(database: Database): Promise<void> {
  await database.inTransaction(({ sql }) => sql`DELETE FROM purge_target`);
}

/** How purging a cache does, for operators. */
export interface PurgeStatus {
  readonly target: string;
  /** Changes that have not been purged. */
  readonly changes: number;
  /** Age of the oldest of them, or of the first of the purges that failed in a row; 0 when all is purged. */
  readonly oldestS: number;
  readonly failure: PurgeFailure | undefined;
  readonly recent: readonly PurgeRecord[];
}

export async function readPurgeStatus(database: Queryable, target: string): Promise<PurgeStatus> {
  const { state, newest, now } = await findPurgePosition(database, target);
  const { first = 0, failure, recent = [] } = state ?? {};
  const changes = Math.max(0, newest.number - first);
  const failedS = failure === undefined ? 0 : (Date.parse(now) - Date.parse(failure.since)) / 1000;
  const oldestS = Math.max(await findOldestChangeS(database, first), failedS);
  return { target, changes, oldestS, failure, recent };
}
