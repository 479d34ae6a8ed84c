import { type Database, readNow } from "../database/database.ts";
import { awaitedStepSeconds } from "./run.ts";
import { firstPosition, listKeptRuns, type RunPosition, removeFutureRuns, removeRuns } from "./run-removal.ts";
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
    for (let position: RunPosition | undefined = firstPosition; position !== undefined; ) {
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
