import type { Outcome } from "../model/job.ts";
import type { Queryable } from "./database.ts";

/** A job whose runs failed in a row, until one succeeded. */
export interface JobOutage {
  readonly job: string;
  readonly brand: string;
  /** When the first of them ended, and when the run that succeeded did: ISO 8601 in UTC. */
  readonly since: string;
  readonly until: string;
  /** The last run that failed, and why. */
  readonly run: number;
  readonly reason: string;
}

/** In which outages are looked for. */
const lastFailures = 200;

const sameJob = (run: string, other: string) => `${run}.job = ${other}.job AND ${run}.brand = ${other}.brand`;

/**
 * Expression: when the first run that meets a condition ended. Each outcome has an index by job. For all
 * of them at once, the planner may read every run of every job instead.
 */
const endOfFirst = (outcomes: readonly Outcome[], condition: string) => {
  const ids = outcomes.map(
    (outcome) => `SELECT min(run.id) AS id FROM run WHERE outcome = '${outcome}' AND ${condition}`,
  );
  return `(SELECT finished_at FROM run WHERE id = (SELECT min(id) FROM (${ids.join(" UNION ALL ")}) AS first))`;
};

/** The outages that ended last, the newest first, of the newest runs that failed. */
export async function listJobOutages({ read }: Queryable, limit: number): Promise<JobOutage[]> {
  // Each step reads one entry of an index per row.
  return await read<JobOutage>(
    `WITH failure AS (
      SELECT id, job, brand FROM run WHERE reason IS NOT NULL AND outcome IN ('failed', 'abandoned')
      ORDER BY id DESC LIMIT ${lastFailures}
    ), recovered AS (
      SELECT id, job, brand, (SELECT min(run.id) FROM run
        WHERE ${sameJob("run", "failure")} AND run.outcome = 'succeeded' AND run.id > failure.id) AS success
      FROM failure
    ), outage AS (
      SELECT job, brand, success, max(id) AS last FROM recovered WHERE success IS NOT NULL
      GROUP BY job, brand, success ORDER BY success DESC LIMIT ${limit}
    ), bounded AS (
      SELECT outage.*, coalesce((SELECT max(run.id) FROM run
        WHERE ${sameJob("run", "outage")} AND run.outcome = 'succeeded' AND run.id < outage.success), 0) AS earlier
      FROM outage
    )
    SELECT bounded.job, bounded.brand, last AS run, failed.reason, success.finished_at AS until,
      ${endOfFirst(["failed", "abandoned"], `${sameJob("run", "bounded")} AND run.id > bounded.earlier`)} AS since
    FROM bounded JOIN run AS failed ON failed.id = last JOIN run AS success ON success.id = bounded.success
    ORDER BY bounded.success DESC`,
    [],
  );
}

/**
 * Finds since when a job has not succeeded, up to one of its runs.
 * @returns when the first unsuccessful run after the last success before it ended; undefined if there
 * was none
 */
export async function findFailingSince(
  { read }: Queryable,
  { id, job, brand }: { readonly id: number; readonly job: string; readonly brand: string },
): Promise<string | undefined> {
  const lastSuccess = "SELECT max(id) FROM run WHERE job = $1 AND brand = $2 AND outcome = 'succeeded' AND id < $3";
  const since = endOfFirst(
    ["failed", "abandoned", "cancelled"],
    `job = $1 AND brand = $2 AND id <= $3 AND id > coalesce((${lastSuccess}), 0)`,
  );
  const [run] = await read<{ at: string | null }>(`SELECT ${since} AS at`, [job, brand, id]);
  return run?.at ?? undefined;
}
