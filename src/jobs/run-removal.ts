import type { Database, Queryable } from "../database/database.ts";
import { listRunKinds } from "./run-list.ts";

/** Runs that are kept regardless of their age. */
export type KeptRuns = ReadonlySet<number>;

/** The newest, newest successful, and newest scheduled run of each job and brand. */
export async function listKeptRuns(database: Queryable): Promise<KeptRuns> {
  const { sql } = database;
  const kept = new Set<number>();
  for (const { job, brand } of await listRunKinds(database)) {
    // Literals, because the planner does not use a partial index for a parameter.
    for (const condition of ["finished_at IS NOT NULL", "outcome = 'succeeded'", "scheduled_at IS NOT NULL"]) {
      const [run] = await sql<{ id: number }[]>`
        SELECT id FROM run WHERE job = ${job} AND brand = ${brand} AND ${sql.unsafe(condition)}
        ORDER BY id DESC LIMIT 1`;
      if (run !== undefined) kept.add(run.id);
    }
  }
  return kept;
}

export async function removeFutureRuns(database: Database, after: string): Promise<number> {
  const isFuture = ({ sql }: Queryable) =>
    sql`finished_at IS NOT NULL AND (finished_at > ${after} OR started_at > ${after})`;
  // No transaction, which would block other writers: the starts have no index.
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
  readonly last: RunPosition | undefined;
  /** Duration of the transaction, which blocks other writers to an embedded store. */
  readonly tookMs: number;
}

/**
 * Removes runs after a position that finished before an instant, oldest first.
 * @param limit how many to examine
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
