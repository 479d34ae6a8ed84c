import { findTimeZone, type TimeZone } from "../base/time-zone.ts";

/** Instants are epoch milliseconds. */
export interface Schedule {
  readonly expression: string;
  readonly timeZone: string;
  /** Whether it runs in every hour, and so follows elapsed time. */
  readonly isForEveryHour: boolean;
  next(after: number): number;
  /** The last time in the interval, which includes only `until`; undefined if there is none. */
  latest(after: number, until: number): number | undefined;
}

/** Milliseconds as if the local time were UTC. */
type LocalTime = number;

const secondMs = 1000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const maxOffsetMs = 24 * 60 * minuteMs;

/**
 * Parses a cron expression: five fields (minute, hour, day, month, weekday), six with the second
 * first, or a nickname such as `@daily`.
 *
 * When clocks change, a time of day still occurs once. A repeated time counts the first time; a
 * skipped time counts at the change. An expression for every hour (such as `*` or `0-23` as its hour)
 * follows elapsed time and keeps its frequency.
 * @throws Error if the expression is invalid or never matches, or if the time zone is unknown
 */
export function parseSchedule(expression: string, timeZone: string): Schedule {
  const nextLocal = parseExpression(expression);
  const zone = findTimeZone(timeZone);
  if (zone === undefined) {
    throw new Error(`unknown time zone ${JSON.stringify(timeZone)}; expected a name such as America/New_York`);
  }
  const isForEveryHour = hasEveryHour(expression);
  const nextAfter = isForEveryHour ? nextInElapsedTime : nextTimeOfDay;
  const next = (after: number) => nextAfter(nextLocal, zone, after);
  return { expression, timeZone, isForEveryHour, next, latest: (after, until) => latest(next, after, until) };
}

function parseExpression(expression: string): NextLocal {
  const [seconds, minutes] = splitExpression(expression);
  // For a time zone, the runtime moves skipped times by the gap, and runs repeated times only once.
  const nextMinute = (after: number) => Bun.cron.parse(minutes, after, { tz: "UTC" })?.getTime();
  // The runtime does not support seconds, so their field is evaluated as one for minutes.
  const scale = minuteMs / secondMs;
  const nextSecond = (after: number) =>
    (Bun.cron.parse(`${seconds} * * * *`, after * scale, { tz: "UTC" })?.getTime() ?? Number.NaN) / scale;
  const nextLocal = (after: LocalTime) => {
    const minute = Math.floor(after / minuteMs) * minuteMs;
    const second = nextMinute(minute - 1) === minute ? nextSecond(after - minute) : minuteMs;
    if (second < minuteMs) return minute + second;
    const following = nextMinute(minute);
    if (following === undefined) throw new Error("never matches");
    return following + nextSecond(-1);
  };
  try {
    checkSteps(expression);
    nextLocal(0);
    return nextLocal;
  } catch (cause) {
    const reason = (cause as Error).message.replace("Invalid cron expression: ", "").replace(/(\.| —) .*/, "");
    throw new Error(
      `expected a cron expression (minute hour day month weekday, optionally preceded by second): ${reason}`,
      { cause },
    );
  }
}

/** Upper limits of the fields, last field first. A larger step would have no effect. */
const fieldSizes = [7, 12, 31, 24, 60, 60];

function checkSteps(expression: string): void {
  for (const [index, field] of expression.trim().split(/\s+/).toReversed().entries()) {
    const step = field.match(/\/(\d+)/)?.[1];
    if (Number(step ?? 0) > (fieldSizes[index] ?? 0)) throw new Error(`a step of ${step} in ${field} is too large`);
  }
}

function splitExpression(expression: string): [string, string] {
  const fields = expression.trim().split(/\s+/);
  return fields.length === 6 ? [fields[0] ?? "", fields.slice(1).join(" ")] : ["0", fields.join(" ")];
}

function hasEveryHour(expression: string): boolean {
  const [, minutes] = splitExpression(expression);
  if (minutes.startsWith("@")) return minutes.toLowerCase() === "@hourly";
  const nextHour = (after: number) => Bun.cron.parse(`0 ${minutes.split(" ")[1]} * * *`, after, { tz: "UTC" });
  return Array.from({ length: 24 }, (_, hour) => hour * hourMs).every((at) => nextHour(at - 1)?.getTime() === at);
}

type NextLocal = (after: LocalTime) => LocalTime;

/** Repeated local times count twice. */
function nextInElapsedTime(nextLocal: NextLocal, zone: TimeZone, after: number): number {
  let { offsetMs, until } = zone(after);
  let local = after + offsetMs;
  for (;;) {
    const next = nextLocal(local) - offsetMs;
    if (next < until) return next;
    const change = until;
    ({ offsetMs, until } = zone(change));
    // The instant of the change may match, too.
    local = change + offsetMs - 1;
  }
}

/** Each time of day counts once a day. */
function nextTimeOfDay(nextLocal: NextLocal, zone: TimeZone, after: number): number {
  let local = after + zone(after).offsetMs;
  for (;;) {
    local = nextLocal(local);
    const next = toInstant(local, zone);
    // A repeated time that has occurred, or a skipped time before the change, is in the past.
    if (next > after) return next;
  }
}

/** If a clock change skips the local time, returns the change. */
function toInstant(local: LocalTime, zone: TimeZone): number {
  for (let period = zone(local - maxOffsetMs); ; period = zone(period.until)) {
    const instant = local - period.offsetMs;
    if (instant < period.until) return Math.max(instant, period.from);
  }
}

/** Uses bisection, because a long period may contain many instants. */
function latest(next: (after: number) => number, after: number, until: number): number | undefined {
  let last: number | undefined;
  let [from, to] = [after, until];
  // `next(instant)` is not later than `until` exactly for instants before the last match.
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const instant = next(middle);
    if (instant <= until) {
      last = instant;
      from = instant;
    } else {
      to = middle;
    }
  }
  return last;
}
