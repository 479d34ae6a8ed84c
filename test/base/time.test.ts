import { describe, expect, test } from "bun:test";
import { backoff, pause, repeat, untilAborted, withTimeout } from "../../src/base/time.ts";

const never = new Promise<string>(() => {});

describe("a time limit", () => {
  test("passes on what is there in time, and its error", async () => {
    expect(await withTimeout(Promise.resolve("done"), 60_000, () => "late")).toBe("done");
    expect(await withTimeout("at once", 0, () => "late")).toBe("at once");
    expect(withTimeout(Promise.reject(new Error("failed")), 60_000, () => "late")).rejects.toThrow("failed");
  });

  test("returns or throws what the caller says when it is over", async () => {
    expect(await withTimeout(never, 1, () => "late")).toBe("late");
    const late = () => {
      throw new Error("too late");
    };
    expect(withTimeout(never, 1, late)).rejects.toThrow("too late");
  });

  test("keeps an error to itself that comes later", async () => {
    const work = Promise.withResolvers<string>();
    expect(await withTimeout(work.promise, 1, () => "late")).toBe("late");
    // Unhandled, it would fail the test.
    work.reject(new Error("much later"));
    await pause(1);
  });
});

test("a wait ends with the signal", async () => {
  const stop = new AbortController();
  const waiting = pause(600_000, stop.signal);
  const asking = untilAborted(never, stop.signal);
  stop.abort(new Error("stopped"));
  await waiting;
  expect(asking).rejects.toThrow("stopped");
  await pause(600_000, stop.signal);
  expect(untilAborted(never, stop.signal)).rejects.toThrow("stopped");
  expect(await untilAborted(Promise.resolve("done"), new AbortController().signal)).toBe("done");
});

test("steps are repeated until the signal aborts, and the first error of several in a row is reported", async () => {
  const stop = new AbortController();
  const failing = [false, true, true, false, true, false];
  const reported: string[] = [];
  let steps = 0;
  const step = async () => {
    const number = steps++;
    if (number === failing.length) stop.abort();
    if (failing[number] ?? true) throw new Error(`step ${number}`);
    return 0;
  };
  const onFailure = (error: unknown) => reported.push((error as Error).message);
  await repeat(step, { signal: stop.signal, retryMs: 0, onFailure });
  expect(reported).toEqual(["step 1", "step 4"]);
  expect(steps).toBe(failing.length + 1);
});

test("a step can end the repetition", async () => {
  const waits = [0, 0, undefined, 0];
  await repeat(async () => waits.shift(), { signal: new AbortController().signal, retryMs: 0, onFailure: () => {} });
  expect(waits).toEqual([0]);
});

test("pauses double up to their limit", () => {
  expect([1, 2, 3, 4].map((attempt) => backoff(attempt, 100))).toEqual([100, 200, 400, 800]);
  expect([1, 2, 3, 4].map((attempt) => backoff(attempt, 100, 250))).toEqual([100, 200, 250, 250]);
});
