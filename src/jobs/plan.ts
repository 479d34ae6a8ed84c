import { clockToleranceSeconds } from "./clock.ts";
import { noSchedule, type PlanOptions } from "./options.ts";
import { awaitedStepSeconds, type Run } from "./run.ts";
import { parseSchedule, type Schedule } from "./schedule.ts";

export interface PingUrls {
  readonly start?: string | undefined;
  readonly success?: string | undefined;
  readonly failure?: string | undefined;
}

export interface Plan {
  readonly schedule: Schedule | undefined;
  readonly limitSeconds: number;
  readonly retries: number;
  readonly retryMs: number;
  readonly missed: PlanOptions["missed"];
  /** By default, the schedule decides. */
  readonly staleMs: number | undefined;
  readonly ping: PingUrls;
}

export const describeSchedule = ({ expression, timeZone }: Schedule) => `${expression} ${timeZone}`;

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
    ping: toPingUrls(options.ping),
  };
}

/** The convention of Healthchecks. */
function toPingUrls(ping: PlanOptions["ping"]): PingUrls {
  if (typeof ping !== "string") return ping ?? {};
  const append = (segment: string) => {
    const url = new URL(ping);
    url.pathname = `${url.pathname.replace(/\/$/, "")}/${segment}`;
    return url.href;
  };
  return { start: append("start"), success: ping, failure: append("fail") };
}

/** Times are epoch milliseconds. A retry of the last run counts, too. */
export interface DueRun {
  /** May be in the past. */
  readonly at: number;
  readonly scheduledAt: number;
  readonly attempt: number;
  /** Scheduled times after this one count. */
  readonly after: number;
}

/**
 * Decides which run is next. All replicas come to the same result, so they compete for one claim.
 * @param newest the last claimed run of the schedule; ignored if it is far in the future
 * @param begun when this process began to schedule; without a last run, earlier times don't count
 * @param earliest when the job was last resumed or got this schedule; earlier times don't count
 * @param idleSince when the job last became able to run here; earlier times are missed
 */
export function nextRun(
  plan: ScheduledPlan,
  newest: Run | undefined,
  begun: number,
  now: number,
  earliest = Number.NEGATIVE_INFINITY,
  idleSince = begun,
): DueRun {
  const since = Math.min(begun, now);
  // A wrong clock may have been used for the resumption, too.
  const from = earliest - now > awaitedStepMs ? Number.NEGATIVE_INFINITY : earliest;
  const last = newest !== undefined && isWrong(newest, now) ? undefined : newest;
  const after = Math.max(last === undefined ? since : Date.parse(last.scheduledAt ?? ""), from);
  const next = nextTime(plan, last, after, Math.min(idleSince, now), now);
  const due = { at: next, scheduledAt: next, attempt: 1, after };
  if (last === undefined || next <= now) return due;
  const retryAt = Date.parse(last.finishedAt ?? "") < from ? undefined : retryTime(plan, last);
  return retryAt !== undefined && retryAt < next
    ? { at: retryAt, scheduledAt: Date.parse(last.scheduledAt ?? ""), attempt: last.attempt + 1, after }
    : due;
}

export function describeMissed({ schedule }: ScheduledPlan, { after, scheduledAt }: DueRun): string | undefined {
  const first = schedule.next(after);
  if (first >= scheduledAt) return undefined;
  const last = schedule.latest(first, scheduledAt - 1);
  const [from, to] = [first, last ?? first].map((at) => new Date(at).toISOString());
  return last === undefined
    ? `no run at the scheduled time ${from}`
    : `no run at the scheduled times from ${from} to ${to}`;
}

const awaitedStepMs = awaitedStepSeconds * 1000;

/** Whether a wrong clock scheduled a run, so that the schedule does not wait for its time. */
export const isWrong = ({ scheduledAt }: Run, now: number) => Date.parse(scheduledAt ?? "") - now > awaitedStepMs;

/** Whether a stored time is so far in the future that the clock must have been set back since. */
export const isAhead = (instant: string, now: number) => Date.parse(instant) - now > clockToleranceSeconds * 1000;

const slowFactor = 3;
const slowMs = 10 * 60_000;

/** A run is slow if it takes over ten minutes, and over three times as long as the longest other one. */
export function isSlow(
  running: Pick<Run, "startedAt">,
  succeeded: readonly { readonly startedAt: string; readonly finishedAt: string }[],
  now: number,
): boolean {
  const durations = succeeded.map(({ startedAt, finishedAt }) => Date.parse(finishedAt) - Date.parse(startedAt));
  return (
    durations.length > 0 && now - Date.parse(running.startedAt) > Math.max(slowMs, slowFactor * Math.max(...durations))
  );
}

/**
 * Decides when a job that has never succeeded runs, regardless of its schedule.
 * @param newest the newest run, even if it is in progress
 * @param since when this process began, ISO 8601; earlier failures do not count
 * @returns undefined when the schedule has taken over, or no retry is left
 */
export function nextFirstRun(
  plan: Plan,
  newest: Run | undefined,
  since: string,
): Pick<DueRun, "at" | "attempt"> | undefined {
  if (newest === undefined || (newest.finishedAt ?? since) < since) return { at: 0, attempt: 1 };
  if (newest.finishedAt !== null && newest.cancelled !== null) return undefined;
  // Its machine may be lost. If it is alive, the claim is refused.
  if (newest.finishedAt === null || newest.outcome === "abandoned") return { at: 0, attempt: newest.attempt };
  const at = newest.scheduledAt === null ? retryTime(plan, newest) : undefined;
  return at === undefined ? undefined : { at, attempt: newest.attempt + 1 };
}

function nextTime(
  { schedule, missed }: ScheduledPlan,
  last: Run | undefined,
  lastTime: number,
  idleSince: number,
  now: number,
): number {
  if (missed === "skip") {
    const finished = last === undefined ? idleSince : last.finishedAt === null ? now : Date.parse(last.finishedAt);
    return schedule.next(Math.max(lastTime, finished, idleSince));
  }
  return (missed === "once" ? schedule.latest(lastTime, now) : undefined) ?? schedule.next(lastTime);
}

function retryTime({ retries, retryMs }: Plan, { finishedAt, outcome, attempt, cancelled }: Run): number | undefined {
  if (finishedAt === null || outcome === "succeeded" || cancelled !== null || attempt > retries) return undefined;
  return Date.parse(finishedAt) + retryMs;
}

/**
 * Whether a job's last success is too old: by default, if the job has been due twice since. A run
 * that started by the second time and is still running counts as in time.
 * @param lastSuccess the later of the last success and the end of the last pause
 * @param runningSince undefined while the job is not running
 */
export function isStale(
  { schedule, staleMs }: Plan,
  lastSuccess: number,
  runningSince: number | undefined,
  now: number,
): boolean {
  if (staleMs !== undefined) return now - lastSuccess > staleMs;
  if (schedule === undefined) return false;
  const secondDue = schedule.next(schedule.next(lastSuccess));
  return now > secondDue && !(runningSince !== undefined && runningSince <= secondDue);
}
