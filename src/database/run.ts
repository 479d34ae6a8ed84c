import type { SQL } from "bun";
import { hideCredentials } from "../credentials.ts";
import { historyLimit } from "../model/history.ts";
import type { ImportReport } from "../model/import-report.ts";
import type { FinishedRun, Outcome, Run, RunStatus } from "../model/job.ts";
import { type Database, writing } from "./database.ts";

/** What a run is of: a job for a brand, and, when a schedule starts it, the instant and the attempt. */
export interface Claim {
  readonly job: string;
  readonly brand: string;
  /** ISO 8601 in UTC with milliseconds. */
  readonly scheduledAt?: string;
  readonly attempt?: number;
  /** Only as long as the job has never succeeded. */
  readonly isFirst?: boolean;
}

/**
 * Begins a run as the only one who does: nobody else has claimed that instant and attempt, and no other run of the job is under way.
 * One that gave no sign of life until its lease ended is abandoned, and does not stand in the way.
 * @returns the run's id; undefined when the claim is refused
 */
export function claimRun(database: Database, claim: Claim, leaseSeconds: number): Promise<number | undefined> {
  const { job, brand, scheduledAt = null, attempt = 1, isFirst = false } = claim;
  const { dialect } = database;
  return writing(database, async (sql) => {
    await abandon(database, sql, sql`AND job = ${job} AND brand = ${brand}`);
    const [run] = await sql<{ id: number }[]>`
      INSERT INTO run (job, brand, scheduled_at, attempt, started_at, lease_until)
      VALUES (${job}, ${brand}, ${scheduledAt}, ${attempt}, ${sql.unsafe(dialect.now)},
        ${sql.unsafe(dialect.later(leaseSeconds))})
      ON CONFLICT DO NOTHING RETURNING id`;
    if (run === undefined) return undefined;
    // Whoever claims has looked some time ago. From here on nobody else begins or ends one: what there is now decides.
    const succeeded = isFirst ? sql`OR outcome = 'succeeded'` : sql``;
    const { count } = await sql`
      DELETE FROM run WHERE id = ${run.id} AND EXISTS (
        SELECT 1 FROM run WHERE job = ${job} AND brand = ${brand} AND (
          scheduled_at > ${scheduledAt} OR (scheduled_at = ${scheduledAt} AND attempt > ${attempt}) ${succeeded}))`;
    return count === 0 ? run.id : undefined;
  });
}

/** Ends the runs whose lease is over, of every job. @returns how many there were */
export function abandonRuns(database: Database): Promise<number> {
  return writing(database, (sql) => abandon(database, sql, sql``));
}

async function abandon({ dialect }: Database, sql: SQL, which: SQL.Query<unknown>): Promise<number> {
  const reason = "its process sent no heartbeat until its lease expired";
  const { count } = await sql`
    UPDATE run SET finished_at = ${sql.unsafe(dialect.now)}, outcome = ${"abandoned" satisfies Outcome}, reason = ${reason}
    WHERE finished_at IS NULL AND lease_until < ${sql.unsafe(dialect.now)} ${which}`;
  return count;
}

/** Gives a sign of life. @returns whether the run is still under way */
export async function renewLease({ sql, dialect }: Database, id: number, leaseSeconds: number): Promise<boolean> {
  const { count } = await sql`
    UPDATE run SET lease_until = ${sql.unsafe(dialect.later(leaseSeconds))} WHERE id = ${id} AND finished_at IS NULL`;
  return count > 0;
}

export interface RunEnd {
  readonly outcome: Outcome;
  readonly counts: number;
  readonly reason?: string;
  readonly report?: ImportReport;
}

/** The history, the console and the log of whoever looks at them show what is stored. */
const hidden = (text: string | null | undefined) => (text == null ? null : hideCredentials(text));

/** Records how a run ended, unless it was ended already: from here on it is part of the history. */
export async function finishRun({ sql, dialect }: Database, id: number, end: RunEnd): Promise<void> {
  const report = end.report === undefined ? null : hideCredentials(JSON.stringify(end.report));
  await sql`
    UPDATE run SET
      finished_at = ${sql.unsafe(dialect.now)}, outcome = ${end.outcome}, counts = ${end.counts},
      reason = ${hidden(end.reason)}, report = ${report}
    WHERE id = ${id} AND finished_at IS NULL`;
}

/** What is known of a run whose process has ended, by the one who started that. */
export interface ProcessEnd {
  /** Why it was made to end; undefined when it ended by itself. */
  readonly stopped?: string | undefined;
  /** How it ended. */
  readonly exit: string;
  /** The last lines that it said. */
  readonly log: string | null;
}

/** Adds that to a run, which counts as failed when the process has not said how it ended. @returns the run as it is then */
export async function concludeRun(database: Database, id: number, end: ProcessEnd): Promise<Run | undefined> {
  const run = await findRun(database, id);
  if (run === undefined || run.outcome === "succeeded") return run;
  const { dialect } = database;
  await writing(
    database,
    (sql) => sql`
      UPDATE run SET
        finished_at = coalesce(finished_at, ${sql.unsafe(dialect.now)}),
        outcome = coalesce(outcome, ${"failed" satisfies Outcome}),
        reason = coalesce(${hidden(end.stopped)}, reason, ${hidden(end.exit)}),
        log = ${hidden(end.log)}
      WHERE id = ${id}`,
  );
  return await findRun(database, id);
}

const columns = `
  id, job, brand, scheduled_at AS "scheduledAt", attempt, started_at AS "startedAt",
  finished_at AS "finishedAt", lease_until AS "leaseUntil", outcome, counts, reason, log`;

const columnsOf = (sql: SQL) => sql.unsafe(columns);

export async function findRun({ sql }: Database, id: number): Promise<Run | undefined> {
  const [run] = await sql<Run[]>`SELECT ${columnsOf(sql)} FROM run WHERE id = ${id}`;
  return run;
}

/** What a run found and did; undefined when it has none, or has not ended. */
export async function findReport({ sql }: Database, id: number): Promise<ImportReport | undefined> {
  const [run] = await sql<{ report: string | null }[]>`SELECT report FROM run WHERE id = ${id}`;
  return run?.report == null ? undefined : (JSON.parse(run.report) as ImportReport);
}

/** What there are runs of. */
export interface RunKind {
  readonly job: string;
  readonly brand: string;
}

/**
 * Every job and brand that there are runs of. It goes from one to the next by the index, since there may be a million runs of each:
 * from a brand to the next of the job, and behind the last one, which is null, to the next job.
 */
export function listRunKinds({ read }: Database): Promise<RunKind[]> {
  const next = "(SELECT min(run.brand) FROM run WHERE run.job = kind.job AND run.brand > coalesce(kind.brand, ''))";
  const nextJob = "(SELECT min(run.job) FROM run WHERE run.job > kind.job)";
  return read<RunKind>(
    `WITH RECURSIVE kind (job, brand) AS (
      SELECT (SELECT min(job) FROM run), CAST(NULL AS TEXT)
      UNION ALL
      SELECT CASE WHEN ${next} IS NULL THEN ${nextJob} ELSE kind.job END, ${next} FROM kind WHERE kind.job IS NOT NULL
    )
    SELECT job, brand FROM kind WHERE brand IS NOT NULL`,
    [],
  );
}

/** Spelled out: an index that holds only such rows is not used for a value that is not known yet. */
const conditions: Readonly<Record<RunStatus, string>> = {
  succeeded: "outcome = 'succeeded'",
  failed: "outcome = 'failed'",
  abandoned: "outcome = 'abandoned'",
  running: "finished_at IS NULL",
};

export interface RunFilter {
  readonly job?: string | undefined;
  readonly brand?: string | undefined;
  readonly standing?: RunStatus | undefined;
  /** Only runs that began before this one. */
  readonly before?: number | undefined;
}

/** Larger than every run's number. */
const noRun = 2 ** 31 - 1;

/**
 * Runs as they began, the newest first. Each job and brand has its own way through an index, whatever is asked for.
 * @param kinds those that there are
 */
export async function listRunsBefore(
  { read }: Database,
  kinds: readonly RunKind[],
  { job, brand, standing, before = noRun }: RunFilter,
  most: number,
): Promise<Run[]> {
  const condition = standing === undefined ? "" : `AND ${conditions[standing]}`;
  if (job === undefined && brand === undefined && standing === undefined) {
    return await read<Run>(`SELECT ${columns} FROM run WHERE id < $1 ORDER BY id DESC LIMIT ${most}`, [before]);
  }
  const wanted = kinds.filter((kind) => (job ?? kind.job) === kind.job && (brand ?? kind.brand) === kind.brand);
  const found = await Promise.all(
    wanted.map((kind) =>
      read<Run>(
        `SELECT ${columns} FROM run WHERE job = $1 AND brand = $2 AND id < $3 ${condition} ORDER BY id DESC LIMIT ${most}`,
        [kind.job, kind.brand, before],
      ),
    ),
  );
  return found
    .flat()
    .sort((a, b) => b.id - a.id)
    .slice(0, most);
}

/** What the newest runs of a job for a brand that succeeded have counted, the oldest of them first. */
export async function listCounts(
  { read }: Database,
  { job, brand }: RunKind,
  most: number,
): Promise<{ readonly counts: number; readonly finishedAt: string }[]> {
  const rows = await read<{ counts: number; finishedAt: string }>(
    `SELECT counts, finished_at AS "finishedAt" FROM run
    WHERE job = $1 AND brand = $2 AND outcome = 'succeeded' ORDER BY id DESC LIMIT ${most}`,
    [job, brand],
  );
  return rows.reverse();
}

/** The newest finished runs, newest first. */
export function listFinishedRuns({ read }: Database): Promise<FinishedRun[]> {
  return read<FinishedRun>(
    `SELECT brand, counts, finished_at AS "finishedAt" FROM run
    WHERE finished_at IS NOT NULL ORDER BY finished_at DESC, id DESC LIMIT ${historyLimit}`,
    [],
  );
}

/** The same with all that is known of them. */
export async function listRuns({ sql }: Database): Promise<(Run & FinishedRun)[]> {
  return await sql<(Run & FinishedRun)[]>`
    SELECT ${columnsOf(sql)} FROM run
    WHERE finished_at IS NOT NULL ORDER BY finished_at DESC, id DESC LIMIT ${historyLimit}`;
}

/** The run of a job for a brand that is under way. */
export async function findRunUnderWay(
  { sql, dialect }: Database,
  job: string,
  brand: string,
): Promise<Run | undefined> {
  const [run] = await sql<Run[]>`
    SELECT ${columnsOf(sql)} FROM run
    WHERE job = ${job} AND brand = ${brand} AND finished_at IS NULL AND lease_until >= ${sql.unsafe(dialect.now)}`;
  return run;
}

/** The newest run of a job for a brand that has ended. */
export async function findLastRun({ sql }: Database, job: string, brand: string): Promise<Run | undefined> {
  const [run] = await sql<Run[]>`
    SELECT ${columnsOf(sql)} FROM run WHERE job = ${job} AND brand = ${brand} AND finished_at IS NOT NULL
    ORDER BY id DESC LIMIT 1`;
  return run;
}

/** The run that a schedule last started. */
export async function findLastScheduledRun({ sql }: Database, job: string, brand: string): Promise<Run | undefined> {
  const [run] = await sql<Run[]>`
    SELECT ${columnsOf(sql)} FROM run WHERE job = ${job} AND brand = ${brand} AND scheduled_at IS NOT NULL
    ORDER BY scheduled_at DESC, attempt DESC LIMIT 1`;
  return run;
}

/** When a job last succeeded for a brand. */
export async function findLastSuccess({ sql }: Database, job: string, brand: string): Promise<string | undefined> {
  // Spelled out: an index that holds only such rows is not used for a value that is not known yet.
  const [run] = await sql<{ finishedAt: string }[]>`
    SELECT finished_at AS ${sql("finishedAt")} FROM run
    WHERE job = ${job} AND brand = ${brand} AND outcome = 'succeeded' ORDER BY id DESC LIMIT 1`;
  return run?.finishedAt;
}

/**
 * Removes runs that finished before an instant, the oldest first, but none that tells how a job does: the newest of each job and
 * brand, the newest that succeeded, and the newest that a schedule started.
 * @returns how many were removed, `most` at most
 */
export function removeRunsBefore(database: Database, instant: string, most: number): Promise<number> {
  return writing(database, async (sql) => {
    const { count } = await sql`
      DELETE FROM run WHERE id IN (
        SELECT id FROM run WHERE finished_at < ${instant} AND id NOT IN (
          SELECT max(id) FROM run WHERE finished_at IS NOT NULL GROUP BY job, brand
          UNION ALL SELECT max(id) FROM run WHERE outcome = 'succeeded' GROUP BY job, brand
          UNION ALL SELECT max(id) FROM run WHERE scheduled_at IS NOT NULL GROUP BY job, brand)
        ORDER BY finished_at, id LIMIT ${most})`;
    return count;
  });
}
