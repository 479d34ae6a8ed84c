import { findReplacement, otherSchema, thisProgram } from "../base/program.ts";
import type { Slots } from "../base/slots.ts";
import { writeToStderr } from "../base/terminal.ts";
import { repeatEvery, withTimeout } from "../base/time.ts";
import type { Database } from "../database/database.ts";
import { leaseExpired } from "./claim.ts";
import type { PlannedJob } from "./job.ts";
import { keepLease } from "./lease.ts";
import { LogTail } from "./log-tail.ts";
import { describeEnd, describeStart } from "./monitor-message.ts";
import type { Monitors } from "./monitors.ts";
import type { Run } from "./run.ts";
import { concludeRun, findFailingSince, type ProcessEnd, releaseRun, saveLog } from "./runs.ts";

export interface SupervisorContext {
  /** A `scheduling` connection if this process also serves. */
  readonly database: Database;
  readonly monitors: Monitors;
  /** Passed to the run's process, because the settings file may have changed. */
  readonly config: { readonly leaseSeconds: number };
  /** The reason is an Error that explains why the process stops. */
  readonly signal: AbortSignal;
}

export interface ProcessOutput {
  readonly arguments: readonly string[];
  readonly stdout: "ignore" | "inherit";
  /** The exit status shows whether the output was received. */
  readonly onExit?: (status: number) => void;
  /** `inherit` passes the log to a terminal; the run then stores no log. */
  readonly stderr: "pipe" | "inherit";
}

const graceMs = 10_000;
const logPauseMs = 5000;
const retryPauseMs = 500;
const answerMs = 2000;
/** How long the service's shutdown may wait for the store to record the end of a run. */
const stopPatienceMs = 5000;

/**
 * Executes a claimed run as `pds run` in a child process, which isolates its memory and crashes, and
 * records its end in any case.
 * @param slots the process waits for a free slot
 * @returns the finished run; `released` if another version of the program must run it; undefined if
 *   the store stays unreachable until the run counts as abandoned
 */
export async function supervise(
  job: PlannedJob,
  id: number,
  context: SupervisorContext,
  output: ProcessOutput,
  slots?: Slots,
): Promise<Run | "released" | undefined> {
  const { database, monitors, config, signal } = context;
  const { start, success, failure } = job.plan.ping;
  const notified = monitors.notify(start, describeStart(job, id));
  const end = await runProcess(job, id, context, output, slots).catch(
    ({ message }: Error): ProcessEnd => ({ exit: `its process could not be started: ${message}`, log: null }),
  );
  // If the files were replaced just before the process read them, it was another version.
  if (end === "refused" || findReplacement() !== undefined) {
    // If this fails, the run is abandoned when its lease expires.
    const isReleased = await releaseRun(database, id).catch(() => false);
    if (end === "refused" || isReleased) return "released";
  }
  const run = await conclude(database, id, end, signal.aborted ? stopPatienceMs : config.leaseSeconds * 1000);
  // In order: if the start arrived last, the job would seem to be running.
  const url = run?.outcome === "succeeded" ? success : failure;
  const failingSince = run && url && (await findFailure(database, run));
  void monitors.notify(url, describeEnd(job, id, run, end, monitors.hide, failingSince), notified);
  return run;
}

const findFailure = (database: Database, run: Run) =>
  withTimeout(
    findFailingSince(database, run).catch(() => undefined),
    answerMs,
    () => undefined,
  );

type RunProcess = Bun.Subprocess<"pipe", ProcessOutput["stdout"], ProcessOutput["stderr"]>;

async function runProcess(
  job: PlannedJob,
  id: number,
  context: SupervisorContext,
  output: ProcessOutput,
  slots: Slots | undefined,
): Promise<ProcessEnd | "refused"> {
  using watched = watchRun(id, context);
  const { signal } = watched;
  using _slot = await slots?.take(signal);
  if (signal.aborted) return { stopped: signal.reason, exit: "its process was not started", log: null };
  if (findReplacement() !== undefined) return "refused";
  const child: RunProcess = Bun.spawn(
    // One argument, because a brand may begin with a dash.
    [...thisProgram(), "run", job.name, `--brand=${job.brand}`, "--claimed", `${id}`, ...output.arguments],
    // The child exits when its pipe closes because this process is gone.
    { stdin: "pipe", stdout: output.stdout, stderr: output.stderr },
  );
  sendLine(child.stdin, JSON.stringify(context.config));
  watched.limit(job.plan.limitSeconds);
  using _ = endOnAbort(child, signal);
  const tail = new LogTail();
  if (child.stderr instanceof ReadableStream) {
    using _saving = keepLog(context.database, id, tail);
    for await (const chunk of child.stderr) {
      writeToStderr(chunk);
      tail.add(chunk);
    }
  }
  const code = await child.exited;
  output.onExit?.(code);
  if (code === otherSchema) return "refused";
  const exit = child.signalCode === null ? `exited with status ${code}` : `was killed by ${child.signalCode}`;
  const failure = tail.failure();
  return {
    stopped: signal.reason,
    exit: failure === undefined ? `its process ${exit}` : `its process ${exit}: ${failure}`,
    log: tail.text(),
  };
}

/** Stores the end of a run's output while it runs. The rest is stored at its end. */
function keepLog(database: Database, id: number, tail: LogTail): Disposable {
  let stored: string | null = null;
  return repeatEvery(logPauseMs, async () => {
    const log = tail.text(false);
    if (log === stored) return;
    await saveLog(database, id, log);
    stored = log;
  });
}

/** A process that has ended does not read it; its exit status tells why. */
export function sendLine(stdin: Bun.FileSink, line: string): void {
  // Each may be a promise that rejects, which would end this process.
  const ignoreFailure = (sent: number | Promise<number>) => void Promise.resolve(sent).catch(() => {});
  try {
    ignoreFailure(stdin.write(`${line}\n`));
    ignoreFailure(stdin.flush());
  } catch {}
}

interface WatchedRun extends Disposable {
  /** The reason of an abort is a string. */
  readonly signal: AbortSignal;
  /** Aborts the signal after some time. */
  readonly limit: (seconds: number) => void;
}

function watchRun(id: number, { database, config, signal }: SupervisorContext): WatchedRun {
  const stopping = new AbortController();
  const stop = (reason: string) => stopping.abort(reason);
  const onAbort = () => stop((signal.reason as Error).message);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  // The run renews it too. This covers a run that waits, or is too busy to reach its timers.
  const lease = keepLease(database, id, config.leaseSeconds, () => stop(leaseExpired), stop);
  let limitTimer: Timer | undefined;
  return {
    signal: stopping.signal,
    limit: (seconds) => {
      limitTimer = setTimeout(stop, seconds * 1000, `it exceeded its time limit of ${seconds} s`);
    },
    [Symbol.dispose]: () => {
      clearTimeout(limitTimer);
      signal.removeEventListener("abort", onAbort);
      lease[Symbol.dispose]();
    },
  };
}

/** Kills the process if it does not end in time. */
export function endOnAbort(child: Bun.Subprocess, signal: AbortSignal): Disposable {
  let killTimer: Timer | undefined;
  const end = () => {
    child.kill("SIGTERM");
    killTimer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  };
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  return {
    [Symbol.dispose]: () => {
      clearTimeout(killTimer);
      signal.removeEventListener("abort", end);
    },
  };
}

/** Retries while the store is unreachable, at most until the run counts as abandoned anyway. */
async function conclude(database: Database, id: number, end: ProcessEnd, patienceMs: number): Promise<Run | undefined> {
  const giveUpAt = performance.now() + patienceMs;
  for (; performance.now() < giveUpAt; await Bun.sleep(retryPauseMs)) {
    const concluded = concludeRun(database, id, end).catch(() => undefined);
    // A store behind a broken connection may never respond.
    const run = await withTimeout(concluded, giveUpAt - performance.now(), () => undefined);
    if (run !== undefined) return run;
  }
  return undefined;
}
