import { describe, expect, test } from "bun:test";
import { giveBack } from "../../src/cdn/budget.ts";
import { fail, mustWait, record } from "../../src/cdn/failure.ts";
import type { PurgeState } from "../../src/cdn/position.ts";
import { PurgeError } from "../../src/cdn/send.ts";
import { at, createPurged, idleState, startMs, target } from "./world.ts";

describe("after a failure, the next purge", () => {
  const state: PurgeState = { ...idleState, tokens: { left: 5, at: at(0) } };
  const waitOf = (failed: PurgeState) => Date.parse(failed.failure?.retryAt ?? "") - startMs;

  test("waits longer each time, up to a minute", () => {
    let failed = state;
    const waits = Array.from({ length: 9 }, () => {
      failed = fail(failed, new PurgeError("no"), at(0), 1);
      return waitOf(failed) / 1000;
    });
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(failed.failure).toMatchObject({ count: 9, since: at(0), reason: "no" });
    expect(failed.tokens?.left).toBe(5);
  });

  test("waits as long as the provider says, and finds no tokens", () => {
    const failed = fail(state, new PurgeError("no", { isThrottled: true, retryAfterS: 90 }), at(0), 0);
    expect(waitOf(failed)).toBe(90_000);
    expect(failed.tokens?.left).toBe(0);
  });

  test("does not wait for a clock that was set back", () => {
    const failed = fail(state, new PurgeError("no", { retryAfterS: 60 }), at(0), 0);
    const waitsAt = (ms: number) => mustWait({ state: failed, newest: { number: 1, history: "" }, now: at(ms) });
    expect([0, 59_999, 60_000, -1, -3_600_000].map(waitsAt)).toEqual([true, true, false, false, false]);
  });

  test("that succeeds is recorded, and so is how long the failure lasted, for the last few", () => {
    const purge = { isAll: false, requests: 1, tags: 2 };
    let purged = state;
    for (let time = 0; time < 7; time++) {
      const once = fail(purged, new PurgeError("no"), at(time * 10), 1);
      const failed = fail(once, new PurgeError("later"), at(time * 10 + 1), 1);
      const next = { ...failed, failure: undefined, first: failed.first + time };
      purged = record(next, failed, { ...purge, at: at(time * 10 + 2) });
    }
    purged = record(purged, purged, { ...purge, at: at(99) });
    expect(purged.recent?.map(({ at, changes }) => [at, changes])).toEqual([
      [at(99), 0],
      [at(62), 6],
      [at(52), 5],
      [at(42), 4],
      [at(32), 3],
    ]);
    expect(record({ ...state, first: 9 }, undefined, { ...purge, at: at(0) }).recent?.[0]?.changes).toBe(0);
  });

  test("is small enough to be saved before the one after it fails", () => {
    const of = target({ maxTags: 1, budget: { unit: "request", burst: 1000, perSecond: 0 } });
    const world = createPurged(of);
    for (let id = 1; id <= 40; id++) world.addProduct(`${id}`);
    const before = world.state?.tokens?.left ?? 0;
    let sent = 0;
    for (let plan = world.plan(); plan !== undefined && sent < 500; plan = world.plan()) {
      const failed = plan.requests.findIndex(() => ++sent % 10 === 0);
      const unsent = plan.requests.slice(failed + 1);
      const error = new PurgeError("no");
      world.state = failed < 0 ? plan.next : fail(giveBack(plan.reserved, unsent, of), error, at(world.nowMs), 0);
    }
    expect(sent).toBeLessThan(100);
    expect(world.state?.tokens?.left).toBe(before - sent);
  });
});
