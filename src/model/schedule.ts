/** When something is to happen again and again. Instants are epoch milliseconds. */
export interface Schedule {
  /** The cron expression it was made from. */
  readonly expression: string;
  readonly timeZone: string;
  /** The first instant after another. */
  next(after: number): number;
  /** The last instant after `after` that is not later than `until`; undefined when there is none. */
  latest(after: number, until: number): number | undefined;
}

/** A time as a clock on the wall shows it, in milliseconds as if that clock were in UTC. */
type WallTime = number;

const secondMs = 1000;
const minuteMs = 60_000;

/**
 * Reads a cron expression: five fields (minute, hour, day, month, weekday), six with the second first, or a nickname such as `@daily`.
 *
 * Where the zone's clocks change, times of the day happen once: one that comes twice the first time, and one that does not come
 * at the instant of the change. An expression for every hour (`*` as its hour) follows real time instead: it stays as frequent as it is.
 * @throws Error when the expression is none or never comes true, or when the zone is unknown.
 */
export function parseSchedule(expression: string, timeZone: string): Schedule {
  const nextWall = parseExpression(expression);
  const zone = toZone(timeZone);
  const next = isForEveryHour(expression)
    ? (after: number) => nextInRealTime(nextWall, zone(after))
    : (after: number) => nextOfTheDay(nextWall, zone(after));
  return { expression, timeZone, next, latest: (after, until) => latest(next, after, until) };
}

function toZone(timeZone: string): (instant: number) => Temporal.ZonedDateTime {
  try {
    const epoch = new Temporal.ZonedDateTime(0n, timeZone);
    return (instant) => epoch.add({ milliseconds: instant });
  } catch (cause) {
    throw new Error(`there is no time zone ${JSON.stringify(timeZone)}; one is America/New_York`, { cause });
  }
}

/** @returns a function from a time on the wall to the next one that the expression means */
function parseExpression(expression: string): (after: WallTime) => WallTime {
  const [seconds, minutes] = splitExpression(expression);
  const nextMinute = (after: number) => Bun.cron.parse(minutes, after, { tz: "UTC" })?.getTime();
  // The runtime's expressions have no seconds; a minute's seconds are to them what an hour's minutes are.
  const scale = minuteMs / secondMs;
  const nextSecond = (after: number) =>
    (Bun.cron.parse(`${seconds} * * * *`, after * scale, { tz: "UTC" })?.getTime() ?? Number.NaN) / scale;
  const nextWall = (after: WallTime) => {
    const minute = Math.floor(after / minuteMs) * minuteMs;
    const second = nextMinute(minute - 1) === minute ? nextSecond(after - minute) : minuteMs;
    if (second < minuteMs) return minute + second;
    const following = nextMinute(minute);
    if (following === undefined) throw new Error("never comes true");
    return following + nextSecond(-1);
  };
  try {
    nextWall(0);
    return nextWall;
  } catch (cause) {
    const reason = (cause as Error).message.replace("Invalid cron expression: ", "").replace(/(\.| —) .*/, "");
    throw new Error(
      `expected a cron expression, minute hour day month weekday, with the second first if you like: ${reason}`,
      { cause },
    );
  }
}

/** The field of the seconds, and the expression without it. */
function splitExpression(expression: string): [string, string] {
  const fields = expression.trim().split(/\s+/);
  return fields.length === 6 ? [fields[0] ?? "", fields.slice(1).join(" ")] : ["0", fields.join(" ")];
}

function isForEveryHour(expression: string): boolean {
  const [, minutes] = splitExpression(expression);
  return minutes.split(" ")[1] === "*" || minutes.toLowerCase() === "@hourly";
}

const wallOf = (time: Temporal.ZonedDateTime): WallTime => time.epochMilliseconds + time.offsetNanoseconds / 1e6;

/** Every instant at which the clock on the wall shows what is meant. */
function nextInRealTime(nextWall: (after: WallTime) => WallTime, after: Temporal.ZonedDateTime): number {
  let time = after;
  let wall = wallOf(after);
  for (;;) {
    const next = nextWall(wall) - time.offsetNanoseconds / 1e6;
    const change = time.getTimeZoneTransition("next");
    if (change === null || next < change.epochMilliseconds) return next;
    time = change;
    // The instant of the change may itself be meant.
    wall = wallOf(change) - 1;
  }
}

/** Every time of a day at one instant. */
function nextOfTheDay(nextWall: (after: WallTime) => WallTime, after: Temporal.ZonedDateTime): number {
  let wall = wallOf(after);
  for (;;) {
    wall = nextWall(wall);
    const next = toInstant(wall, after.timeZoneId);
    // Not so for a time that came before already, or that does not come and is over with the change.
    if (next > after.epochMilliseconds) return next;
  }
}

/** The first instant at which a clock shows the time; the change that leaves it out when none does. */
function toInstant(wall: WallTime, timeZone: string): number {
  const time = new Temporal.ZonedDateTime(BigInt(wall) * 1_000_000n, "UTC").toPlainDateTime();
  const instant = time.toZonedDateTime(timeZone, { disambiguation: "compatible" });
  if (wallOf(instant) === wall) return instant.epochMilliseconds;
  // What came before a millisecond later came before this instant or at it.
  const change = instant.add({ milliseconds: 1 }).getTimeZoneTransition("previous");
  return (change ?? instant).epochMilliseconds;
}

/** Halves the time in which it must be: however long that is, and however many instants are in it, few of them are looked at. */
function latest(next: (after: number) => number, after: number, until: number): number | undefined {
  let last: number | undefined;
  let [from, to] = [after, until];
  // What comes next after an instant is no later than `until` as long as the instant is before the last one.
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
