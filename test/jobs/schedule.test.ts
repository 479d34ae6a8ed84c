import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { parseSchedule, type Schedule } from "../../src/jobs/schedule.ts";

const instant = (text: string) => Date.parse(text);
/** As the tables write it: in UTC, with seconds only where there are some. */
const toText = (at: number) => new Date(at).toISOString().replace(/(:00)?\.000Z$/, "Z");

function walk(
  { next }: Schedule,
  after: number,
  { count = Number.POSITIVE_INFINITY, until = Number.POSITIVE_INFINITY },
) {
  const instants: number[] = [];
  for (let at = next(after); at <= until && instants.length < count; at = next(at)) instants.push(at);
  return instants;
}

/** What a row is about, an expression, from when on, and the next instants. */
type Row = readonly [about: string, expression: string, from: string, instants: readonly string[]];

/**
 * The clocks of the zone are the subject; every instant is written in UTC, the local time beside it
 * where the clocks change.
 */
function expectNext(timeZone: string, rows: readonly Row[]) {
  test.each(rows.map((row) => [...row]) as [...Row][])("%s: %j after %s", (_about, expression, from, instants) => {
    const schedule = parseSchedule(expression, timeZone);
    expect(walk(schedule, instant(from), { count: instants.length }).map(toText)).toEqual([...instants]);
  });
}

describe("a schedule without a change of clocks", () => {
  expectNext("UTC", [
    ["one time of the day", "30 6 * * *", "2026-06-01T00:00Z", ["2026-06-01T06:30Z", "2026-06-02T06:30Z"]],
    ["is strictly after", "30 6 * * *", "2026-06-01T06:30Z", ["2026-06-02T06:30Z"]],
    ["by a millisecond", "30 6 * * *", "2026-06-01T06:29:59.999Z", ["2026-06-01T06:30Z"]],
    ["not rounded", "30 6 * * *", "2026-06-01T06:30:00.001Z", ["2026-06-02T06:30Z"]],
    ["any spaces", " 30\t6  * * * ", "2026-06-01T00:00Z", ["2026-06-01T06:30Z"]],
    ["lists", "5,10 6,7 * * *", "2026-06-01T06:07Z", ["2026-06-01T06:10Z", "2026-06-01T07:05Z", "2026-06-01T07:10Z"]],
    ["a range", "0 8-9 * * *", "2026-06-01T00:00Z", ["2026-06-01T08:00Z", "2026-06-01T09:00Z", "2026-06-02T08:00Z"]],
    ["steps", "*/25 * * * *", "2026-06-01T00:00Z", ["2026-06-01T00:25Z", "2026-06-01T00:50Z", "2026-06-01T01:00Z"]],
    ["steps of a range", "10-30/20 5 * * *", "2026-06-01T05:10Z", ["2026-06-01T05:30Z", "2026-06-02T05:10Z"]],
    ["names of months and days", "0 0 * jan MON", "2026-06-01T00:00Z", ["2027-01-04T00:00Z", "2027-01-11T00:00Z"]],
    ["Sunday as 0", "0 0 * * 0", "2026-06-01T00:00Z", ["2026-06-07T00:00Z"]],
    ["Sunday as 7", "0 0 * * 7", "2026-06-01T00:00Z", ["2026-06-07T00:00Z"]],
    // 2026-06-05 is a Friday: either of them will do.
    ["a day or a weekday", "0 0 3 * FRI", "2026-06-01T00:00Z", ["2026-06-03T00:00Z", "2026-06-05T00:00Z"]],
    ["a leap day", "0 0 29 2 *", "2026-06-01T00:00Z", ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]],
    ["the turn of the year", "59 23 31 12 *", "2026-06-01T00:00Z", ["2026-12-31T23:59Z", "2027-12-31T23:59Z"]],
    ["a second", "15 30 6 * * *", "2026-06-01T06:30Z", ["2026-06-01T06:30:15Z", "2026-06-02T06:30:15Z"]],
    ["every second", "* * * * * *", "2026-06-01T00:00:58.5Z", ["2026-06-01T00:00:59Z", "2026-06-01T00:01Z"]],
    ["a list of seconds", "5,50 * * * * *", "2026-06-01T00:00:05Z", ["2026-06-01T00:00:50Z", "2026-06-01T00:01:05Z"]],
    // Where a clock stands that was never set, west of Greenwich.
    ["before 1970", "50 */2 * * * *", "1969-12-31T23:57:30Z", ["1969-12-31T23:58:50Z", "1970-01-01T00:00:50Z"]],
    ["from within a minute before 1970", "50 */2 * * * *", "1969-12-31T23:58:30Z", ["1969-12-31T23:58:50Z"]],
    ["@hourly", "@hourly", "2026-06-01T00:00Z", ["2026-06-01T01:00Z", "2026-06-01T02:00Z"]],
    ["@daily", "@daily", "2026-06-01T00:00Z", ["2026-06-02T00:00Z", "2026-06-03T00:00Z"]],
    ["@midnight", "@midnight", "2026-06-01T00:00Z", ["2026-06-02T00:00Z", "2026-06-03T00:00Z"]],
    ["@weekly", "@weekly", "2026-06-01T00:00Z", ["2026-06-07T00:00Z", "2026-06-14T00:00Z"]],
    ["@monthly", "@monthly", "2026-06-01T00:00Z", ["2026-07-01T00:00Z", "2026-08-01T00:00Z"]],
    ["@yearly", "@yearly", "2026-06-01T00:00Z", ["2027-01-01T00:00Z", "2028-01-01T00:00Z"]],
    ["@annually", "@annually", "2026-06-01T00:00Z", ["2027-01-01T00:00Z", "2028-01-01T00:00Z"]],
    ["capitals", "@Daily", "2026-06-01T00:00Z", ["2026-06-02T00:00Z"]],
  ]);

  test("keeps the expression that it was made from", () => {
    expect(parseSchedule("@daily", "Europe/Berlin")).toMatchObject({ expression: "@daily", timeZone: "Europe/Berlin" });
  });
});

// 01:59 EST (06:59Z) is followed by 03:00 EDT (07:00Z); days are EST = UTC-5 before, EDT = UTC-4
// after.
describe("in America/New_York on 2026-03-08, from 02:00 to 03:00 at once", () => {
  expectNext("America/New_York", [
    // Times of the day.
    ["where it begins", "0 2 * * *", "2026-03-08T05:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:00Z"]], // 03:00, 02:00 EDT
    ["within", "30 2 * * *", "2026-03-08T05:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:30Z"]], // 03:00, 02:30 EDT
    ["several within run once", "*/15 2 * * *", "2026-03-08T05:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:00Z"]],
    [
      "a range of hours",
      "30 1-3 * * *",
      "2026-03-08T05:00Z",
      // 01:30 EST, 03:00 EDT for 02:30, 03:30 EDT
      ["2026-03-08T06:30Z", "2026-03-08T07:00Z", "2026-03-08T07:30Z", "2026-03-09T05:30Z"],
    ],
    // In 2027 the clocks change on the 14th: 02:30 EST on the 8th.
    ["that day of the year", "30 2 8 3 *", "2026-03-01T05:00Z", ["2026-03-08T07:00Z", "2027-03-08T07:30Z"]],
    ["a second within", "15 30 2 * * *", "2026-03-08T05:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:30:15Z"]],
    ["from at the change", "30 2 * * *", "2026-03-08T07:00Z", ["2026-03-09T06:30Z"]],
    // Every hour.
    ["every hour", "0 * * * *", "2026-03-08T05:00Z", ["2026-03-08T06:00Z", "2026-03-08T07:00Z", "2026-03-08T08:00Z"]],
    // 01:30 EST, 03:30 EDT: nothing more for 02:30.
    ["every half past", "30 * * * *", "2026-03-08T06:00Z", ["2026-03-08T06:30Z", "2026-03-08T07:30Z"]],
  ]);
});

// 01:59 EDT (05:59Z) is followed by 01:00 EST (06:00Z): 01:00 to 02:00 is 05:00Z to 06:00Z and
// again 06:00Z to 07:00Z.
describe("in America/New_York on 2026-11-01, from 02:00 back to 01:00", () => {
  expectNext("America/New_York", [
    // Times of the day.
    ["where it begins", "0 1 * * *", "2026-11-01T04:00Z", ["2026-11-01T05:00Z", "2026-11-02T06:00Z"]], // 01:00 EDT, 01:00 EST
    ["within", "30 1 * * *", "2026-11-01T04:00Z", ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]], // 01:30 EDT, 01:30 EST
    ["from between the two", "30 1 * * *", "2026-11-01T05:45Z", ["2026-11-02T06:30Z"]],
    ["from in the second pass", "30 1 * * *", "2026-11-01T06:10Z", ["2026-11-02T06:30Z"]],
    // Every hour.
    ["every hour", "0 * * * *", "2026-11-01T04:00Z", ["2026-11-01T05:00Z", "2026-11-01T06:00Z", "2026-11-01T07:00Z"]],
    [
      "every hour as two ranges",
      "0 0-11,12-23 * * *",
      "2026-11-01T04:00Z",
      ["2026-11-01T05:00Z", "2026-11-01T06:00Z", "2026-11-01T07:00Z"],
    ],
    ["all hours but one", "0 1-23 * * *", "2026-11-01T04:00Z", ["2026-11-01T05:00Z", "2026-11-01T07:00Z"]],
    ["in capitals", "@HOURLY", "2026-11-01T05:00Z", ["2026-11-01T06:00Z", "2026-11-01T07:00Z"]],
    ["with any spaces", " 0\t*  * * *", "2026-11-01T05:00Z", ["2026-11-01T06:00Z", "2026-11-01T07:00Z"]],
    ["@hourly", "@hourly", "2026-11-01T04:00Z", ["2026-11-01T05:00Z", "2026-11-01T06:00Z", "2026-11-01T07:00Z"]],
    ["from in the second pass", "*/30 * * * *", "2026-11-01T06:10Z", ["2026-11-01T06:30Z", "2026-11-01T07:00Z"]],
  ]);
});

// 2026-03-28 23:59 EET (21:59Z) is followed by 2026-03-29 01:00 EEST (22:00Z).
// 2026-10-24 23:59 EEST (20:59Z) is followed by 23:00 EET (21:00Z): the last hour of that day comes
// twice.
describe("in Asia/Beirut, where clocks change at the end of a day", () => {
  expectNext("Asia/Beirut", [
    ["no midnight", "@daily", "2026-03-27T22:00Z", ["2026-03-28T22:00Z", "2026-03-29T21:00Z"]], // 01:00, 00:00 EEST
    [
      "one midnight after an hour that comes twice",
      "@daily",
      "2026-10-24T12:00Z",
      ["2026-10-24T22:00Z", "2026-10-25T22:00Z"],
    ],
    ["every hour", "0 * * * *", "2026-10-24T19:00Z", ["2026-10-24T20:00Z", "2026-10-24T21:00Z", "2026-10-24T22:00Z"]],
  ]);
});

// It has stayed at UTC-7 since the summer of 2026.
describe("in America/Vancouver, which decided in 2026", () => {
  expectNext("America/Vancouver", [
    ["before", "0 6 * * *", "2025-11-20T00:00Z", ["2025-11-20T14:00Z"]],
    ["after", "0 6 * * *", "2026-11-20T00:00Z", ["2026-11-20T13:00Z", "2026-11-21T13:00Z"]],
  ]);
});

/**
 * Changes of clocks: back and forth, by an hour, half an hour, two hours and a day, at night and at
 * midnight.
 */
const changes = [
  { timeZone: "America/New_York", at: instant("2026-03-08T07:00Z") },
  { timeZone: "America/New_York", at: instant("2026-11-01T06:00Z") },
  { timeZone: "Europe/Berlin", at: instant("2026-03-29T01:00Z") },
  { timeZone: "Europe/Berlin", at: instant("2026-10-25T01:00Z") },
  { timeZone: "Australia/Lord_Howe", at: instant("2026-04-04T15:00Z") },
  { timeZone: "Australia/Lord_Howe", at: instant("2026-10-03T15:30Z") },
  { timeZone: "America/Havana", at: instant("2026-03-08T05:00Z") },
  { timeZone: "America/Havana", at: instant("2020-11-01T05:00Z") },
  { timeZone: "Antarctica/Troll", at: instant("2026-03-29T01:00Z") },
  { timeZone: "Antarctica/Troll", at: instant("2026-10-25T01:00Z") },
  { timeZone: "Pacific/Apia", at: instant("2011-12-30T10:00Z") },
] as const;
type Change = (typeof changes)[number];

const [secondMs, minuteMs, hourMs] = [1000, 60_000, 3_600_000];
const sideMs = 26 * hourMs;

/** What a clock on the wall shows. */
type Wall = Temporal.PlainDateTime;

/** A minute of real time, as it is shown. */
interface Minute {
  readonly at: number;
  readonly wall: Wall;
  /** Whether the same was shown before. */
  readonly isAgain: boolean;
  /** What was left out right before. */
  readonly leftOut: readonly Wall[];
}

/** Watches the clock on the wall for a little more than a day on either side of a change. */
function watch({ timeZone, at: change }: Change): Minute[] {
  const minutes: Minute[] = [];
  const shownAt = (at: number) =>
    Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone).toPlainDateTime();
  let latest = shownAt(change - sideMs - minuteMs);
  for (let at = change - sideMs; at < change + sideMs; at += minuteMs) {
    const shown = shownAt(at);
    const isAgain = Temporal.PlainDateTime.compare(shown, latest) <= 0;
    const leftOut: Wall[] = [];
    if (!isAgain) {
      for (;;) {
        latest = latest.add({ minutes: 1 });
        if (latest.equals(shown)) break;
        leftOut.push(latest);
      }
    }
    minutes.push({ at, wall: shown, isAgain, leftOut });
  }
  return minutes;
}

const watched = new Map<Change, Minute[]>();
function minutesAround(change: Change): Minute[] {
  const minutes = watched.get(change) ?? watch(change);
  watched.set(change, minutes);
  return minutes;
}

/** A field of an expression, and what it means. */
interface Field {
  readonly text: string;
  readonly values: ReadonlySet<number>;
}
type Fields = Readonly<Record<"second" | "minute" | "hour" | "day" | "month" | "weekday", Field>> & {
  readonly hasSeconds: boolean;
};

const toExpression = ({ second, minute, hour, day, month, weekday, hasSeconds }: Fields) =>
  [...(hasSeconds ? [second] : []), minute, hour, day, month, weekday].map(({ text }) => text).join(" ");

/** Says the rules once more: instant by instant, and not by way of the next one. */
function* expectedInstants(fields: Fields, change: Change, after: number): Generator<number> {
  const { second, minute, hour, day, month, weekday } = fields;
  const isDay = (wall: Wall) => {
    const [dayFits, weekdayFits] = [day.values.has(wall.day), weekday.values.has(wall.dayOfWeek % 7)];
    return day.text === "*" || weekday.text === "*" ? dayFits && weekdayFits : dayFits || weekdayFits;
  };
  const isMeant = (wall: Wall) =>
    minute.values.has(wall.minute) && hour.values.has(wall.hour) && month.values.has(wall.month) && isDay(wall);
  const followsRealTime = hour.values.size === 24;
  for (const { at, wall, isAgain, leftOut } of minutesAround(change)) {
    if (at + minuteMs <= after) continue;
    const isInstant = (isAgain ? followsRealTime : true) && isMeant(wall);
    const makesUp = !followsRealTime && leftOut.some(isMeant);
    if (!isInstant && !makesUp) continue;
    for (let place = 0; place < 60; place++) {
      const isSecond = isInstant && second.values.has(place);
      if ((isSecond || (makesUp && place === 0)) && at + place * secondMs > after) yield at + place * secondMs;
    }
  }
}

function stepsFrom(from: number, to: number, step: number): ReadonlySet<number> {
  const values = new Set<number>();
  for (let value = from; value <= to; value += step) values.add(value);
  return values;
}

/** A field from `least` to `most`, mostly of the values that are likely to matter. */
function fieldOf(least: number, most: number, likely: readonly [number, number] = [least, most]): fc.Arbitrary<Field> {
  const value = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: likely[0], max: likely[1] }) },
    { weight: 1, arbitrary: fc.integer({ min: least, max: most }) },
  );
  const step = fc.integer({ min: 1, max: most - least + 1 });
  const range = fc.tuple(value, value).map(([one, other]) => [Math.min(one, other), Math.max(one, other)] as const);
  const number = value.map((only): Field => ({ text: `${only}`, values: new Set([only]) }));
  const ranges = range.map(([from, to]): Field => ({ text: `${from}-${to}`, values: stepsFrom(from, to, 1) }));
  const steps = fc
    .tuple(range, step)
    .map(([[from, to], by]): Field => ({ text: `${from}-${to}/${by}`, values: stepsFrom(from, to, by) }));
  const piece = fc.oneof(number, ranges, steps);
  return fc.oneof(
    fc.constant({ text: "*", values: stepsFrom(least, most, 1) }),
    fc.integer({ min: 2, max: most }).map((by): Field => ({ text: `*/${by}`, values: stepsFrom(least, most, by) })),
    fc.array(piece, { minLength: 1, maxLength: 3 }).map(
      (pieces): Field => ({
        text: pieces.map(({ text }) => text).join(),
        values: new Set(pieces.flatMap(({ values }) => [...values])),
      }),
    ),
  );
}

const always = (least: number, most: number) => fc.constant({ text: "*", values: stepsFrom(least, most, 1) });
/** Else hardly any day of the few that are watched would be meant. */
const mostlyAlways = (least: number, most: number) =>
  fc.oneof({ weight: 4, arbitrary: always(least, most) }, { weight: 1, arbitrary: fieldOf(least, most) });

const anyFields: fc.Arbitrary<Fields> = fc.boolean().chain((hasSeconds) =>
  fc.record({
    hasSeconds: fc.constant(hasSeconds),
    second: hasSeconds ? fieldOf(0, 59) : fc.constant({ text: "0", values: new Set([0]) }),
    minute: fieldOf(0, 59),
    hour: fc.oneof({ weight: 1, arbitrary: always(0, 23) }, { weight: 3, arbitrary: fieldOf(0, 23, [0, 3]) }),
    day: mostlyAlways(1, 31),
    month: mostlyAlways(1, 12),
    weekday: mostlyAlways(0, 6),
  }),
);

/** A change, and an instant around it; mostly near it, and now and then between two seconds. */
const anyPlace = fc
  .record({
    change: fc.constantFrom(...changes),
    hours: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(-2, -1, -0.5, 0, 0.5, 1, 2) },
      { weight: 1, arbitrary: fc.integer({ min: -25, max: 20 }) },
    ),
    seconds: fc.oneof(fc.constantFrom(0, -1, 1, 0.001, -0.001), fc.integer({ min: -3600, max: 3600 })),
  })
  .map(({ change, hours, seconds }) => ({ change, after: change.at + hours * hourMs + seconds * secondMs }));

/** Only expressions that ever come true; others are refused. */
function parsed(fields: Fields, { timeZone }: Change): Schedule {
  const expression = toExpression(fields);
  try {
    return parseSchedule(expression, timeZone);
  } catch (error) {
    fc.pre(!(error as Error).message.endsWith("never matches"));
    throw error;
  }
}

describe("an expression, whatever it is, around a change of clocks", () => {
  // From whichever instant they are computed, so that all replicas find the same due times.
  test("means the instants that a watcher of the clock on the wall would name", () => {
    fc.assert(
      fc.property(anyFields, anyPlace, (fields, { change, after }) => {
        const expected = expectedInstants(fields, change, after).take(30).toArray();
        const until = expected[29] ?? change.at + sideMs - 1;
        const schedule = parsed(fields, change);
        expect(walk(schedule, after, { until, count: 31 }).map(toText)).toEqual(expected.map(toText));
      }),
      { numRuns: 2000 },
    );
  });

  test("has the latest of its instants that a walk from one to the next comes to", () => {
    const hours = fc.double({ min: -1, max: 12, noNaN: true });
    fc.assert(
      fc.property(anyFields, anyPlace, hours, (fields, { change, after }, long) => {
        const until = Math.min(after + Math.round(long * hourMs), change.at + sideMs - 1);
        let last: number | undefined;
        for (const at of expectedInstants(fields, change, after)) {
          if (at > until) break;
          last = at;
        }
        expect(parsed(fields, change).latest(after, until)).toBe(last);
      }),
      { numRuns: 200 },
    );
  });
});

describe("the latest instant", () => {
  /** Calls of the runtime are the cost; a walk through every minute would not end. */
  function latestAtLittleCost(expression: string, timeZone: string, after: string, until: string) {
    const schedule = parseSchedule(expression, timeZone);
    const { parse } = Bun.cron;
    let calls = 0;
    using spy = spyOn(Bun.cron, "parse");
    spy.mockImplementation((...of: Parameters<typeof parse>) => {
      if (++calls > 1000) throw new Error("too many calls");
      return parse(...of);
    });
    const latest = schedule.latest(instant(after), instant(until));
    return latest === undefined ? undefined : toText(latest);
  }

  test.each([
    ["every second", "* * * * * *", "UTC", "2016-01-01T00:00Z", "2026-07-01T12:00:00.5Z", "2026-07-01T12:00Z"],
    ["every second", "* * * * * *", "Europe/Berlin", "2016-01-01T00:00Z", "2026-10-25T01:00Z", "2026-10-25T01:00Z"],
    ["every minute", "* * * * *", "America/New_York", "2016-01-01T00:00Z", "2026-07-01T12:00:59Z", "2026-07-01T12:00Z"],
    ["a leap day", "0 0 29 2 *", "UTC", "2000-01-01T00:00Z", "2028-02-28T23:59:59.999Z", "2024-02-29T00:00Z"],
    ["a leap day", "0 0 29 2 *", "America/New_York", "2000-01-01T00:00Z", "2028-02-29T05:00Z", "2028-02-29T05:00Z"],
    ["the only leap day", "0 0 29 2 *", "UTC", "2021-01-01T00:00Z", "2027-12-31T00:00Z", "2024-02-29T00:00Z"],
    ["once a year", "@yearly", "UTC", "2000-01-01T00:00Z", "2026-12-31T23:59Z", "2026-01-01T00:00Z"],
    // Monday morning, nine hours of minutes before a weekend.
    ["working hours", "* 9-17 * * 1-5", "UTC", "2016-01-01T00:00Z", "2026-07-06T08:59Z", "2026-07-03T17:59Z"],
    // Many at once, and then none for long.
    ["the seconds of one day", "* * * 1 1 *", "UTC", "2016-01-01T00:00Z", "2026-12-01T00:00Z", "2026-01-01T23:59:59Z"],
  ])("of many years is found quickly for %s: %s in %s", (_about, expression, timeZone, after, until, latest) => {
    expect(latestAtLittleCost(expression, timeZone, after, until)).toBe(latest);
  });

  test.each([
    ["none between", "0 6 * * *", "2026-06-01T06:00Z", "2026-06-02T05:59:59.999Z", undefined],
    ["`until` counts", "0 6 * * *", "2026-06-01T06:00Z", "2026-06-02T06:00Z", "2026-06-02T06:00Z"],
    ["`after` does not", "0 6 * * *", "2026-06-02T06:00Z", "2026-06-02T06:00Z", undefined],
    ["right after `after`", "0 6 * * *", "2026-06-02T05:59:59.999Z", "2026-06-02T23:00Z", "2026-06-02T06:00Z"],
    ["the last of several", "0 6 * * *", "2026-06-02T05:00Z", "2026-06-09T05:00Z", "2026-06-08T06:00Z"],
    // As when a clock was set back.
    ["`until` before `after`", "* * * * *", "2026-06-02T06:00Z", "2026-06-01T06:00Z", undefined],
    ["no leap day within", "0 0 29 2 *", "2024-02-29T00:00Z", "2028-02-28T00:00Z", undefined],
  ])("%s: %s after %s until %s", (_about, expression, after, until, latest) => {
    expect(latestAtLittleCost(expression, "UTC", after, until)).toBe(latest);
  });
});

describe("what is no schedule", () => {
  function refusal(expression: string, timeZone = "UTC"): string {
    try {
      parseSchedule(expression, timeZone);
    } catch (error) {
      return (error as Error).message;
    }
    return "not refused";
  }

  test.each([
    ["nothing", "", ""],
    ["only spaces", "  ", ""],
    ["too few fields", "* * * *", ""],
    ["too many fields", "* * * * * * *", "too many fields"],
    ["no such nickname", "@never", ""],
    ["a nickname that is no time", "@reboot", ""],
    ["a nickname with a second", "30 @daily", ""],
    ["a nickname as a field", "@daily * * * *", ""],
    ["no number", "a * * * *", ""],
    ["a fraction", "1.5 * * * *", ""],
    ["minute 60", "60 * * * *", "out of range"],
    ["hour 24", "* 24 * * *", "out of range"],
    ["day 0", "* * 0 * *", "out of range"],
    ["month 13", "* * * 13 *", "out of range"],
    ["weekday 8", "* * * * 8", "out of range"],
    ["second 60", "60 * * * * *", ""],
    ["no such second", "x * * * * *", ""],
    ["a step of nothing", "*/0 * * * *", "step"],
    ["a step beyond the minutes", "*/61 * * * *", "a step of 61 in */61 is too large"],
    ["a step beyond the seconds", "*/61 * * * * *", "a step of 61 in */61 is too large"],
    ["a step beyond the hours", "0 0-23/25 * * *", "a step of 25 in 0-23/25 is too large"],
    ["a step beyond the days", "0 0 1/32 * *", "step"],
    ["a step beyond the months", "0 0 * */13 *", "a step of 13 in */13 is too large"],
    ["a step beyond the weekdays", "0 0 * * */8", "a step of 8 in */8 is too large"],
    ["a range backwards", "0 22-2 * * *", "ascending"],
    ["a list with a hole", "1,,2 * * * *", "unrecognized"],
    ["a sign of other crons", "0 0 L * *", ""],
    ["30 February", "0 0 30 2 *", "never matches"],
    ["the 31st of short months", "0 0 31 4,6,9,11 *", "never matches"],
    ["30 February, with a second", "15 0 0 30 2 *", "never matches"],
  ])("refuses %s: %j", (_about, expression, reason) => {
    const message = refusal(expression);
    expect(message).toMatch(
      /^expected a cron expression \(minute hour day month weekday, optionally preceded by second\): ./,
    );
    expect(message).toContain(reason);
    // The author of the configuration reads it, and did not choose our runtime.
    expect(message).not.toMatch(/bun|cron\.|invalid cron|not supported|undefined|object|NaN/i);
  });

  test.each(["", "Mars/Phobos", "Europe", "UTC+2", "2020-01-01T00:00+01:00[Europe/Berlin]"])(
    "refuses the zone %j",
    (timeZone) => {
      const message = refusal("@daily", timeZone);
      expect(message).toBe(`unknown time zone ${JSON.stringify(timeZone)}; expected a name such as America/New_York`);
    },
  );

  test.each(["UTC", "Europe/Berlin", "america/new_york", "+02:00"])("knows the zone %j", (timeZone) => {
    expect(refusal("@daily", timeZone)).toBe("not refused");
  });
});
