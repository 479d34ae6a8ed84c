import { findOldestChangeS, StandbyError } from "../database/change.ts";
import type { Position } from "../database/change-log.ts";
import type { Database, Queryable, Transaction } from "../database/database.ts";
import { Lease } from "../database/lease.ts";

/** @param holder id of this process, unique in the store */
export const purgeLease = (database: Database, target: string, holder: string): Lease =>
  new Lease(database, { name: `purge ${target}`, holder, renewMs: 500, shortestS: 1, longestS: 5 });

/** A first purge whose second one is still due. */
export interface PurgeMark {
  readonly upTo: number;
  /** Whether everything was purged instead of single changes. */
  readonly isEverything: boolean;
  /** ISO 8601, by the database's clock. */
  readonly at: string;
}

export interface PurgeState {
  /** Identifies all that responses depend on besides the data. */
  readonly form: string;
  /** The history of the store that the numbers refer to. */
  readonly history: string;
  /** The last change that was purged once, and the last that was purged twice. */
  readonly first: number;
  readonly second: number;
  /** Ordered by change. */
  readonly marks: readonly PurgeMark[];
  /** Tokens left in the provider's budget at a time; undefined for a full bucket. */
  readonly tokens: { readonly left: number; readonly at: string } | undefined;
  /** How many purges to send before the state is saved; undefined for no limit. */
  readonly atOnce: number | undefined;
  readonly failure: PurgeFailure | undefined;
  /** Newest first; absent before the first purge. */
  readonly recent?: readonly PurgeRecord[];
}

export interface PurgeRecord {
  /** By the database's clock. */
  readonly at: string;
  /** 0 for a purge that only repeats earlier ones. */
  readonly changes: number;
  /** Whether everything was purged, because the changes were unknown. */
  readonly isAll: boolean;
  readonly requests: number;
  readonly tags: number;
}

export interface PurgeFailure {
  readonly count: number;
  /** Times by the database's clock. */
  readonly since: string;
  readonly at: string;
  readonly retryAt: string;
  readonly reason: string;
}

export interface PurgePosition {
  /** Undefined if the cache has never been purged. */
  readonly state: PurgeState | undefined;
  readonly newest: Position;
  /** The database's clock. */
  readonly now: string;
}

/** @throws StandbyError when the server is a standby, whose changes may lag behind */
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
 * @returns false, without saving, if another process has had the lease meanwhile, or the state was
 *   removed to have everything purged
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

/** Causes a purge of everything in every cache. */
export async function removePurgeStates(database: Database): Promise<void> {
  await database.inTransaction(({ sql }) => sql`DELETE FROM purge_target`);
}

export interface PurgeStatus {
  readonly target: string;
  readonly changes: number;
  /** Age of the oldest unpurged change, or of the first of consecutive failures; 0 without either. */
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
