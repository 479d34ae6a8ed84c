import type { SQL } from "bun";
import { ServiceError } from "../base/errors.ts";
import type { Database, Queryable, Transaction } from "../database/database.ts";
import { awaitedStepSeconds, type Outcome } from "./run.ts";

export const leaseExpired = "its lease expired, so another run may have started";

export interface Claim {
  readonly job: string;
  readonly brand: string;
  /** ISO 8601 in UTC with milliseconds. */
  readonly scheduledAt?: string;
  readonly attempt?: number;
  /** The state that the caller's decision was based on; undefined for a manual run. */
  readonly basis?: ClaimBasis;
}

export interface ClaimBasis {
  /** The newest run of the job, or the newest scheduled run for a schedule; 0 if there was none. */
  readonly newest: number;
  readonly isFirst: boolean;
  /** If the newest run was in progress and is now abandoned, the claim repeats its attempt. */
  readonly wasRunning: boolean;
}

/**
 * Refused if another process claimed the same time and attempt, a run is in progress, or a scheduled
 * job is paused. Abandons an expired run first; {@link abandonRuns} ends its transactions.
 * @returns the run's id; undefined when the claim is refused
 */
export function claimRun(database: Database, claim: Claim, leaseSeconds: number): Promise<number | undefined> {
  const { job, brand, scheduledAt = null, attempt = 1, basis } = claim;
  return database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await abandonExpired(transaction, sql`AND job = ${job} AND brand = ${brand}`);
    const [run] = await sql<{ id: number }[]>`
      INSERT INTO run (job, brand, scheduled_at, attempt, started_at, lease_until, lease_seconds, is_first)
      VALUES (${job}, ${brand}, ${scheduledAt}, ${attempt}, ${sql.unsafe(engine.now)},
        ${sql.unsafe(engine.later(leaseSeconds))}, ${leaseSeconds}, ${basis?.isFirst === true ? 1 : 0})
      ON CONFLICT DO NOTHING RETURNING id`;
    if (run === undefined) return undefined;
    if (basis === undefined) return run.id;
    // The caller decided some time ago. From here on, no other run of the job begins or ends.
    const { isFirst, newest, wasRunning } = basis;
    const succeeded = isFirst
      ? sql`OR (outcome = 'succeeded' AND finished_at <= ${sql.unsafe(engine.later(awaitedStepSeconds))})`
      : sql``;
    const ended = wasRunning ? sql`OR (id = ${newest} AND outcome <> 'abandoned')` : sql``;
    const counts = isFirst ? sql`` : sql`AND scheduled_at IS NOT NULL`;
    const { count } = await sql`
      DELETE FROM run WHERE id = ${run.id} AND EXISTS (
        SELECT 1 FROM run WHERE job = ${job} AND brand = ${brand}
          AND ((id > ${newest} AND id < ${run.id} ${counts}) ${ended} ${succeeded})
        UNION ALL SELECT 1 FROM job_pause WHERE job = ${job} AND brand = ${brand} AND resumed_at IS NULL)`;
    return count === 0 ? run.id : undefined;
  });
}

export interface Abandoned {
  readonly runs: number;
  /** Transactions of abandoned runs that this process is not allowed to end. */
  readonly problems: readonly string[];
}

export async function abandonRuns(database: Database): Promise<Abandoned> {
  const { sql, engine } = database;
  // Without a transaction, which would wait for an import in progress.
  const expired = await sql`
    SELECT 1 FROM run WHERE finished_at IS NULL AND (lease_until < ${sql.unsafe(engine.now)}
      OR lease_until > ${sql.unsafe(engine.later("lease_seconds"))}) LIMIT 1`;
  const runs =
    expired.length === 0
      ? 0
      : await database.inTransaction((transaction) => abandonExpired(transaction, transaction.sql``));
  return { runs, problems: (await engine.server?.endAbandoned(sql)) ?? [] };
}

async function abandonExpired({ sql, engine }: Transaction, condition: SQL.Query<unknown>): Promise<number> {
  // A lease beyond its length was set before the clock was set back.
  const whole = sql.unsafe(engine.later("lease_seconds"));
  await sql`UPDATE run SET lease_until = ${whole} WHERE finished_at IS NULL AND lease_until > ${whole} ${condition}`;
  const reason = "its process sent no heartbeat until its lease expired";
  const { count } = await sql`
    UPDATE run SET finished_at = ${sql.unsafe(engine.now)}, outcome = ${"abandoned" satisfies Outcome},
      reason = coalesce(cancelled || ', but ' || ${reason}, ${reason})
    WHERE finished_at IS NULL AND lease_until < ${sql.unsafe(engine.now)} ${condition}`;
  return count;
}

export async function renewRunLease({ sql, engine }: Queryable, id: number, leaseSeconds: number): Promise<boolean> {
  const { count } = await sql`
    UPDATE run SET lease_until = ${sql.unsafe(engine.later(leaseSeconds))} WHERE id = ${id} AND finished_at IS NULL`;
  return count > 0;
}

/** @throws ServiceError `unavailable` when the run's lease expired; `conflict` when it is cancelled */
export async function requireUnderWay({ sql }: Transaction, id: number): Promise<void> {
  const [run] = await sql<{ cancelled: string | null }[]>`
    SELECT cancelled FROM run WHERE id = ${id} AND finished_at IS NULL`;
  if (run === undefined) throw new ServiceError("unavailable", leaseExpired);
  if (run.cancelled !== null) throw new ServiceError("conflict", run.cancelled);
}

export async function isUnderWay({ sql }: Queryable, id: number): Promise<boolean> {
  const [run] = await sql`SELECT 1 FROM run WHERE id = ${id} AND finished_at IS NULL`;
  return run !== undefined;
}

/**
 * The run's supervisor notices within seconds.
 * @param by name of the person
 * @returns whether the run was in progress
 */
export async function cancelRun(database: Database, id: number, by: string): Promise<boolean> {
  return await database.inTransaction(async ({ sql }) => {
    const { count } = await sql`
      UPDATE run SET cancelled = coalesce(cancelled, ${`cancelled by ${by}`}) WHERE id = ${id} AND finished_at IS NULL`;
    return count > 0;
  });
}

/**
 * Keeps a brand's import in progress from undoing the transaction's change: with the brand's lock,
 * the import checks `requireUnderWay`.
 * @param by the operation that cancels it
 */
export async function cancelImport({ sql }: Transaction, job: string, brand: string, by: string): Promise<void> {
  await sql`
    UPDATE run SET cancelled = coalesce(cancelled, ${`cancelled by ${by}`})
    WHERE job = ${job} AND brand = ${brand} AND finished_at IS NULL`;
}

export async function findCancellation({ sql }: Queryable, id: number): Promise<string | undefined> {
  const [run] = await sql<{ cancelled: string | null }[]>`SELECT cancelled FROM run WHERE id = ${id}`;
  return run?.cancelled ?? undefined;
}
