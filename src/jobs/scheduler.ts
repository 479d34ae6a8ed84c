import type { Log } from "../base/log.ts";
import { findReplacement } from "../base/program.ts";
import type { Slots } from "../base/slots.ts";
import { pause, repeat } from "../base/time.ts";
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

export type SchedulerContext = SupervisorContext & {
  readonly log: Log;
  readonly slots: Slots;
  readonly removeLeftovers: () => Promise<void>;
};

const maxPauseMs = 60_000;
/** Pause between two checks for lost runs, whose locks block others. */
const lostPauseMs = 2000;
const runningPauseMs = 250;
const pausedPauseMs = 1000;
const errorPauseMs = 2000;

/**
 * A file import holds the embedded store's only write lock until it ends. After this delay, the next
 * claim waits for the lock instead of competing for it.
 */
const startDelayMs = 2000;

/** A first sync waits for the reconcile, which reads products in bulk instead of one by one. */
const precededBy: Readonly<Record<string, string>> = { "catalog-sync": "catalog-reconcile" };

export interface Scheduler {
  /** The reason if it starts no more runs because the program was replaced. */
  readonly suspension: () => string | undefined;
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
  let suspension: string | undefined;
  const isSuspended = () => {
    if (suspension !== undefined) return true;
    suspension = findReplacement();
    if (suspension !== undefined) given.log.error({ reason: suspension }, "no further runs are started here");
    return suspension !== undefined;
  };
  const context: SchedulingContext = { ...given, isSuspended };
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
    return isScheduled(job) ? Promise.all([first, new ScheduleFollower(job, context, onRun).run()]) : first;
  });
  return {
    suspension: () => suspension,
    starting,
    firstRuns: Promise.all(firstRuns.values()).then(() => {}),
    stopped: Promise.all([...loops, cleanUp(jobs, context)]).then(() => {}),
  };
}

type SchedulingContext = SchedulerContext & {
  /** Whether the program was replaced; this process then starts no more runs. */
  readonly isSuspended: () => boolean;
};

type Enqueue = (start: () => Promise<boolean>) => Promise<boolean>;

/** Each first run waits for the end of the previous one, or for the delay. */
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
  const step = async () => {
    if (context.isSuspended()) return undefined;
    const now = await readNow(database);
    since ??= now;
    if ((await findLastSuccess(database, name, brand)) !== undefined) return undefined;
    if ((await findPause(database, name, brand))?.resumedAt === null) return undefined;
    const newest = await findNewestRun(database, name, brand);
    const next = nextFirstRun(plan, newest, since);
    if (next === undefined) return undefined;
    if (next.at > Date.parse(now)) return Math.min(next.at - Date.parse(now), maxPauseMs);
    const basis = { newest: newest?.id ?? 0, isFirst: true, wasRunning: newest?.finishedAt === null };
    const claim = { job: name, brand, attempt: next.attempt, basis };
    const start = async () => {
      using slot = await slots.take(signal);
      return slot !== undefined && (await claimAndRun(job, claim, context));
    };
    if (await enqueue(start)) return 0;
    log.debug({ job: name, brand }, "another replica runs the job");
    return runningPauseMs;
  };
  const onFailure = (error: unknown) =>
    log.error({ job: name, brand, err: error }, "cannot start the first run; retrying");
  await repeat(step, { signal, retryMs: errorPauseMs, onFailure });
}

type ScheduledJob = PlannedJob & { readonly plan: ScheduledPlan };

const isScheduled = (job: PlannedJob): job is ScheduledJob => job.plan.schedule !== undefined;

/**
 * Waits for each due run of a job and tries to claim it, like every other replica. Due times come
 * from the stored runs and the database's clock; the local clock only measures pauses.
 */
class ScheduleFollower {
  readonly #job: ScheduledJob;
  readonly #context: SchedulingContext;
  readonly #onRun: () => void;
  #begun = Number.POSITIVE_INFINITY;
  /** Since when nothing has kept the job from running here; infinity while something does. */
  #idleSince = Number.POSITIVE_INFINITY;
  /** When the job got its schedule. */
  #scheduled: number | undefined;
  /** A run from before the clock was set back, whose time has come again. */
  #repeated: Run | undefined;
  #reportedAhead = 0;

  constructor(job: ScheduledJob, context: SchedulingContext, onRun: () => void) {
    this.#job = job;
    this.#context = context;
    this.#onRun = onRun;
  }

  async run(): Promise<void> {
    const { signal, log } = this.#context;
    const { name, brand } = this.#job;
    const step = async () => {
      try {
        return await this.#step();
      } catch (error) {
        // Scheduled times that pass before the retry are missed.
        this.#idleSince = Number.POSITIVE_INFINITY;
        throw error;
      }
    };
    const onFailure = (error: unknown) =>
      log.error({ job: name, brand, err: error }, "cannot follow the schedule; retrying");
    await repeat(step, { signal, retryMs: errorPauseMs, onFailure });
  }

  /** @param turn the slot that the job waited for */
  async #step(turn?: Disposable): Promise<number | undefined> {
    const { name, brand, plan } = this.#job;
    const { database, signal, slots, isSuspended } = this.#context;
    const now = Date.parse(await readNow(database));
    // The clock may have been set back.
    this.#begun = Math.min(this.#begun, now);
    this.#idleSince = Math.min(this.#idleSince, now);
    const earliest = await this.#findEarliest();
    if (earliest === undefined) return pausedPauseMs;
    const newest = await findLastScheduledRun(database, name, brand);
    if (newest !== undefined && isAhead(newest.startedAt, now)) this.#reportAhead(newest, now);
    const last = isLater(this.#repeated, newest, now) ? this.#repeated : newest;
    const due = nextRun(plan, last, this.#begun, now, earliest, this.#idleSince);
    if (due.at > now) return Math.min(due.at - now, maxPauseMs);
    if (isSuspended()) return undefined;
    const scheduledAt = new Date(due.scheduledAt).toISOString();
    if ((await findRunUnderWay(database, name, brand)) === undefined) {
      using slot = turn ?? slots.tryTake();
      if (slot === undefined) {
        using next = await slots.take(signal);
        // Another run may be due by now.
        return next === undefined ? 0 : await this.#step(next);
      }
      const basis = { newest: newest?.id ?? 0, isFirst: false, wasRunning: false };
      const claim = { job: name, brand, scheduledAt, attempt: due.attempt, basis };
      if (await claimAndRun(this.#job, claim, this.#context, describeMissed(plan, due))) {
        this.#onRun();
        return 0;
      }
    } else {
      // Scheduled times that pass during a manual run are missed, too.
      this.#idleSince = Number.POSITIVE_INFINITY;
    }
    this.#repeated = await findLastAttempt(database, name, brand, scheduledAt);
    return runningPauseMs;
  }

  /** @returns when the job got its schedule or was last resumed; undefined while it is paused */
  async #findEarliest(): Promise<number | undefined> {
    const { name, brand, plan } = this.#job;
    const { database } = this.#context;
    this.#scheduled ??= Date.parse(await recordSchedule(database, name, brand, describeSchedule(plan.schedule)));
    const jobPause = await findPause(database, name, brand);
    if (jobPause === undefined) return this.#scheduled;
    return jobPause.resumedAt === null ? undefined : Math.max(this.#scheduled, Date.parse(jobPause.resumedAt));
  }

  /** Reports a run once. After a wrong clock was corrected, the schedule continues from now. */
  #reportAhead(run: Run, now: number): void {
    if (run.id === this.#reportedAhead) return;
    this.#reportedAhead = run.id;
    const { name, brand } = this.#job;
    const fields = { job: name, brand, run: run.id, startedAt: run.startedAt };
    this.#context.log.warn(fields, "the last run is in the future: the clock was set back");
    if (isWrong(run, now)) this.#begun = this.#idleSince = now;
  }
}

function isLater(run: Run | undefined, newest: Run | undefined, now: number): boolean {
  if (run === undefined || newest === undefined) return run !== undefined;
  return isWrong(newest, now) || (run.scheduledAt ?? "") > (newest.scheduledAt ?? "");
}

/**
 * Call it with a slot: until a run is claimed, another replica can run the job.
 * @param missed the scheduled times that passed without a run
 * @returns true after the run has finished; false if the claim was refused
 */
async function claimAndRun(
  job: PlannedJob,
  claim: Claim,
  context: SchedulingContext,
  missed?: string,
): Promise<boolean> {
  const { database, config, log } = context;
  if (context.isSuspended()) return false;
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
 * Ends transactions of abandoned runs, because they block other runs. Forgets removed schedules, so
 * that a job that gets one again has missed nothing.
 */
async function cleanUp(jobs: readonly PlannedJob[], context: SchedulingContext): Promise<void> {
  const { database, signal, log, removeLeftovers, isSuspended } = context;
  // A replica without jobs only serves, and does not know which jobs have a schedule.
  let isForgotten = jobs.length === 0;
  let known = "";
  let leftoversCheckedAt = Number.NEGATIVE_INFINITY;
  for (; !signal.aborted; await pause(lostPauseMs, signal)) {
    if (isSuspended()) return;
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
