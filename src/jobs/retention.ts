import { readNow } from "../database/database.ts";
import { removeRunsBefore } from "../database/run.ts";
import type { Work } from "./work.ts";

const dayMs = 86_400_000;
/** Removed in one transaction, so that others who write wait for moments only. */
const batchSize = 2000;

/** Removes runs from the history that finished longer ago than some days; it counts them. */
export function historyRetention(keepDays: number): Work {
  return async ({ database, reporter, signal }) => {
    if (database === undefined) return;
    const before = new Date(Date.parse(await readNow(database)) - keepDays * dayMs).toISOString();
    for (;;) {
      signal.throwIfAborted();
      const removed = await removeRunsBefore(database, before, batchSize);
      reporter.accept(removed);
      if (removed < batchSize) return;
    }
  };
}
