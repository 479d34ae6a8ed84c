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
import type { PlannedJob } from "./index.ts";
import { dueAfter, type ScheduledPlan } from "./plan.ts";
import { type Supervision, supervise } from "./supervisor.ts";

export type Scheduling = Supervision & { readonly log: Log };

/** The longest time between two looks at the database's clock. */
const longestPauseMs = 60_000;
/** Between two looks at a run that is to end. */
const underWayPauseMs = 250;
/** Before the store is asked again that could not be. */
const lostPauseMs = 2000;

/** Runs, one after the other, the jobs that have never succeeded; one that another replica runs is waited for. */
export async function runNewJobs(jobs: readonly PlannedJob[], scheduling: Scheduling): Promise<void> {
  const { database, signal, log } = scheduling;
  for (const job of jobs) {
    const { name, brand } = job;
    while (!signal.aborted && (await findLastSuccess(database, name, brand)) === undefined) {
      if (await runClaimed(job, { job: name, brand, isFirst: true }, scheduling)) break;
      log.debug({ job: name, brand }, "another one runs it");
      await pause(underWayPauseMs, signal);
    }
  }
}

/** Runs the jobs on their schedules until the signal says so and what was begun has ended. */
export async function runOnSchedule(jobs: readonly PlannedJob[], scheduling: Scheduling): Promise<void> {
  const following = jobs.map((job) => (isScheduled(job) ? follow(job, scheduling) : undefined));
  await Promise.all([...following, sweep(scheduling)]);
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
