import type { Log } from "../base/log.ts";
import type { Slots } from "../base/slots.ts";
import { pause } from "../base/time.ts";
import { readNow } from "../database/database.ts";
import { abandonRuns, type Claim, claimRun } from "./claim.ts";
import type { PlannedJob } from "./job.ts";
import { findPause } from "./job-pause.ts";
import { forgetOtherSchedules, recordSchedule } from "./job-schedule.ts";
import {
  describeMissed,
  describeSchedule,
  isAhead,
  isWrong,
  nextFirstRun,
  nextRun,
  type ScheduledPlan,
} from "./plan.ts";
import type { Run } from "./run.ts";
import { findLastAttempt, findLastScheduledRun, findLastSuccess, findNewestRun, findRunUnderWay } from "./runs.ts";
import { type SupervisorContext, supervise } from "./supervisor.ts";
import { createUpgradeCheck, type UpgradeCheck } from "./upgrade.ts";

export type SchedulerContext = SupervisorContext & {
  readonly log: Log;
  /** Every run takes one, until it has ended. */
  readonly slots: Slots;
  /** Removes the data that runs left behind when their processes were killed. */
  readonly removeLeftovers: () => Promise<void>;
};

/** Maximum time between two reads of the database's clock. */
const maxPauseMs = 60_000;
/** Pause between two checks for lost runs, whose locks block others. */
const lostPauseMs = 2000;
const runningPauseMs = 250;
const pausedPauseMs = 1000;
/** Pause before retrying after an error of the store. */
const errorPauseMs = 2000;

/**
 * Delay between the starts of two first runs. A file import holds the embedded store's only write
 * lock until it ends. With the delay, the next claim waits for that lock; without it, two processes
 * compete and give up.
 */
const startDelayMs = 2000;

/**
 * Jobs whose first run waits for another job's. A reconcile reads in bulk what a sync reads one by
 * one.
 */
const precededBy: Readonly<Record<string, string>> = { "catalog-sync": "catalog-reconcile" };

export interface Scheduler {
  /** Why it no longer starts runs although it was not stopped; undefined otherwise. */
  readonly suspension: () => string | undefined;
  /** The jobs whose first run has not finished. */
  readonly starting: ReadonlySet<PlannedJob>;
  /** Settles when every job that had never succeeded has finished its first run. */
  readonly firstRuns: Promise<void>;
  /** Settles when the signal has stopped the scheduler and all its runs have finished. */
  readonly stopped: Promise<void>;
}

/**
 * Runs each job on its schedule until the signal aborts. A job that has never succeeded runs
 * immediately. A first run that hangs does not delay other jobs.
 */
export function startScheduler(jobs: readonly PlannedJob[], given: SchedulerContext): Scheduler {
  const upgrade = createUpgradeCheck(given);
  const context: SchedulingContext = { ...given, upgrade };
  const starting = new Set(jobs);
  const enqueue = createStartQueue(context.signal);
  const firstRuns = new Map<string, Promise<void>>();
  const loops = jobs.map((job) => {
    const earlier = firstRuns.get(precededBy[job.name] ?? "");
    const first = (earlier ?? Promise.resolve())
      .then(() => runFirst(job, enqueue, context))
      .finally(() => starting.delete(job));
    firstRuns.set(
      job.name,
      Promise.all([firstRuns.get(job.name), first]).then(() => {}),
    );
    // A run on schedule may finish while the first run still waits for another job or for a retry.
    const onRun = () => starting.delete(job);
    return isScheduled(job) ? Promise.all([first, followSchedule(job, context, onRun)]) : first;
  });
  return {
    suspension: () => upgrade.reason,
    starting,
    firstRuns: Promise.all(firstRuns.values()).then(() => {}),
    stopped: Promise.all([...loops, cleanUp(jobs, context)]).then(() => {}),
  };
}

type SchedulingContext = SchedulerContext & { readonly upgrade: UpgradeCheck };

type Enqueue = (start: () => Promise<boolean>) => Promise<boolean>;

/** Starts each first run when the previous one has finished, or after a delay. */
function createStartQueue(signal: AbortSignal): Enqueue {
  let previous: Promise<unknown> = Promise.resolve();
  return (start) => {
    const started = previous.then(() => (signal.aborted ? false : start()));
    previous = Promise.race([started.catch(() => {}), previous.then(() => pause(startDelayMs, signal))]);
    return started;
  };
}

/**
 * Runs a job that has never succeeded, with its configured retries, until the schedule takes over.
 * If another replica runs it, waits for that run. A paused job is left to its schedule.
 */
async function runFirst(job: PlannedJob, enqueue: Enqueue, context: SchedulingContext): Promise<void> {
  const { name, brand, plan } = job;
  const { database, signal, log, slots } = context;
  let since: string | undefined;
  while (!signal.aborted) {
    try {
      if (context.upgrade.hasHappened()) return;
      const now = await readNow(database);
      since ??= now;
      if ((await findLastSuccess(database, name, brand)) !== undefined) return;
      if ((await findPause(database, name, brand))?.resumedAt === null) return;
      const newest = await findNewestRun(database, name, brand);
      const next = nextFirstRun(plan, newest, since);
      if (next === undefined) return;
      if (next.at > Date.parse(now)) {
        await pause(Math.min(next.at - Date.parse(now), maxPauseMs), signal);
        continue;
      }
      const basis = { newest: newest?.id ?? 0, isFirst: true, wasRunning: newest?.finishedAt === null };
      const claim = { job: name, brand, attempt: next.attempt, basis };
      const start = async () => {
        using slot = await slots.take(signal);
        return slot !== undefined && (await claimAndRun(job, claim, context));
      };
      if (await enqueue(start)) continue;
      log.debug({ job: name, brand }, "another replica runs the job");
      await pause(runningPauseMs, signal);
    } catch (error) {
      log.error({ job: name, brand, err: error }, "cannot start the first run; retrying");
      await pause(errorPauseMs, signal);
    }
  }
}

type ScheduledJob = PlannedJob & { readonly plan: ScheduledPlan };

const isScheduled = (job: PlannedJob): job is ScheduledJob => job.plan.schedule !== undefined;

/**
 * Waits for each due run and tries to claim it, like every other replica. Due times come from the
 * stored runs and the database's clock; the local clock only measures pauses.
 */
async function followSchedule(job: ScheduledJob, context: SchedulingContext, onRun: () => void): Promise<void> {
  const { name, brand, plan } = job;
  const { database, signal, log, slots } = context;
  /** A slot that the job waited for. */
  let turn: Disposable | undefined;
  let begun: number | undefined;
  /** Since when nothing has kept the job from running here. */
  let idleSince: number | undefined;
  let scheduled: number | undefined;
  /** A run from before the clock was set back, whose time has come again. */
  let repeated: Run | undefined;
  let reportedAhead = 0;
  while (!signal.aborted) {
    using held = turn;
    turn = undefined;
    const rest = (ms: number) => {
      held?.[Symbol.dispose]();
      return pause(ms, signal);
    };
    try {
      const now = Date.parse(await readNow(database));
      // Not later than now, in case the clock was set back.
      begun = Math.min(begun ?? now, now);
      idleSince = Math.min(idleSince ?? now, now);
      scheduled ??= Date.parse(await recordSchedule(database, name, brand, describeSchedule(plan.schedule)));
      const jobPause = await findPause(database, name, brand);
      if (jobPause?.resumedAt === null) {
        await rest(pausedPauseMs);
        continue;
      }
      const earliest = jobPause === undefined ? scheduled : Math.max(scheduled, Date.parse(jobPause.resumedAt));
      const newest = await findLastScheduledRun(database, name, brand);
      if (newest !== undefined && newest.id !== reportedAhead && isAhead(newest.startedAt, now)) {
        reportedAhead = newest.id;
        const { startedAt } = newest;
        log.warn(
          { job: name, brand, run: newest.id, startedAt },
          "the last run is in the future: the clock was set back",
        );
        // Times before the wrong ones have had their runs.
        if (isWrong(newest, now)) begun = idleSince = now;
      }
      const due = nextRun(plan, isLater(repeated, newest, now) ? repeated : newest, begun, now, earliest, idleSince);
      if (due.at > now) {
        await rest(Math.min(due.at - now, maxPauseMs));
        continue;
      }
      if (context.upgrade.hasHappened()) return;
      const scheduledAt = new Date(due.scheduledAt).toISOString();
      const basis = { newest: newest?.id ?? 0, isFirst: false, wasRunning: false };
      const claim = { job: name, brand, scheduledAt, attempt: due.attempt, basis };
      const isFree = (await findRunUnderWay(database, name, brand)) === undefined;
      if (isFree) {
        using slot = held ?? slots.tryTake();
        if (slot === undefined) {
          // Something else may be due when it is the job's turn.
          turn = await slots.take(signal);
          continue;
        }
        if (await claimAndRun(job, claim, context, describeMissed(plan, due))) {
          onRun();
          continue;
        }
      }
      // Times that pass during a manual run are missed too.
      else idleSince = undefined;
      repeated = await findLastAttempt(database, name, brand, scheduledAt);
      await rest(runningPauseMs);
    } catch (error) {
      log.error({ job: name, brand, err: error }, "cannot follow the schedule; retrying");
      // Times that pass until the retry are missed.
      idleSince = undefined;
      await rest(errorPauseMs);
    }
  }
  turn?.[Symbol.dispose]();
}

/** Whether a run is scheduled later than the newest, whose time may be wrong. */
function isLater(run: Run | undefined, newest: Run | undefined, now: number): boolean {
  if (run === undefined || newest === undefined) return run !== undefined;
  return isWrong(newest, now) || (run.scheduledAt ?? "") > (newest.scheduledAt ?? "");
}

/**
 * Call it with a slot: a run that waits is not claimed yet, so that another replica can run the job.
 * @param missed the scheduled times before it without a run
 * @returns whether the claim was granted; the run has then finished
 */
async function claimAndRun(
  job: PlannedJob,
  claim: Claim,
  context: SchedulingContext,
  missed?: string,
): Promise<boolean> {
  const { database, config, log } = context;
  if (context.upgrade.hasHappened()) return false;
  const id = await claimRun(database, claim, config.leaseSeconds);
  if (id === undefined) return false;
  const { basis: _, ...shown } = claim;
  const fields = { ...shown, run: id };
  log.info({ ...fields, ...(missed !== undefined && { missed }) }, "run started");
  const run = await supervise(job, id, context, {
    arguments: missed === undefined ? [] : [`--note=${missed}`],
    stdout: "ignore",
    stderr: "pipe",
  });
  if (run === "released") {
    log.warn(fields, "claim taken back: the program was replaced");
    return false;
  }
  if (run === undefined) log.error(fields, "cannot record the run: the store is unreachable");
  else if (run.outcome === "succeeded") log.info({ ...fields, counts: run.counts }, "run succeeded");
  else if (run.outcome === "cancelled") log.warn({ ...fields, reason: run.reason }, "run cancelled");
  else log.error({ ...fields, reason: run.reason }, `run ${run.outcome}`);
  return true;
}

/**
 * Abandons expired runs, even if their job is not due for a long time, ends their transactions,
 * which block other runs, and removes their leftovers. Also forgets removed schedules, so that a
 * job that gets one again has not missed anything.
 */
async function cleanUp(jobs: readonly PlannedJob[], context: SchedulingContext): Promise<void> {
  const { database, signal, log, removeLeftovers, upgrade } = context;
  // A replica without jobs only serves, and does not know which jobs have a schedule.
  let isForgotten = jobs.length === 0;
  let known = "";
  let leftoversCheckedAt = Number.NEGATIVE_INFINITY;
  for (; !signal.aborted; await pause(lostPauseMs, signal)) {
    if (upgrade.hasHappened()) return;
    if (!isForgotten) {
      const forgotten = forgetOtherSchedules(database, jobs.filter(isScheduled));
      isForgotten = await forgotten.then(() => true).catch(() => false);
    }
    const abandoned = await abandonRuns(database).catch(() => undefined);
    if (abandoned === undefined) continue;
    const { runs, problems } = abandoned;
    if (runs > 0) log.warn({ runs }, "recorded runs as abandoned: their processes sent no heartbeat");
    const text = problems.join("; ");
    if (text !== "" && text !== known) log.error({ reason: text }, "cannot end the transactions of abandoned runs");
    known = text;
    const now = performance.now();
    if (runs === 0 && now - leftoversCheckedAt < maxPauseMs) continue;
    leftoversCheckedAt = now;
    await removeLeftovers().catch((error) => log.warn({ err: error }, "cannot remove what lost runs left; retrying"));
  }
}
