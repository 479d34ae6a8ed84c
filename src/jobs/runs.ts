import type { SQL } from "bun";
import { hideCredentials } from "../base/credentials.ts";
import type { Database, Queryable } from "../database/database.ts";
import { leaseExpired } from "./claim.ts";
import type { ImportReport } from "./import-report.ts";
import { awaitedStepSeconds, type FinishedRun, type Outcome, type Run } from "./run.ts";

export const historyLimit = 10;

export interface RunEnd {
  readonly outcome: Outcome;
  readonly counts: number;
  readonly reason?: string;
  readonly report?: ImportReport;
}

/** Credentials are never stored, because history, console, and log show these texts. */
const hide = (text: string | null | undefined) => (text == null ? null : hideCredentials(text));

/**
 * Records the end of a run in progress. A cancelled run that did not succeed counts as cancelled,
 * regardless of what its process noticed first.
 */
export async function finishRun({ sql, engine }: Queryable, id: number, end: RunEnd): Promise<void> {
  const report = end.report === undefined ? null : hideCredentials(JSON.stringify(end.report));
  const isLost = sql`cancelled IS NULL OR ${end.outcome} = 'succeeded'`;
  await sql`
    UPDATE run SET
      finished_at = ${sql.unsafe(engine.now)}, counts = ${end.counts}, report = ${report}, log = NULL,
      outcome = CASE WHEN ${isLost} THEN ${end.outcome} ELSE ${"cancelled" satisfies Outcome} END,
      reason = CASE WHEN ${isLost} THEN ${hide(end.reason)} ELSE cancelled END
    WHERE id = ${id} AND finished_at IS NULL`;
}

export async function saveLog({ sql }: Queryable, id: number, log: string | null): Promise<void> {
  await sql`UPDATE run SET log = ${hide(log)} WHERE id = ${id} AND finished_at IS NULL`;
}

export interface ProcessEnd {
  /** Why the supervisor stopped it; undefined if it exited by itself. */
  readonly stopped?: string | undefined;
  readonly exit: string;
  readonly log: string | null;
}

/** A run that is still in progress counts as failed, or as cancelled. */
export async function concludeRun(database: Database, id: number, end: ProcessEnd): Promise<Run | undefined> {
  const run = await findRun(database, id);
  if (run === undefined || run.outcome === "succeeded") return run;
  // A finished run no longer has a lease, and records its own reason.
  const stopped = end.stopped === leaseExpired && run.outcome === "failed" ? undefined : end.stopped;
  await database.inTransaction(
    ({ sql, engine }) => sql`
      UPDATE run SET
        finished_at = coalesce(finished_at, ${sql.unsafe(engine.now)}),
        outcome = coalesce(outcome, CASE WHEN cancelled IS NULL THEN ${"failed" satisfies Outcome}
          ELSE ${"cancelled" satisfies Outcome} END),
        reason = CASE WHEN cancelled IS NULL THEN coalesce(${hide(stopped)}, reason, ${hide(end.exit)})
          ELSE coalesce(reason, cancelled) END,
        log = ${hide(end.log)}
      WHERE id = ${id}`,
  );
  return await findRun(database, id);
}

/** Lets another replica run the job. @returns whether the run was in progress */
export async function releaseRun(database: Database, id: number): Promise<boolean> {
  const { count } = await database.inTransaction(
    ({ sql }) => sql`DELETE FROM run WHERE id = ${id} AND finished_at IS NULL`,
  );
  return count > 0;
}

export const runColumns = `
  id, job, brand, scheduled_at AS "scheduledAt", attempt, started_at AS "startedAt",
  finished_at AS "finishedAt", lease_until AS "leaseUntil", outcome, counts, reason, log, cancelled, is_first AS "isFirst"`;

const columnsOf = (sql: SQL) => sql.unsafe(runColumns);

export async function findRun({ sql }: Queryable, id: number): Promise<Run | undefined> {
  const [run] = await sql<Run[]>`SELECT ${columnsOf(sql)} FROM run WHERE id = ${id}`;
  return run;
}

export async function findReport({ sql }: Queryable, id: number): Promise<ImportReport | undefined> {
  const [run] = await sql<{ report: string | null }[]>`SELECT report FROM run WHERE id = ${id}`;
  return run?.report == null ? undefined : (JSON.parse(run.report) as ImportReport);
}

/** Skips runs that a wrong clock stored in the future. */
export async function listFinishedRuns({ read, engine }: Queryable): Promise<FinishedRun[]> {
  return await read<FinishedRun>(
    `SELECT brand, counts, finished_at AS "finishedAt" FROM run
    WHERE finished_at IS NOT NULL AND finished_at <= ${engine.now}
    ORDER BY finished_at DESC, id DESC LIMIT ${historyLimit}`,
    [],
  );
}

export interface FinishedRunFilter {
  readonly job?: string;
  readonly brand?: string;
  readonly outcome?: Outcome;
  /** Inclusive; ISO 8601 in UTC. */
  readonly since?: string;
}

export async function listRuns(
  { sql, engine }: Queryable,
  { job, brand, outcome, since }: FinishedRunFilter = {},
  limit: number = historyLimit,
): Promise<(Run & FinishedRun)[]> {
  return await sql<(Run & FinishedRun)[]>`
    SELECT ${columnsOf(sql)} FROM run
    WHERE finished_at IS NOT NULL AND finished_at <= ${sql.unsafe(engine.now)}
      ${job === undefined ? sql`` : sql`AND job = ${job}`}
      ${brand === undefined ? sql`` : sql`AND brand = ${brand}`}
      ${outcome === undefined ? sql`` : sql`AND outcome = ${outcome}`}
      ${since === undefined ? sql`` : sql`AND finished_at >= ${since}`}
    ORDER BY finished_at DESC, id DESC LIMIT ${limit}`;
}

export async function findRunUnderWay(
  { sql, engine }: Queryable,
  job: string,
  brand: string,
): Promise<Run | undefined> {
  const [run] = await sql<Run[]>`
    SELECT ${columnsOf(sql)} FROM run
    WHERE job = ${job} AND brand = ${brand} AND finished_at IS NULL AND lease_until >= ${sql.unsafe(engine.now)}`;
  return run;
}

/** SQL condition. @param brand SQL expression */
export const hasRunUnderWay = ({ sql, engine }: Queryable, job: string, brand: string) => sql`EXISTS (
  SELECT 1 FROM run WHERE run.job = ${job} AND run.brand = ${sql.unsafe(brand)} AND run.finished_at IS NULL
    AND run.lease_until >= ${sql.unsafe(engine.now)})`;

/** @param condition has only literals, because the planner does not use a partial index for a parameter */
const findNewest =
  (condition: string) =>
  async ({ sql }: Queryable, job: string, brand: string): Promise<Run | undefined> => {
    const [run] = await sql<Run[]>`
      SELECT ${columnsOf(sql)} FROM run WHERE job = ${job} AND brand = ${brand} AND ${sql.unsafe(condition)}
      ORDER BY id DESC LIMIT 1`;
    return run;
  };

export const findNewestRun = findNewest("TRUE");

export const findLastRun = findNewest("finished_at IS NOT NULL");

/** Not affected by clock changes. */
export const findLastScheduledRun = findNewest("scheduled_at IS NOT NULL");

/** Until a run has succeeded, the store has no data. */
export async function hasSucceeded({ sql }: Queryable): Promise<boolean> {
  return (await sql`SELECT 1 FROM run WHERE outcome = 'succeeded' LIMIT 1`).length > 0;
}

export async function findLastAttempt(
  { sql }: Queryable,
  job: string,
  brand: string,
  scheduledAt: string,
): Promise<Run | undefined> {
  const [run] = await sql<Run[]>`
    SELECT ${columnsOf(sql)} FROM run WHERE job = ${job} AND brand = ${brand} AND scheduled_at = ${scheduledAt}
    ORDER BY attempt DESC LIMIT 1`;
  return run;
}

/** Ignores a time that a wrong clock stored far in the future. */
export async function findLastSuccess(
  { sql, engine }: Queryable,
  job: string,
  brand: string,
): Promise<string | undefined> {
  // A literal, because the planner does not use a partial index for a parameter.
  const [run] = await sql<{ finishedAt: string }[]>`
    SELECT finished_at AS "finishedAt" FROM run
    WHERE job = ${job} AND brand = ${brand} AND outcome = 'succeeded'
      AND finished_at <= ${sql.unsafe(engine.later(awaitedStepSeconds))} ORDER BY id DESC LIMIT 1`;
  return run?.finishedAt;
}

/** Returns the start of the first failed run since the last success, up to the given run. */
export async function findFailingSince(
  { read }: Queryable,
  { id, job, brand }: Pick<Run, "id" | "job" | "brand">,
): Promise<string | undefined> {
  const lastSuccess = "SELECT max(id) FROM run WHERE job = $1 AND brand = $2 AND outcome = 'succeeded' AND id < $3";
  // Each outcome has an index; for all of them together, the planner may read every run of every job.
  const firstIds = ["failed", "abandoned", "cancelled"].map(
    (outcome) => `SELECT min(id) AS id FROM run WHERE outcome = '${outcome}' AND job = $1 AND brand = $2
      AND id <= $3 AND id > coalesce((${lastSuccess}), 0)`,
  );
  const [run] = await read<{ startedAt: string }>(
    `SELECT started_at AS "startedAt" FROM run
    WHERE id = (SELECT min(id) FROM (${firstIds.join(" UNION ALL ")}) AS first)`,
    [job, brand, id],
  );
  return run?.startedAt;
}
