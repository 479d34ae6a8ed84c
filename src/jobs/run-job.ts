import type { Database } from "../database/database.ts";
import { explainDiskFull, retryWhenDiskFull } from "../database/disk.ts";
import { findCancellation, isUnderWay, leaseExpired } from "./claim.ts";
import { countRejected, formatRejectedRow, type ImportReport } from "./import-report.ts";
import type { Job } from "./job.ts";
import { keepLease } from "./lease.ts";
import type { Outcome } from "./run.ts";
import { finishRun, type RunEnd } from "./runs.ts";
import { type OnProgress, Reporter } from "./work.ts";

export interface RunResult {
  readonly job: string;
  readonly brand: string;
  readonly outcome: Outcome;
  /** 0 for a failed import; in a dry run, the count of a real one. */
  readonly counts: number;
  readonly error?: Error;
  readonly report: ImportReport;
}

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress | undefined;
  readonly note?: string | undefined;
}

/** Stops a run that no longer holds its claim, or whose parent process is gone. */
export class AbandonedError extends Error {}

class CancelledError extends Error {}

/**
 * Does the work of a claimed run in this process and records its outcome, including a failure.
 * @throws only if the store is unreachable
 */
export async function runJob(
  database: Database,
  job: Job,
  id: number,
  leaseSeconds: number,
  { signal, ...options }: RunOptions,
): Promise<RunResult> {
  const ended = new AbortController();
  const onExpired = () => {
    ended.abort(new AbandonedError(leaseExpired));
    // The work may be waiting for a server that never responds.
    database.reconnect();
  };
  using _ = keepLease(database, id, leaseSeconds, onExpired, (reason) => ended.abort(new CancelledError(reason)));
  const own = database.forRun(id);
  const result = await execute(own, id, job, { ...options, signal: AbortSignal.any([signal, ended.signal]) });
  const { outcome, counts, report, error } = result;
  await record(database, id, { outcome, counts, report, ...(error && { reason: reasonOf(error, report) }) });
  return result;
}

/** Begins with the rejected row that made the run fail, because it must be fixed. */
function reasonOf({ message }: Error, report: ImportReport): string {
  const [first] = report.rejections;
  const [example] = first?.examples ?? [];
  if (first === undefined || example === undefined || !message.startsWith(countRejected(report))) return message;
  const { field, reason } = first;
  const { file, line } = example;
  return `${formatRejectedRow({ file, line, ...(field !== undefined && { field }), reason })}; ${message}`;
}

/** A full store has room for the outcome even if it has none for the report. */
async function record(database: Database, id: number, end: RunEnd): Promise<void> {
  try {
    await finishRun(database, id, end);
  } catch (error) {
    if (database.engine.classify(error) !== "full") throw error;
    const { report: _, ...rest } = end;
    await retryWhenDiskFull(database, () => finishRun(database, id, rest));
  }
}

/** @param database undefined if the store does not exist yet */
export function dryRunJob(database: Database | undefined, job: Job, options: RunOptions): Promise<RunResult> {
  return execute(database, undefined, job, options);
}

async function explain(database: Database | undefined, run: number | undefined, thrown: unknown): Promise<unknown> {
  if (database === undefined) return thrown;
  const cancellation = run === undefined ? run : await findCancellation(database, run).catch(() => undefined);
  if (cancellation !== undefined) return new CancelledError(cancellation);
  // The process that abandons a run also ends its connection. After a failover, another one may have done so.
  const failure = database.engine.classify(thrown);
  const mayBeAbandoned = run !== undefined && (failure === "lost" || failure === "read-only");
  if (mayBeAbandoned && !(await isUnderWay(database, run).catch(() => true))) return new AbandonedError(leaseExpired);
  return explainDiskFull(database, thrown);
}

async function execute(
  database: Database | undefined,
  run: number | undefined,
  { name, brand, work }: Job,
  { signal, onProgress, note }: RunOptions,
): Promise<RunResult> {
  const reporter = new Reporter();
  const { report } = reporter;
  if (note !== undefined) reporter.note(note);
  let error: Error | undefined;
  try {
    await work({ database, isDryRun: run === undefined, run, brand, reporter, signal, onProgress });
  } catch (thrown) {
    // Aborted work may throw any error; the signal has the real reason.
    error = (signal.aborted ? signal.reason : await explain(database, run, thrown)) as Error;
  }
  return { job: name, brand, outcome: outcomeOf(error), counts: reporter.counts, ...(error && { error }), report };
}

function outcomeOf(error: Error | undefined): Outcome {
  if (error === undefined) return "succeeded";
  if (error instanceof CancelledError) return "cancelled";
  return error instanceof AbandonedError ? "abandoned" : "failed";
}
