import { maxId } from "../base/id.ts";
import type { Queryable } from "../database/database.ts";
import type { Run } from "./run.ts";
import { listFirstIds, type RunKind, untilNow } from "./run-list.ts";

/** Times are ISO 8601 in UTC. */
export interface TimelineRun extends Pick<Run, "id" | "job" | "brand" | "startedAt" | "finishedAt" | "outcome"> {
  /** Id of the job's newest successful run; null if none has succeeded. */
  readonly newestSuccess: number | null;
}

/** Steps of equal length, in epoch milliseconds. */
export interface TimelinePeriod {
  readonly fromMs: number;
  readonly stepMs: number;
  /** At least 1. */
  readonly steps: number;
  /** By the database's clock. */
  readonly now: number;
}

/** The worst first. Literals, because the planner does not use a partial index for a parameter. */
const conditions = [
  "outcome = 'failed'",
  "outcome = 'abandoned'",
  "outcome = 'cancelled'",
  "finished_at IS NULL",
  "outcome = 'succeeded'",
];

/**
 * Lists the worst run of each job and brand for each step of a period, the last run before the period,
 * which may reach into it, and the newest failure. Each is one index lookup.
 */
export async function listTimelineRuns(
  queryable: Queryable,
  kinds: readonly RunKind[],
  { fromMs, stepMs, steps }: TimelinePeriod,
): Promise<TimelineRun[]> {
  if (kinds.length === 0) return [];
  const instants = Array.from({ length: steps }, (_, step) => new Date(fromMs + step * stepMs).toISOString());
  const begins = await listFirstIds(queryable, instants);
  const values = begins.flatMap((first, index) => [first, begins[index + 1] ?? maxId]);
  const ranges = begins.map((_, index) => `(CAST($${2 * index + 1} AS INTEGER), CAST($${2 * index + 2} AS INTEGER))`);
  // Parameters are numbered in the order of their first use, as an embedded store needs them.
  const [job, brand] = [`$${values.length + 1}`, `$${values.length + 2}`];
  const newestOf = (condition: string) =>
    `(SELECT max(id) FROM run WHERE job = ${job} AND brand = ${brand} AND ${untilNow(queryable.engine)} AND ${condition})`;
  const worst = conditions.map((condition) => newestOf(`${condition} AND id >= step.first_id AND id < step.end_id`));
  const text = `
    WITH step (first_id, end_id) AS (VALUES ${ranges}),
      found (id) AS (
        SELECT coalesce(${worst}) FROM step
        UNION SELECT ${newestOf("id < $1")}
        UNION SELECT ${newestOf("outcome = 'failed'")}
      )
    SELECT run.id, job, brand, started_at AS "startedAt", finished_at AS "finishedAt", outcome,
      ${newestOf("outcome = 'succeeded'")} AS "newestSuccess"
    FROM found JOIN run ON run.id = found.id ORDER BY run.id`;
  const found = await Promise.all(
    kinds.map((kind) => queryable.read<TimelineRun>(text, [...values, kind.job, kind.brand])),
  );
  return found.flat();
}
