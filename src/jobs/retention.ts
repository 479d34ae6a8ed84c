import { type Database, type Queryable, readNow } from "../database/database.ts";
import { awaitedStepSeconds } from "./run.ts";
import { listRunKinds } from "./run-list.ts";
import type { Work } from "./work.ts";

const dayMs = 86_400_000;
/** Short transactions, so that other writers wait only briefly. */
const transactionMs = 20;
const [minBatch, firstBatch, maxBatch] = [20, 100, 2000];

export type RemoveBefore = (database: Database, before: string, signal: AbortSignal) => Promise<void>;

/** Removes runs that are older than `keepDays`, or from the future, and other data of that age. */
export function historyRetention(keepDays: number, removeOthers: RemoveBefore): Work {
  return async ({ database, reporter, signal }) => {
    if (database === undefined) return;
    const now = Date.parse(await readNow(database));
    const before = new Date(now - keepDays * dayMs).toISOString();
    // Schedules wait for runs up to this time.
    const future = new Date(now + awaitedStepSeconds * 1000).toISOString();
    reporter.accept(await removeFutureRuns(database, future));
    const kept = await listKeptRuns(database);
    let limit = firstBatch;
    for (let position: RunPosition | undefined = { finishedAt: "", id: 0 }; position !== undefined; ) {
      signal.throwIfAborted();
      const { count, last, tookMs } = await removeRuns(database, kept, before, position, limit);
      reporter.accept(count);
      position = last;
      const wanted = limit * Math.min(2, transactionMs / Math.max(tookMs, 1));
      limit = Math.round(Math.min(maxBatch, Math.max(minBatch, wanted)));
      // Lets other writers, signals, and the heartbeat have a turn.
      await Bun.sleep(tookMs);
    }
    await removeOthers(database, before, signal);
  };
}

/**
 * The runs that are kept regardless of their age: the newest, newest successful, and newest scheduled
 * run of each job and brand.
 */
async function listKeptRuns(database: Queryable): Promise<ReadonlySet<number>> {
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

async function removeFutureRuns(database: Database, after: string): Promise<number> {
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
interface RunPosition {
  readonly finishedAt: string;
  readonly id: number;
}

interface RemovedRuns {
  readonly count: number;
  readonly last: RunPosition | undefined;
  /** Duration of the transaction, which blocks other writers to an embedded store. */
  readonly tookMs: number;
}

/**
 * Removes runs after a position that finished before an instant, oldest first.
 * @param limit how many to examine
 */
async function removeRuns(
  database: Database,
  kept: ReadonlySet<number>,
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
