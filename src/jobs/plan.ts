import { noSchedule, type PlanOptions } from "../config/jobs.ts";
import type { Run } from "../model/job.ts";
import { parseSchedule, type Schedule } from "../model/schedule.ts";

/** Where an outside monitor is told of a run. */
export interface PingAddresses {
  readonly start?: string | undefined;
  readonly success?: string | undefined;
  readonly failure?: string | undefined;
}

/** When and how a job is run. */
export interface Plan {
  /** Undefined: only when it is asked to. */
  readonly schedule: Schedule | undefined;
  readonly limitSeconds: number;
  readonly retries: number;
  readonly retryMs: number;
  readonly missed: PlanOptions["missed"];
  /** How long ago its last success may be; undefined: as the schedule has it. */
  readonly staleMs: number | undefined;
  readonly ping: PingAddresses;
}

export type ScheduledPlan = Plan & { readonly schedule: Schedule };

export function toPlan(options: PlanOptions): Plan {
  const { schedule = noSchedule } = options;
  return {
    schedule: schedule === noSchedule ? undefined : parseSchedule(schedule, options.time_zone),
    limitSeconds: options.limit_seconds,
    retries: options.retries,
    retryMs: options.retry_seconds * 1000,
    missed: options.missed,
    staleMs: options.stale_seconds === undefined ? undefined : options.stale_seconds * 1000,
    ping: toPingAddresses(options.ping),
  };
}

/** One address stands for three, as the well-known monitors have it. */
function toPingAddresses(ping: PlanOptions["ping"]): PingAddresses {
  if (typeof ping !== "string") return ping ?? {};
  const below = (word: string) => {
    const url = new URL(ping);
    url.pathname = `${url.pathname.replace(/\/$/, "")}/${word}`;
    return url.href;
  };
  return { start: below("start"), success: ping, failure: below("fail") };
}

/** What is to be run next: a time of the schedule, or one more attempt at the last. Instants are epoch milliseconds. */
export interface Due {
  /** When it can begin; it may be past. */
  readonly at: number;
  readonly scheduledAt: number;
  readonly attempt: number;
}

/**
 * What follows upon the run that the schedule last started. Everyone who asks the same store gets the same answer, so that it is
 * claimed once.
 * @param last undefined when there is none yet: then times count from `since`
 * @param since when whoever asks began to look
 */
export function dueAfter(plan: ScheduledPlan, last: Run | undefined, since: number, now: number): Due {
  const next = nextTime(plan, last, since, now);
  if (last === undefined || next <= now) return { at: next, scheduledAt: next, attempt: 1 };
  const retryAt = retryTime(plan, last);
  return retryAt !== undefined && retryAt < next
    ? { at: retryAt, scheduledAt: Date.parse(last.scheduledAt ?? ""), attempt: last.attempt + 1 }
    : { at: next, scheduledAt: next, attempt: 1 };
}

function nextTime({ schedule, missed }: ScheduledPlan, last: Run | undefined, since: number, now: number): number {
  const lastTime = last === undefined ? since : Date.parse(last.scheduledAt ?? "");
  if (missed === "skip") {
    const ended = last === undefined ? since : last.finishedAt === null ? now : Date.parse(last.finishedAt);
    return schedule.next(Math.max(lastTime, ended, since));
  }
  return (missed === "once" ? schedule.latest(lastTime, now) : undefined) ?? schedule.next(lastTime);
}

function retryTime({ retries, retryMs }: Plan, { finishedAt, outcome, attempt }: Run): number | undefined {
  if (finishedAt === null || outcome === "succeeded" || attempt > retries) return undefined;
  return Date.parse(finishedAt) + retryMs;
}

/**
 * Whether a job's last success is too long ago: by default when it has been due twice since, unless a run that began by then is still
 * under way.
 * @param runningSince undefined when it is not under way
 */
export function isStale(
  { schedule, staleMs }: Plan,
  lastSuccess: number,
  runningSince: number | undefined,
  now: number,
): boolean {
  if (staleMs !== undefined) return now - lastSuccess > staleMs;
  if (schedule === undefined) return false;
  const dueTwice = schedule.next(schedule.next(lastSuccess));
  return now > dueTwice && !(runningSince !== undefined && runningSince <= dueTwice);
}
