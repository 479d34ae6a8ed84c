import type { Database } from "../database/database.ts";
import { explainDiskFull, retryWhenDiskFull } from "../database/disk.ts";
import { finishRun, type RunEnd, renewLease } from "../database/run.ts";
import type { ImportReport, Outcome } from "../model/job.ts";
import type { Job } from "./job.ts";
import { type OnProgress, Reporter } from "./work.ts";

export interface RunResult {
  readonly job: string;
  readonly brand: string;
  readonly outcome: Outcome;
  /** What it changed or confirmed as served, so nothing for an import that failed; for a dry run, what the import would count. */
  readonly counts: number;
  /** What made it fail. */
  readonly error?: Error;
  readonly report: ImportReport;
}

/** Who wants to know how a run goes, and may tell it to stop. */
export interface RunOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress | undefined;
}

/** Why a run stops that nobody waits for any more. */
export class Abandoned extends Error {}

/**
 * Does a claimed run's work in this process and records how that ended. A failure is part of the result; only a lost database throws.
 * @param id the run, as it was claimed
 */
export async function runJob(
  database: Database,
  job: Job,
  id: number,
  leaseSeconds: number,
  { signal, onProgress }: RunOptions,
): Promise<RunResult> {
  const lost = new AbortController();
  using _ = holdLease(database, id, leaseSeconds, () =>
    lost.abort(new Abandoned("its lease ended, so that another run may have begun")),
  );
  const result = await execute(database, false, job, { signal: AbortSignal.any([signal, lost.signal]), onProgress });
  const { outcome, counts, report, error } = result;
  await record(database, id, { outcome, counts, report, ...(error && { reason: error.message }) });
  return result;
}

/** A full store has room for a run's end even when it has none for its report. */
async function record(database: Database, id: number, end: RunEnd): Promise<void> {
  try {
    await finishRun(database, id, end);
  } catch (error) {
    if (!database.engine.isDiskFull(error)) throw error;
    const { report: _, ...rest } = end;
    await retryWhenDiskFull(database, () => finishRun(database, id, rest));
  }
}

/**
 * Renews a run's lease until it is let go.
 * @param onLost is told once, when the run counts as abandoned, or must by now
 */
export function holdLease(database: Database, id: number, leaseSeconds: number, onLost: () => void): Disposable {
  const leaseMs = leaseSeconds * 1000;
  let renewedAt = performance.now();
  let isOver = false;
  const lose = () => {
    if (isOver) return;
    clearInterval(beat);
    isOver = true;
    onLost();
  };
  const beat = setInterval(async () => {
    const askedAt = performance.now();
    // Asked here and not behind the answer: of a store that is cut off none may come.
    if (askedAt - renewedAt >= leaseMs) return lose();
    try {
      if (await renewLease(database, id, leaseSeconds)) renewedAt = askedAt;
      else lose();
    } catch (error) {
      // While someone writes, perhaps this very run, nobody can take the lease away. A store that is lost may be back before it ends.
      if (database.engine.isBusy(error)) renewedAt = askedAt;
    }
  }, leaseMs / 3);
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearInterval(beat);
    },
  };
}

/**
 * Reads and checks what the job would import, and changes nothing.
 * @param database what it would be imported into; undefined when that is not there yet
 */
export function dryRunJob(database: Database | undefined, job: Job, options: RunOptions): Promise<RunResult> {
  return execute(database, true, job, options);
}

const explain = (database: Database | undefined, thrown: unknown) =>
  database === undefined ? thrown : explainDiskFull(database, thrown);

async function execute(
  database: Database | undefined,
  isDryRun: boolean,
  { name, brand, work }: Job,
  { signal, onProgress }: RunOptions,
): Promise<RunResult> {
  const reporter = new Reporter();
  const { report } = reporter;
  let error: Error | undefined;
  try {
    await work({ database, isDryRun, brand, reporter, signal, onProgress });
  } catch (thrown) {
    // Whatever the work threw when it was told to stop: who told it is the reason.
    error = (signal.aborted ? signal.reason : explain(database, thrown)) as Error;
  }
  const outcome = error === undefined ? "succeeded" : error instanceof Abandoned ? "abandoned" : "failed";
  return { job: name, brand, outcome, counts: reporter.counts, ...(error && { error }), report };
}
