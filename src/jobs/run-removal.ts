import type { Database, Queryable } from "../database/database.ts";
import { listRunKinds } from "./run-list.ts";

/** Runs that stay however old they are. */
export type KeptRuns = ReadonlySet<number>;

/** The latest runs of each job and brand: the newest, the newest that succeeded, the newest scheduled. */
export async function listKeptRuns(database: Queryable): Promise<KeptRuns> {
  const { sql } = database;
  const kept = new Set<number>();
  for (const { job, brand } of await listRunKinds(database)) {
    // Literals, like the conditions of the list of runs.
    for (const condition of ["finished_at IS NOT NULL", "outcome = 'succeeded'", "scheduled_at IS NOT NULL"]) {
      const [run] = await sql<{ id: number }[]>`
        SELECT id FROM run WHERE job = ${job} AND brand = ${brand} AND ${sql.unsafe(condition)}
        ORDER BY id DESC LIMIT 1`;
      if (run !== undefined) kept.add(run.id);
    }
  }
  return kept;
}

/** Removes finished runs that began or ended after an instant in the future: a wrong clock stored them. */
export async function removeFutureRuns(database: Database, after: string): Promise<number> {
  const isFuture = ({ sql }: Queryable) =>
    sql`finished_at IS NOT NULL AND (finished_at > ${after} OR started_at > ${after})`;
  // Without a transaction, which would hold up other writers: no index has the starts.
  const found = await database.sql`SELECT 1 FROM run WHERE ${isFuture(database)} LIMIT 1`;
  if (found.length === 0) return 0;
  return await database.inTransaction(async (transaction) => {
    const { count } = await transaction.sql`DELETE FROM run WHERE ${isFuture(transaction)}`;
    return count as number;
  });
}

/** A place in the order of runs by their end. */
export interface RunPosition {
  readonly finishedAt: string;
  readonly id: number;
}

export const firstPosition: RunPosition = { finishedAt: "", id: 0 };

export interface RemovedRuns {
  readonly count: number;
  /** The last run that was looked at; undefined at the end. */
  readonly last: RunPosition | undefined;
  /** How long the transaction took, during which others could not write to an embedded store. */
  readonly tookMs: number;
}

/**
 * Removes the runs after a position that finished before an instant, oldest first.
 * @param limit how many to look at
 */
export async function removeRuns(
  database: Database,
  kept: KeptRuns,
  before: string,
  { finishedAt, id }: RunPosition,
  limit: number,
): Promise<RemovedRuns> {
  const found = await database.sql<RunPosition[]>`
    SELECT id, finished_at AS "finishedAt" FROM run
    WHERE finished_at < ${before} AND (finished_at, id) > (${finishedAt}, ${id})
    ORDER BY finished_at, id LIMIT ${limit}`;
  const ids = found.filter((run) => !kept.has(run.id)).map((run) => run.id);
  const last = found.length < limit ? undefined : found.at(-1);
  if (ids.length === 0) return { count: 0, last, tookMs: 0 };
  let beganAt = 0;
  const count = await database.inTransaction(async ({ sql }) => {
    beganAt = performance.now();
    const removed = await sql`DELETE FROM run WHERE id IN ${sql(ids)}`;
    return removed.count as number;
  });
  return { count, last, tookMs: performance.now() - beganAt };
}
