import { maxId } from "../base/id.ts";
import type { Queryable } from "../database/database.ts";
import type { Engine } from "../database/engines/engine.ts";
import type { Run, RunStatus } from "./run.ts";
import { runColumns } from "./runs.ts";

export interface RunKind {
  readonly job: string;
  readonly brand: string;
}

/**
 * Each job and brand may have a million runs, so the query steps through the index: from a brand to
 * the job's next one, and after the last, which is null, to the next job.
 */
export async function listRunKinds({ read }: Queryable): Promise<RunKind[]> {
  const next = "(SELECT min(run.brand) FROM run WHERE run.job = kind.job AND run.brand > coalesce(kind.brand, ''))";
  const nextJob = "(SELECT min(run.job) FROM run WHERE run.job > kind.job)";
  return await read<RunKind>(
    `WITH RECURSIVE kind (job, brand) AS (
      SELECT (SELECT min(job) FROM run), CAST(NULL AS TEXT)
      UNION ALL
      SELECT CASE WHEN ${next} IS NULL THEN ${nextJob} ELSE kind.job END, ${next} FROM kind WHERE kind.job IS NOT NULL
    )
    SELECT job, brand FROM kind WHERE brand IS NOT NULL`,
    [],
  );
}

/** Literals, because the planner does not use a partial index for a parameter. */
const conditions: Readonly<Record<RunStatus, string>> = {
  succeeded: "outcome = 'succeeded'",
  failed: "outcome = 'failed'",
  abandoned: "outcome = 'abandoned'",
  cancelled: "outcome = 'cancelled'",
  running: "finished_at IS NULL",
};

/** Excludes finished runs that a wrong clock stored in the future. */
export const untilNow = ({ now }: Engine) => `coalesce(finished_at, '') <= ${now}`;

export interface RunFilter {
  readonly job?: string | undefined;
  readonly brand?: string | undefined;
  readonly status?: RunStatus | undefined;
  /** Inclusive; ISO 8601 in UTC. */
  readonly from?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
  readonly text?: string | undefined;
  readonly before?: number | undefined;
}

export interface FoundRuns {
  readonly runs: readonly Run[];
  /** The run at which a long search stopped; undefined if no older runs are left. */
  readonly stoppedAt: number | undefined;
}

/** @param kinds every job and brand that have runs */
export async function listRunsBefore(
  queryable: Queryable,
  kinds: readonly RunKind[],
  filter: RunFilter,
  limit: number,
): Promise<FoundRuns> {
  const { from, until, before = maxId } = filter;
  const first = from === undefined ? 0 : (await findFirstId(queryable, from)) - misplacedRuns;
  const end = until === undefined ? maxId : (await findFirstId(queryable, until)) + misplacedRuns;
  const hasDays = from !== undefined || until !== undefined;
  const range = {
    first,
    before: Math.min(before, end),
    days: hasDays ? [from ?? firstInstant, until ?? lastInstant] : [],
  };
  if (filter.text !== undefined) return await searchReasons(queryable, { ...filter, text: filter.text }, range, limit);
  // One more shows whether older runs match.
  const runs = await listInRange(queryable, kinds, filter, range, limit + 1);
  return { runs: runs.slice(0, limit), stoppedAt: runs.length > limit ? runs[limit - 1]?.id : undefined };
}

/**
 * Runs that may be on the wrong side of an instant by their ids: after a wrong clock was set back, times
 * repeat. More are not looked for, because a page must not read all runs.
 */
const misplacedRuns = 10_000;

/** As text, before and after all others. */
const [firstInstant, lastInstant] = ["0000", "9999-12-31T24"];

interface Range {
  /** Id; may be below zero. */
  readonly first: number;
  /** Id, exclusive. */
  readonly before: number;
  /** When runs started: from, and until; empty for all times. */
  readonly days: readonly string[];
}

/** @param place of the first of its parameters, which follow each other */
const isInRange = ({ days }: Range, place: number) =>
  `id < $${place} AND id >= $${place + 1}${days.length === 0 ? "" : ` AND started_at >= $${place + 2} AND started_at < $${place + 3}`}`;

const parametersOf = ({ before, first, days }: Range) => [before, first, ...days];

/** Queries each job and brand separately, so that an index serves any filter. */
async function listInRange(
  { read, engine }: Queryable,
  kinds: readonly RunKind[],
  { job, brand, status }: RunFilter,
  range: Range,
  limit: number,
): Promise<Run[]> {
  const condition = status === undefined ? "" : `AND ${conditions[status]}`;
  const inRange = (place: number) =>
    `${isInRange(range, place)} AND ${untilNow(engine)} ${condition} ORDER BY id DESC LIMIT ${limit}`;
  if (job === undefined && brand === undefined && status === undefined) {
    return await read<Run>(`SELECT ${runColumns} FROM run WHERE ${inRange(1)}`, parametersOf(range));
  }
  const wanted = kinds.filter((kind) => (job ?? kind.job) === kind.job && (brand ?? kind.brand) === kind.brand);
  const found = await Promise.all(
    wanted.map((kind) =>
      read<Run>(`SELECT ${runColumns} FROM run WHERE job = $1 AND brand = $2 AND ${inRange(3)}`, [
        kind.job,
        kind.brand,
        ...parametersOf(range),
      ]),
    ),
  );
  return found
    .flat()
    .sort((a, b) => b.id - a.id)
    .slice(0, limit);
}

async function findFirstId(queryable: Queryable, instant: string): Promise<number> {
  const [id = 0] = await listFirstIds(queryable, [instant]);
  return id;
}

/**
 * Finds the id of the first run since each of these instants, which are in order. Ids and start times
 * have the same order, except around a wrong clock, so bisection works without an index on start times.
 */
export async function listFirstIds({ read, engine }: Queryable, instants: readonly string[]): Promise<number[]> {
  const [{ last } = { last: 0 }] = await read<{ last: number }>("SELECT coalesce(max(id), 0) AS last FROM run", []);
  const stride = 2 ** Math.floor(Math.log2(last + 1));
  const rows = await read<{ id: number }>(
    `WITH RECURSIVE step (at) AS (VALUES ${instants.map((_, index) => `($${index + 1})`)}),
      search (at, id, stride) AS (
        SELECT at, 0, CAST($${instants.length + 1} AS INTEGER) FROM step
        UNION ALL
        SELECT at, id + CASE WHEN (
            SELECT started_at FROM run WHERE run.id >= search.id + stride AND started_at <= ${engine.now}
            ORDER BY run.id LIMIT 1
          ) < at THEN stride ELSE 0 END, stride / 2
        FROM search WHERE stride > 0
      )
    SELECT id FROM search WHERE stride = 0 ORDER BY at`,
    [...instants, stride],
  );
  return rows.map(({ id }) => id + 1);
}

const reasonsPerStep = 2000;
const stepsPerSearch = 10;

type Searched = Pick<Run, "id" | "job" | "brand" | "outcome"> & { readonly reason: string };

/** Reads the reasons in small steps, so that other requests do not wait. */
async function searchReasons(
  { read, engine }: Queryable,
  { job, brand, status, text }: RunFilter & { readonly text: string },
  range: Range,
  limit: number,
): Promise<FoundRuns> {
  const wanted = text.toLowerCase();
  const isWanted = (run: Searched) =>
    run.reason.toLowerCase().includes(wanted) &&
    (job ?? run.job) === run.job &&
    (brand ?? run.brand) === run.brand &&
    (status ?? run.outcome) === run.outcome;
  const ids: number[] = [];
  let stoppedAt: number | undefined = range.before;
  for (let steps = 0; stoppedAt !== undefined && ids.length < limit && steps < stepsPerSearch; steps++) {
    const step: readonly Searched[] = await read<Searched>(
      `SELECT id, job, brand, outcome, reason FROM run
      WHERE reason IS NOT NULL AND ${untilNow(engine)} AND ${isInRange(range, 1)} ORDER BY id DESC LIMIT ${reasonsPerStep}`,
      parametersOf({ ...range, before: stoppedAt }),
    );
    ids.push(...step.filter(isWanted).map(({ id }) => id));
    stoppedAt = step.length < reasonsPerStep ? undefined : step.at(-1)?.id;
    await new Promise(setImmediate);
  }
  if (ids.length >= limit) stoppedAt = ids[limit - 1];
  const found = ids.slice(0, limit);
  if (found.length === 0) return { runs: [], stoppedAt };
  const condition = `id IN (${found.join(", ")})`;
  return { runs: await read<Run>(`SELECT ${runColumns} FROM run WHERE ${condition} ORDER BY id DESC`, []), stoppedAt };
}

export interface CountedRun {
  readonly counts: number;
  readonly startedAt: string;
  readonly finishedAt: string;
}

/** Oldest first. @param isCounting whether to skip runs with a count of 0 */
export async function listCounts(
  { read, engine }: Queryable,
  { job, brand }: RunKind,
  limit: number,
  isCounting = false,
): Promise<CountedRun[]> {
  const rows = await read<CountedRun>(
    `SELECT counts, started_at AS "startedAt", finished_at AS "finishedAt" FROM run
    WHERE job = $1 AND brand = $2 AND outcome = 'succeeded' AND ${untilNow(engine)} ${isCounting ? "AND counts > 0" : ""}
    ORDER BY id DESC LIMIT ${limit}`,
    [job, brand],
  );
  return rows.reverse();
}

/** A day of a job that stores something every minute. */
const searchedLoads = 1000;

/** Finds a successful run that was storing data at the given time. */
export async function findLoadAt({ read }: Queryable, { job, brand }: RunKind, at: string): Promise<Run | undefined> {
  const [run] = await read<Run>(
    `SELECT * FROM (
      SELECT ${runColumns} FROM run WHERE job = $1 AND brand = $2 AND outcome = 'succeeded' AND counts > 0
      ORDER BY id DESC LIMIT ${searchedLoads}
    ) AS load WHERE "startedAt" <= $3 AND "finishedAt" >= $3 ORDER BY id DESC LIMIT 1`,
    [job, brand, at],
  );
  return run;
}
