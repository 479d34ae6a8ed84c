import { expect, test } from "bun:test";
import { findLostTicks, type TickRun } from "../../proof/ticks.ts";

const at = (time: string) => Date.parse(`2026-11-23T10:${time}Z`);
const run = (job: string, time: string, outcome: string | null): TickRun => ({
  ...{ job, scheduledAt: `2026-11-23T10:${time}.000Z`, attempt: 1, outcome, reason: null },
});

test("a scheduled time is lost without a run that has ended", () => {
  const runs = [
    run("history-retention", "00:20", "succeeded"),
    run("history-retention", "00:40", null),
    ...["00:15", "00:30", "00:45", "01:00"].map((time) => run("personalization-import", time, "failed")),
  ];
  expect(findLostTicks(runs, at("00:11"), at("00:51"))).toEqual([
    "history-retention 2026-11-23T10:00:30.000Z",
    "history-retention 2026-11-23T10:00:40.000Z",
    "history-retention 2026-11-23T10:00:50.000Z",
  ]);
  expect(findLostTicks(runs, at("00:51"), at("01:01"))).toEqual([
    "history-retention 2026-11-23T10:01:00.000Z",
    "catalog-sync 2026-11-23T10:01:00.000Z",
  ]);
});
