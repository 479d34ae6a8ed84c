import type { Database } from "../database/database.ts";
import { concludeRun, type ProcessEnd } from "../database/run.ts";
import type { Run } from "../model/job.ts";
import { thisProgram } from "../program.ts";
import type { PlannedJob } from "./job.ts";
import type { Monitors } from "./monitors.ts";
import { holdLease } from "./run.ts";
import { Tail } from "./tail.ts";

/** What the runs in processes of their own need of the one who starts them. */
export interface Supervision {
  /** One that yields, where this process has something else to do. */
  readonly database: Database;
  readonly monitors: Monitors;
  readonly leaseSeconds: number;
  /** Ends the process; its reason is an Error that says why. */
  readonly signal: AbortSignal;
}

/** How what a process says is shown. */
export interface Showing {
  readonly arguments: readonly string[];
  readonly stdout: "ignore" | "inherit";
  /** A terminal gets what is said as it is; then no last lines are kept, since a person has seen them. */
  readonly stderr: "pipe" | "inherit";
}

const unseen: Showing = { arguments: [], stdout: "ignore", stderr: "pipe" };

/** How long a process may take to end once it is told to. */
const graceMs = 10_000;

/**
 * Does a claimed run as `pds run` in a process of its own: its memory goes with it, and its crash stays there. It is ended at its
 * limit, or when the signal says so: told first, then killed. The run is recorded as ended in any case.
 * @returns the run as it ended; undefined when the store cannot be reached for so long that the run is abandoned
 */
export async function supervise(
  job: PlannedJob,
  id: number,
  supervision: Supervision,
  showing = unseen,
): Promise<Run | undefined> {
  const { database, monitors, leaseSeconds } = supervision;
  const { start, success, failure } = job.plan.ping;
  const started = monitors.tell(start);
  const end = await runProcess(job, id, supervision, showing).catch(
    ({ message }: Error): ProcessEnd => ({ exit: `its process could not be run: ${message}`, log: null }),
  );
  const run = await conclude(database, id, end, leaseSeconds);
  // One after the other: a start that came last would look as if it were still running.
  void monitors.tell(run?.outcome === "succeeded" ? success : failure, started);
  return run;
}

async function runProcess(
  { name, brand, plan }: PlannedJob,
  id: number,
  { database, leaseSeconds, signal }: Supervision,
  showing: Showing,
): Promise<ProcessEnd> {
  const child = Bun.spawn(
    // In one word: a brand may begin with a dash, and would be taken for an option.
    [...thisProgram(), "run", name, `--brand=${brand}`, "--claimed", `${id}`, ...showing.arguments],
    // Nothing is written to its input: that this closes tells it that its supervisor is gone.
    { stdin: "pipe", stdout: showing.stdout, stderr: showing.stderr },
  );
  let stopped: string | undefined;
  let killing: Timer | undefined;
  const stop = (reason: string) => {
    if (stopped !== undefined) return;
    stopped = reason;
    child.kill("SIGTERM");
    killing = setTimeout(() => child.kill("SIGKILL"), graceMs);
  };
  const limit = setTimeout(stop, plan.limitSeconds * 1000, `it took longer than its limit of ${plan.limitSeconds} s`);
  const onAbort = () => stop((signal.reason as Error).message);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  using _ = holdLease(database, id, leaseSeconds, () => stop("its lease ended, so that another run may have begun"));

  const tail = new Tail();
  if (child.stderr instanceof ReadableStream) {
    for await (const chunk of child.stderr) {
      process.stderr.write(chunk);
      tail.add(chunk);
    }
  }
  const code = await child.exited;
  clearTimeout(limit);
  clearTimeout(killing);
  signal.removeEventListener("abort", onAbort);
  const exit = child.signalCode === null ? `ended with exit status ${code}` : `was ended by ${child.signalCode}`;
  return { stopped, exit: `its process ${exit}`, log: tail.text() };
}

/** Asks again while the store cannot be reached, for as long as the run is not abandoned anyway. */
async function conclude(
  database: Database,
  id: number,
  end: ProcessEnd,
  leaseSeconds: number,
): Promise<Run | undefined> {
  for (const endedAt = performance.now(); performance.now() - endedAt < leaseSeconds * 1000; await Bun.sleep(500)) {
    const run = await concludeRun(database, id, end).catch(() => undefined);
    if (run !== undefined) return run;
  }
  return undefined;
}
