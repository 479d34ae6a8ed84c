import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { PlanOptions } from "../../src/jobs/options.ts";
import {
  type DueRun,
  describeMissed,
  isSlow,
  isStale,
  nextFirstRun,
  nextRun,
  type ScheduledPlan,
  toPlan,
} from "../../src/jobs/plan.ts";
import type { Run } from "../../src/jobs/run.ts";

/** An instant of 1 June 2026, a Monday, in UTC: `10:00`, or `10:00:00.001`. */
const at = (time: string) => Date.parse(`2026-06-01T${time}Z`);
const toText = (instant: number) => new Date(instant).toISOString();
const hourMs = 3_600_000;

const options = (given: Partial<PlanOptions>): PlanOptions => ({
  time_zone: "UTC",
  limit_seconds: 3600,
  retries: 0,
  retry_seconds: 60,
  missed: "once",
  ...given,
});

/** Every hour, unless it is said otherwise. */
function hourly(given: Partial<PlanOptions> = {}): ScheduledPlan {
  const { schedule, ...plan } = toPlan(options({ schedule: "0 * * * *", ...given }));
  if (schedule === undefined) throw new Error("it has a schedule");
  return { schedule, ...plan };
}

type Ended = Exclude<Run["outcome"], null>;

/** The last run of a schedule: for when, when it ended and how; under way when it did not end. */
function run(scheduledAt: string, finishedAt?: string, outcome: Ended = "succeeded", attempt = 1): Run {
  return {
    id: 1,
    job: "personalization-import",
    brand: "default",
    scheduledAt: toText(at(scheduledAt)),
    attempt,
    startedAt: toText(at(scheduledAt) + 100),
    finishedAt: finishedAt === undefined ? null : toText(at(finishedAt)),
    leaseUntil: toText(at(scheduledAt) + hourMs),
    outcome: finishedAt === undefined ? null : outcome,
    counts: 0,
    reason: null,
    log: null,
    cancelled: null,
    isFirst: 0,
  };
}

/** The run of 10:00, which failed. */
type Due = Omit<DueRun, "after">;

const failedAt = (time: string, attempt = 1) => run("10:00", time, "failed", attempt);

const first = (time: string): Due => ({ at: at(time), scheduledAt: at(time), attempt: 1 });
const readable = ({ at, scheduledAt, attempt }: Due) => `attempt ${attempt} of ${toText(scheduledAt)} at ${toText(at)}`;

function expectDue(due: Due, expected: Due) {
  expect(readable(due)).toBe(readable(expected));
}

const eachMissed = ["once", "skip", "all"] as const;

describe("the next run", () => {
  const late = { ...run("10:00", "10:40"), startedAt: toText(at("10:35")) };
  test.each([
    ["is at the next time before the first run", undefined, "09:30", "09:59:59.999", "10:00"],
    ["stays due until there is a run for its time", undefined, "09:30", "10:00:05", "10:00"],
    ["stays due after the run before", run("09:00", "09:01"), "08:30", "10:00:05", "10:00"],
    ["is after the instant at which scheduling started", undefined, "10:00", "10:00", "11:00"],
    ["follows the time of a run that finished early", run("10:00", "10:00:01"), "09:30", "10:00:01", "11:00"],
    ["follows the time of a run in progress", run("10:00"), "09:30", "10:30", "11:00"],
    ["counts from the scheduled time of the last run, not from its start", late, "09:30", "10:41", "11:00"],
    // The machine that stored the last run may have been ahead.
    ["follows the last run even if the clock was set back", run("10:00"), "09:30", "09:45", "11:00"],
  ] as const)("%s, however missed times run", (_about, last, since, now, due) => {
    for (const missed of eachMissed) expectDue(nextRun(hourly({ missed }), last, at(since), at(now)), first(due));
  });

  // Like cron, which waits for a small step and gives in to a large one.
  test("does not wait for a clock that was set back by more than three hours", () => {
    const plan = hourly({});
    expectDue(nextRun(plan, run("13:00", "13:01"), at("09:30"), at("10:00")), first("14:00"));
    expectDue(nextRun(plan, run("14:00", "14:01"), at("10:15"), at("10:30")), first("11:00"));
    // The process began to schedule before the clock was set back.
    expectDue(nextRun(plan, run("14:00", "14:01"), at("14:30"), at("10:30")), first("11:00"));
    expectDue(nextRun(plan, undefined, at("14:30"), at("10:30")), first("11:00"));
  });

  /** What a row is about, the last run, since when, now, and what is due when missed times run once, and are skipped. */
  const missedTimes = [
    ["one time passed during the last run, now ended", run("10:00", "11:30"), "09:30", "11:30", "11:00", "12:00"],
    ["two times passed during the last run, now ended", run("10:00", "12:30"), "09:30", "12:30", "12:00", "13:00"],
    ["two times have passed while the last run is under way", run("10:00"), "09:30", "12:30", "12:00", "13:00"],
    ["the last run ended at the instant of the next time", run("10:00", "11:00"), "09:30", "11:00", "11:00", "12:00"],
    ["the last run was abandoned long after", run("10:00", "13:30", "abandoned"), "09:30", "13:30", "13:00", "14:00"],
    ["nothing ran for some hours", run("10:00", "10:01"), "15:30", "15:30", "15:00", "16:00"],
    ["nothing ran, and it is again the time right now", run("10:00", "10:01"), "15:00", "15:00", "15:00", "16:00"],
    ["nothing ran, and the last run had ended late", run("10:00", "11:20"), "15:30", "15:40", "15:00", "16:00"],
    ["a time that was skipped was waited for, and has come", run("10:00", "10:01"), "15:30", "16:00", "16:00", "16:00"],
  ] as const;
  test.each(missedTimes)("is as configured for missed times: %s", (_about, last, since, now, once, skip) => {
    const dueOf = (missed: PlanOptions["missed"]) => [
      missed,
      readable(nextRun(hourly({ missed }), last, at(since), at(now))),
    ];
    const expected = { once, skip, all: "11:00" };
    expect(eachMissed.map(dueOf)).toEqual(eachMissed.map((missed) => [missed, readable(first(expected[missed]))]));
  });

  test("is the latest missed time before the first run when missed times run once", () => {
    // As when the store could not be reached in between.
    expectDue(nextRun(hourly({ missed: "once" }), undefined, at("09:30"), at("12:10")), first("12:00"));
    expectDue(nextRun(hourly({ missed: "all" }), undefined, at("09:30"), at("12:10")), first("10:00"));
  });

  test.each([
    ["once", "12:10", "no run at the scheduled times from 2026-06-01T10:00:00.000Z to 2026-06-01T11:00:00.000Z"],
    ["once", "11:10", "no run at the scheduled time 2026-06-01T10:00:00.000Z"],
    ["once", "10:10", undefined],
    ["skip", "10:10", "no run at the scheduled time 2026-06-01T10:00:00.000Z"],
    ["all", "12:10", undefined],
  ] as const)("after missed times that run %s, at %s, says: %s", (missed, now, expected) => {
    const plan = hourly({ missed });
    expect(describeMissed(plan, nextRun(plan, run("09:00", "09:01"), at(now), at(now)))).toBe(expected);
  });

  test("a job that skips missed times says which ones passed during its first run", () => {
    const plan = hourly({ missed: "skip" });
    // A run by hand, which is not one of the schedule, took from 09:30 to 11:10.
    const due = nextRun(plan, undefined, at("09:30"), at("12:00"), undefined, at("11:10"));
    expectDue(due, first("12:00"));
    const missed = "no run at the scheduled times from 2026-06-01T10:00:00.000Z to 2026-06-01T11:00:00.000Z";
    expect(describeMissed(plan, due)).toBe(missed);
  });

  test("follows the time zone of the plan", () => {
    const plan = hourly({ schedule: "30 2 * * *", time_zone: "America/New_York" });
    const last = { ...run("00:00"), scheduledAt: "2026-03-07T07:30:00.000Z", finishedAt: "2026-03-07T07:31:00.000Z" };
    const now = Date.parse("2026-03-07T12:00:00Z");
    // 02:30 does not come on that night.
    expect(toText(nextRun(plan, last, now, now).at)).toBe("2026-03-08T07:00:00.000Z");
  });
});

describe("a retry", () => {
  const plan = hourly({ retries: 2, retry_seconds: 300 });
  const again = (time: string, attempt: number, scheduledAt = "10:00"): Due => ({
    at: at(time),
    scheduledAt: at(scheduledAt),
    attempt,
  });

  test.each([
    ["is due some time after a failure", plan, failedAt("10:01"), "10:02", again("10:06", 2)],
    ["is due some time after an abandoned run", plan, run("10:00", "10:31", "abandoned"), "10:32", again("10:36", 2)],
    ["stays due", plan, failedAt("10:01"), "10:59:59.999", again("10:06", 2)],
    ["is for the same time once more", plan, failedAt("10:07", 2), "10:08", again("10:12", 3)],
    [
      "may come as late as right before the next time",
      plan,
      failedAt("10:54:59.999"),
      "10:55",
      again("10:59:59.999", 2),
    ],
    ["comes no more when they are used up", plan, failedAt("10:13", 3), "10:14", first("11:00")],
    ["comes not when there are to be none", hourly(), failedAt("10:01"), "10:02", first("11:00")],
    ["comes once when one is allowed", hourly({ retries: 1 }), failedAt("10:01"), "10:02", again("10:02", 2)],
    ["comes not after a success", plan, run("10:00", "10:01"), "10:02", first("11:00")],
    ["comes not after a retry that succeeded", plan, run("10:00", "10:07", "succeeded", 2), "10:08", first("11:00")],
    ["comes not while a run is under way", plan, run("10:00"), "10:30", first("11:00")],
    ["comes not while a retry is under way", plan, { ...run("10:00"), attempt: 2 }, "10:30", first("11:00")],
    ["gives way to a time of the same instant", plan, failedAt("10:55"), "10:56", first("11:00")],
    ["gives way to a time before it", plan, failedAt("10:58"), "10:59", first("11:00")],
    ["gives way to a time that is due", plan, failedAt("10:01"), "11:00", first("11:00")],
    ["gives way to a time that was due before the run failed", plan, failedAt("11:20"), "11:21", first("11:00")],
  ] as const)("%s", (_about, given, last, now, due) => {
    expectDue(nextRun(given, last, at("09:30"), at(now)), due);
  });

  test.each([
    ["gives way to times that were missed, which run", failedAt("10:01"), "12:10", { once: "12:00", all: "11:00" }],
    [
      "that ended late is followed like a run that did, with missed times that run",
      ...([run("10:00", "12:20", "succeeded", 2), "12:20", { once: "12:00", skip: "13:00", all: "11:00" }] as const),
    ],
  ] as const)("%s as configured", (_about, last, now, expected) => {
    for (const [missed, due] of Object.entries(expected)) {
      const given = { ...plan, missed: missed as PlanOptions["missed"] };
      expectDue(nextRun(given, last, at(now), at(now)), first(due));
    }
  });
});

describe("replicas that started at different times", () => {
  const lastRun = fc
    .record({
      scheduled: fc.integer({ min: 0, max: 23 }),
      tookMs: fc.option(fc.integer({ min: 0, max: 5 * hourMs }), { nil: undefined }),
      outcome: fc.constantFrom<Ended>("succeeded", "failed", "abandoned"),
      attempt: fc.integer({ min: 1, max: 4 }),
    })
    .map(({ scheduled, tookMs, outcome, attempt }): Run => {
      const time = at("00:00") + scheduled * hourMs;
      return {
        ...run("00:00"),
        scheduledAt: toText(time),
        finishedAt: tookMs === undefined ? null : toText(time + tookMs),
        outcome: tookMs === undefined ? null : outcome,
        attempt,
      };
    });
  const instant = fc.integer({ min: at("00:00") - 24 * hourMs, max: at("00:00") + 72 * hourMs });
  const given = fc.record({
    schedule: fc.constantFrom("0 * * * *", "*/20 * * * *", "30 6 * * *", "0 9-17/2 * * *", "*/30 * * * * *"),
    retries: fc.integer({ min: 0, max: 3 }),
    retry_seconds: fc.integer({ min: 1, max: 7200 }),
  });

  /** Nobody looks before they began, nor before the last run did what is stored of it. */
  const afterAll = (last: Run, laterMs: number, ...instants: number[]) =>
    Math.max(Date.parse(last.finishedAt ?? last.scheduledAt ?? ""), ...instants) + laterMs;
  const later = fc.integer({ min: 0, max: 10 * hourMs });

  test.each(["once", "all"] as const)("agree once there is a last run, with missed times that run %s", (missed) => {
    fc.assert(
      fc.property(given, lastRun, instant, instant, later, (options, last, one, other, laterMs) => {
        const plan = hourly({ ...options, missed });
        const now = afterAll(last, laterMs, one, other);
        expectDue(nextRun(plan, last, one, now), nextRun(plan, last, other, now));
      }),
    );
  });

  test("agree if all started before the last run finished, with missed times that are skipped", () => {
    fc.assert(
      fc.property(given, lastRun, later, later, later, (options, last, oneMs, otherMs, laterMs) => {
        const plan = hourly({ ...options, missed: "skip" });
        const now = afterAll(last, laterMs);
        const ended = last.finishedAt === null ? now : Date.parse(last.finishedAt);
        expectDue(nextRun(plan, last, ended - oneMs, now), nextRun(plan, last, ended - otherMs, now));
      }),
    );
  });

  test.each(eachMissed)("never repeat a run, with missed times that run %s", (missed) => {
    fc.assert(
      fc.property(given, lastRun, instant, later, (options, last, since, laterMs) => {
        const due = nextRun(hourly({ ...options, missed }), last, since, afterAll(last, laterMs, since));
        const lastTime = Date.parse(last.scheduledAt ?? "");
        // A claim is for a time and an attempt.
        const isLater = due.scheduledAt > lastTime && due.attempt === 1 && due.at === due.scheduledAt;
        const isRetry = due.scheduledAt === lastTime && due.attempt === last.attempt + 1 && due.at > lastTime;
        expect([isLater, isRetry]).toContain(true);
      }),
    );
  });
});

describe("a last success", () => {
  test.each([
    ["is recent right after", "10:00:01", false],
    ["is recent until just then", "10:10", false],
    ["is stale a millisecond later", "10:10:00.001", true],
  ])("%s, when it may be ten minutes old: %s", (_about, now, stale) => {
    expect(isStale(hourly({ stale_seconds: 600 }), at("10:00"), undefined, at(now))).toBe(stale);
    // Under way or not: an age was given.
    expect(isStale(hourly({ stale_seconds: 600 }), at("10:00"), at("10:00:01"), at(now))).toBe(stale);
    expect(isStale(toPlan(options({ stale_seconds: 600 })), at("10:00"), undefined, at(now))).toBe(stale);
  });

  test("may be as old as the configured maximum age, however often the job was due since", () => {
    expect(isStale(hourly({ stale_seconds: 36_000 }), at("05:00"), undefined, at("14:59"))).toBe(false);
  });

  test("is never stale without a schedule or a maximum age", () => {
    expect(isStale(toPlan(options({})), 0, undefined, at("10:00"))).toBe(false);
  });

  // Every hour: the run of 10:00 ended at 10:05, and 11:00 and 12:00 are the two that follow.
  test.each([
    ["is recent while one time has passed", undefined, "11:59", false],
    ["is recent at the instant of the second", undefined, "12:00", false],
    ["is stale after the second", undefined, "12:00:00.001", true],
    ["is not stale while a run of the first is under way", "11:00", "15:00", false],
    ["is not stale while a run that began late, but before the second, is under way", "11:59:59", "15:00", false],
    ["is not stale while a run that began at the second is under way", "12:00", "15:00", false],
    // Otherwise a job that fails and is retried without end would never be.
    ["is stale although a run is under way that began later", "12:00:01", "12:00:02", true],
  ])("%s", (_about, runningSince, now, stale) => {
    const running = runningSince === undefined ? undefined : at(runningSince);
    expect(isStale(hourly(), at("10:05"), running, at(now))).toBe(stale);
  });

  test.each([
    ["is recent over the weekend", "2026-06-01T06:30Z", false], // Monday
    ["is stale after Monday's and Tuesday's failed", "2026-06-02T06:01Z", true],
  ])("on Friday of a job of working days %s", (_about, now, stale) => {
    const plan = hourly({ schedule: "0 6 * * MON-FRI" });
    expect(isStale(plan, Date.parse("2026-05-29T06:10Z"), undefined, Date.parse(now))).toBe(stale);
  });

  test("that finished exactly at a scheduled time counts for the time before", () => {
    expect(isStale(hourly(), at("11:00"), undefined, at("13:00"))).toBe(false);
    expect(isStale(hourly(), at("11:00"), undefined, at("13:00:00.001"))).toBe(true);
  });
});

describe("a plan", () => {
  test("converts seconds to milliseconds", () => {
    const plan = toPlan(
      options({
        schedule: "@daily",
        time_zone: "Europe/Berlin",
        retries: 3,
        retry_seconds: 90,
        stale_seconds: 7200,
        missed: "all",
      }),
    );
    expect(plan).toMatchObject({ retries: 3, retryMs: 90_000, staleMs: 7_200_000, limitSeconds: 3600, missed: "all" });
    expect(plan.schedule).toMatchObject({ expression: "@daily", timeZone: "Europe/Berlin" });
  });

  test("has no schedule, maximum age, or URLs by default", () => {
    expect(toPlan(options({}))).toMatchObject({ schedule: undefined, staleMs: undefined, ping: {} });
  });

  test.each([
    ["https://hc.example/abc", "https://hc.example/abc/start", "https://hc.example/abc/fail"],
    ["https://hc.example/", "https://hc.example/start", "https://hc.example/fail"],
    ["https://hc.example/a/?rid=1&a=b", "https://hc.example/a/start?rid=1&a=b", "https://hc.example/a/fail?rid=1&a=b"],
    [
      "http://u:w@localhost:8000/a%2Fb",
      "http://u:w@localhost:8000/a%2Fb/start",
      "http://u:w@localhost:8000/a%2Fb/fail",
    ],
  ])("that pings %s sends successes there, and starts and failures to the paths below it", (ping, start, failure) => {
    expect(toPlan(options({ ping })).ping).toEqual({ start, success: ping, failure });
  });

  test.each([
    ["success", { success: "https://hc.example/a" }],
    [
      "all three",
      { start: "https://hc.example/a", success: "https://hc.example/b/", failure: "https://hc.example/c?d" },
    ],
    ["none", {}],
  ])("pings the addresses that are given separately: %s", (_, ping) => {
    expect(toPlan(options({ ping })).ping).toEqual(ping);
  });
});

describe("after a pause, nothing from before the resumption is made up for", () => {
  test.each(eachMissed)("where missed = %p", (missed) => {
    const due = nextRun(hourly({ missed }), run("09:00", "09:10"), at("08:00"), at("12:40"), at("12:30"));
    expectDue(due, first("13:00"));
  });

  test("but what came later is", () => {
    const later = nextRun(hourly({ missed: "all" }), run("09:00", "09:10"), at("08:00"), at("15:40"), at("12:30"));
    expectDue(later, first("13:00"));
  });

  test("neither is a retry, but one of a later failure is", () => {
    const plan = hourly({ retries: 2, retry_seconds: 60 });
    const failed = run("09:00", "09:10", "failed");
    expectDue(nextRun(plan, failed, at("08:00"), at("09:20"), at("09:15")), first("10:00"));
    expect(nextRun(plan, failed, at("08:00"), at("09:20"), at("09:05")).attempt).toBe(2);
  });

  test("unless a wrong clock resumed the job in the far future", () => {
    const due = nextRun(hourly(), run("09:00", "09:10"), at("08:00"), at("09:20"), at("09:20") + 10 * 24 * hourMs);
    expectDue(due, first("10:00"));
  });
});

test("a cancelled run is not retried, whatever its outcome", () => {
  const plan = hourly({ retries: 2, retry_seconds: 60 });
  for (const outcome of ["cancelled", "abandoned"] as const) {
    const cancelled = { ...run("09:00", "09:10", outcome), cancelled: "cancelled by a person" };
    expectDue(nextRun(plan, cancelled, at("08:00"), at("09:20")), first("10:00"));
    expect(nextFirstRun(plan, { ...cancelled, scheduledAt: null }, "2000")).toBeUndefined();
  }
});

describe("a run in progress", () => {
  const took = (minutes: number) => ({
    startedAt: toText(at("08:00")),
    finishedAt: toText(at("08:00") + minutes * 60_000),
  });
  test.each([
    ["is not slow for ten minutes", [1], "10:10", false],
    ["is slow after ten minutes, and three times the longest", [1, 3], "10:10:00.001", true],
    ["is not slow within three times the longest", [4, 1], "10:12", false],
    ["is slow after three times the longest", [4, 1], "10:12:00.001", true],
    ["is not slow if none has succeeded", [], "23:00", false],
  ])("%s", (_about, minutes, now, slow) => {
    expect(isSlow({ startedAt: toText(at("10:00")) }, minutes.map(took), at(now))).toBe(slow);
  });
});
