import { readNow } from "../database/database.ts";
import { removeRunsBefore } from "../database/run.ts";
import type { Work } from "./work.ts";

const dayMs = 86_400_000;
/** Runs per transaction, so that other writers only wait briefly. */
const batchSize = 2000;

/** Removes and counts the runs that finished more than `keepDays` ago. */
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
