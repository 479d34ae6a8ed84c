import { readNow } from "../database/database.ts";
import {
  abandonRuns,
  type Claim,
  claimRun,
  findLastScheduledRun,
  findLastSuccess,
  findRunUnderWay,
} from "../database/run.ts";
import type { Log } from "../log.ts";
import type { PlannedJob } from "./job.ts";
import { dueAfter, type ScheduledPlan } from "./plan.ts";
import { type Supervision, supervise } from "./supervisor.ts";

export type Scheduling = Supervision & { readonly log: Log };

/** The longest time between two looks at the database's clock. */
const longestPauseMs = 60_000;
/** Between two looks at a run that is to end. */
const underWayPauseMs = 250;
/** Before the store is asked again that could not be. */
const lostPauseMs = 2000;

/**
 * Before the next first run begins. A file import holds the embedded store's only write lock from its start to its end: the next
 * claim then waits for that lock, rather than two processes that give up after a while.
 */
const headStartMs = 2000;

/** A job whose first run leaves nothing to do for that of another: the comparison reads in bulk what the other reads one by one. */
const precededBy: Readonly<Record<string, string>> = { "catalog-sync": "catalog-reconcile" };

export interface RunningJobs {
  /** The jobs that may have to run for the first time, or do so. */
  readonly starting: ReadonlySet<PlannedJob>;
  /** Settles when every job that had never succeeded has had its first run. */
  readonly firstRuns: Promise<void>;
  /** Settles when the signal has said so and what was begun has ended. */
  readonly stopped: Promise<void>;
}

/**
 * Runs each job on its schedule until the signal says so, and at once if it has never succeeded. A first run that hangs holds back
 * no other job.
 */
export function runJobs(jobs: readonly PlannedJob[], scheduling: Scheduling): RunningJobs {
  const starting = new Set(jobs);
  const takeTurn = createTurns(scheduling.signal);
  const firstRuns = new Map<string, Promise<void>>();
  const loops = jobs.map((job) => {
    const earlier = firstRuns.get(precededBy[job.name] ?? "");
    const first = (earlier ?? Promise.resolve())
      .then(() => runNew(job, takeTurn, scheduling))
      .finally(() => starting.delete(job));
    firstRuns.set(
      job.name,
      Promise.all([firstRuns.get(job.name), first]).then(() => {}),
    );
    if (!isScheduled(job)) return first;
    return earlier === undefined
      ? first.then(() => follow(job, scheduling))
      : Promise.all([first, follow(job, scheduling)]);
  });
  return {
    starting,
    firstRuns: Promise.all(firstRuns.values()).then(() => {}),
    stopped: Promise.all([...loops, sweep(scheduling)]).then(() => {}),
  };
}

type TakeTurn = (work: () => Promise<boolean>) => Promise<boolean>;

/** Lets one begin after the other: when the one before has ended, or has had its head start. */
function createTurns(signal: AbortSignal): TakeTurn {
  let turn: Promise<unknown> = Promise.resolve();
  return (work) => {
    const begun = turn.then(() => (signal.aborted ? false : work()));
    turn = Promise.race([begun.catch(() => {}), turn.then(() => pause(headStartMs, signal))]);
    return begun;
  };
}

/** Runs a job that has never succeeded, once; one that another replica runs is waited for. */
async function runNew(job: PlannedJob, takeTurn: TakeTurn, scheduling: Scheduling): Promise<void> {
  const { name, brand } = job;
  const { database, signal, log } = scheduling;
  while (!signal.aborted) {
    try {
      if ((await findLastSuccess(database, name, brand)) !== undefined) return;
      if (await takeTurn(() => runClaimed(job, { job: name, brand, isFirst: true }, scheduling))) return;
      log.debug({ job: name, brand }, "another one runs it");
      await pause(underWayPauseMs, signal);
    } catch (error) {
      log.error({ job: name, brand, err: error }, "the first run cannot begin at the moment");
      await pause(lostPauseMs, signal);
    }
  }
}

type ScheduledJob = PlannedJob & { readonly plan: ScheduledPlan };

const isScheduled = (job: PlannedJob): job is ScheduledJob => job.plan.schedule !== undefined;

/**
 * Every replica does the same: looks what is due by the stored runs and the database's clock, waits for it, and tries to claim it.
 * The clock of the machine only measures how long it waits.
 */
async function follow(job: ScheduledJob, scheduling: Scheduling): Promise<void> {
  const { name, brand, plan } = job;
  const { database, signal, log } = scheduling;
  let since: number | undefined;
  while (!signal.aborted) {
    try {
      const now = Date.parse(await readNow(database));
      since ??= now;
      const due = dueAfter(plan, await findLastScheduledRun(database, name, brand), since, now);
      if (due.at > now) {
        await pause(Math.min(due.at - now, longestPauseMs), signal);
        continue;
      }
      const scheduledAt = new Date(due.scheduledAt).toISOString();
      const claim = { job: name, brand, scheduledAt, attempt: due.attempt };
      const isFree = (await findRunUnderWay(database, name, brand)) === undefined;
      // What comes while a run by hand is under way is missed too.
      if (!isFree && plan.missed === "skip") since = undefined;
      if (!isFree || !(await runClaimed(job, claim, scheduling))) await pause(underWayPauseMs, signal);
    } catch (error) {
      log.error({ job: name, brand, err: error }, "the schedule cannot be followed at the moment");
      // What passes meanwhile is missed.
      if (plan.missed === "skip") since = undefined;
      await pause(lostPauseMs, signal);
    }
  }
}

/** @returns whether the claim was granted, in which case the run has ended */
async function runClaimed(job: PlannedJob, claim: Claim, scheduling: Scheduling): Promise<boolean> {
  const { database, leaseSeconds, log } = scheduling;
  const id = await claimRun(database, claim, leaseSeconds);
  if (id === undefined) return false;
  const about = { ...claim, run: id };
  log.info(about, "run begun");
  const run = await supervise(job, id, scheduling);
  if (run?.outcome === "succeeded") log.info({ ...about, counts: run.counts }, "run succeeded");
  else
    log.error({ ...about, reason: run?.reason }, `run ${run?.outcome ?? "not recorded: the store cannot be reached"}`);
  return true;
}

/** Ends what is abandoned also when its job is not due for long. */
async function sweep({ database, signal, log }: Scheduling): Promise<void> {
  while (!signal.aborted) {
    // The next round tries again.
    const abandoned = await abandonRuns(database).catch(() => 0);
    if (abandoned > 0) log.warn({ runs: abandoned }, "runs abandoned: their processes gave no sign of life");
    await pause(longestPauseMs, signal);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  const wake = () => aborted.resolve();
  signal.addEventListener("abort", wake);
  const timer = setTimeout(wake, ms);
  if (!signal.aborted) await aborted.promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}
