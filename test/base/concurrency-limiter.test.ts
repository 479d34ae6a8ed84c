import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ConcurrencyLimiter } from "../../src/base/concurrency-limiter.ts";
import { until } from "../support/until.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("a concurrency limiter", () => {
  const rejection = "The store is unavailable.";
  const createLimiter = (options: Partial<ConstructorParameters<typeof ConcurrencyLimiter>[0]> = {}) =>
    new ConcurrencyLimiter({
      name: "store",
      maxActive: 2,
      maxQueued: 3,
      // Longer than any test, so that no call times out on a busy machine.
      maxWaitMs: 600_000,
      timeoutMs: 600_000,
      rejection,
      ...options,
    });

  /** Work that the test completes by hand. */
  const createWork = () => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const work = Object.assign(
      () => {
        work.hasBegun = true;
        return promise;
      },
      { hasBegun: false, resolve, reject },
    );
    return work;
  };
  const crowd = (limiter: ConcurrencyLimiter, size: number) => {
    const works = Array.from({ length: size }, createWork);
    const runs = works.map((work) => limiter.run(work));
    for (const run of runs) run.catch(() => {});
    const begun = () => works.flatMap(({ hasBegun }, index) => (hasBegun ? [index] : []));
    return { works, runs, begun };
  };
  const unavailable = { code: "unavailable", message: rejection };

  test("starts calls up to its limit, queues more in order, and rejects the rest immediately", async () => {
    const limiter = createLimiter();
    const { works, runs, begun } = crowd(limiter, 7);
    expect([limiter.active, limiter.queued, begun()]).toEqual([2, 3, [0, 1]]);
    for (const beyond of [5, 6]) expect(runs[beyond]).rejects.toMatchObject(unavailable);
    await turn();
    expect(limiter.counts.rejected).toBe(2);
    works[1]?.resolve("one");
    expect(await runs[1]).toBe("one");
    await turn();
    expect([limiter.active, limiter.queued, begun()]).toEqual([2, 2, [0, 1, 2]]);
    works[0]?.resolve("zero");
    await turn();
    await turn();
    expect(begun()).toEqual([0, 1, 2, 3]);
    for (const index of [2, 3, 4]) works[index]?.resolve(`${index}`);
    expect(await Promise.all([2, 3, 4].map((index) => runs[index] as Promise<string>))).toEqual(["2", "3", "4"]);
    await turn();
    await turn();
    expect([limiter.active, limiter.queued]).toEqual([0, 0]);
    expect(limiter.counts).toMatchObject({ calls: 5, failed: 0, rejected: 2 });
    expect(limiter.counts.busyS).toBeGreaterThan(0);
  });

  test.each([
    ["fails", async () => Promise.reject(new Error("broken"))],
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
  ])("passes on the error of a call that %s, and starts the next one", async (_, work) => {
    const limiter = createLimiter({ maxActive: 1 });
    const outcomes = await Promise.allSettled([limiter.run(work), limiter.run(work), limiter.run(async () => "well")]);
    expect(outcomes).toMatchObject([
      { reason: { message: "broken" } },
      { reason: { message: "broken" } },
      { value: "well" },
    ]);
    await turn();
    expect([limiter.active, limiter.queued, limiter.counts.failed]).toEqual([0, 0, 2]);
  });

  test("rejects a call that times out, but holds its slot until the call ends", async () => {
    const limiter = createLimiter({ maxActive: 1, maxWaitMs: 60, timeoutMs: 60 });
    const { works, runs } = crowd(limiter, 1);
    const begunMs = performance.now();
    expect(runs[0]).rejects.toMatchObject(unavailable);
    await runs[0]?.catch(() => {});
    expect(performance.now() - begunMs).toBeGreaterThanOrEqual(50);
    expect([limiter.active, limiter.counts.rejected, limiter.counts.failed]).toEqual([1, 1, 1]);
    works[0]?.resolve("late");
    await turn();
    await turn();
    expect(limiter.active).toBe(0);
    expect(await limiter.run(async () => "well")).toBe("well");
  });

  test("rejects queued calls that time out, even if no slot becomes free", async () => {
    const limiter = createLimiter({ maxActive: 1, maxWaitMs: 60, timeoutMs: 60 });
    const { works, runs } = crowd(limiter, 3);
    expect(await Promise.allSettled(runs)).toMatchObject(Array(3).fill({ status: "rejected", reason: unavailable }));
    expect([limiter.active, limiter.queued]).toEqual([1, 0]);
    works[0]?.resolve("late");
    await turn();
    await turn();
    expect([limiter.active, works[1]?.hasBegun]).toEqual([0, false]);
  });

  test("lets networks take turns, and keeps places for others", async () => {
    const limiter = createLimiter({ maxActive: 1, maxQueued: 8 });
    const begun: string[] = [];
    const run = (network: string) => {
      const result = limiter.run(
        async () => void begun.push(network),
        () => network,
      );
      result.catch(() => {});
      return result;
    };
    const greedy = Array.from({ length: 9 }, () => run("greedy"));
    const modest = [run("modest"), run("modest")];
    const outcomes = await Promise.allSettled(greedy);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    await Promise.all(modest);
    expect(begun).toEqual(["greedy", "greedy", "modest", "greedy", "modest", "greedy", "greedy"]);
  });

  test("rejects a call at once that would wait too long", async () => {
    const limiter = createLimiter({ maxActive: 1, maxQueued: 10_000, maxWaitMs: 60_000 });
    const { works, begun } = crowd(limiter, 3000);
    // At one call in 100 ms, or fewer on a busy machine, a new one would wait for five minutes.
    await Bun.sleep(100);
    works[0]?.resolve("first");
    await until("the speed is known", () => begun().length === 2);
    const { queued } = limiter;
    let rejected: unknown;
    limiter
      .run(async () => "late")
      .catch((error) => {
        rejected = error;
      });
    await turn();
    expect([limiter.queued, rejected]).toEqual([queued, expect.objectContaining(unavailable)]);
    limiter.close();
  });

  test("rejects all calls while it is closed, and works as before when it is opened", async () => {
    const limiter = createLimiter({ maxActive: 1 });
    const { works, runs, begun } = crowd(limiter, 3);
    limiter.close();
    for (const index of [1, 2]) expect(runs[index]).rejects.toMatchObject(unavailable);
    expect(limiter.run(async () => "well")).rejects.toMatchObject(unavailable);
    await turn();
    expect([limiter.active, limiter.queued]).toEqual([1, 0]);
    expect(limiter.counts.rejected).toBeWithin(3, 5);
    limiter.open();
    const next = limiter.run(async () => "well");
    await turn();
    expect([limiter.active, limiter.queued]).toEqual([1, 1]);
    // The slot of the rejected call becomes free when its work ends.
    works[0]?.resolve("first");
    expect(await next).toBe("well");
    expect(begun()).toEqual([0]);
  });

  test("returns a result that is there without a promise, and holds its slot until the next turn", async () => {
    const limiter = createLimiter({ maxActive: 2, maxQueued: 1 });
    expect([limiter.run(() => "one"), limiter.run(() => "two")]).toEqual(["one", "two"]);
    expect(limiter.active).toBe(2);
    const queued = limiter.run(() => "three");
    expect(limiter.run(() => "four")).rejects.toMatchObject(unavailable);
    expect(limiter.queued).toBe(1);
    expect(await queued).toBe("three");
    await turn();
    await turn();
    expect([limiter.active, limiter.queued]).toEqual([0, 0]);
    expect(limiter.counts).toMatchObject({ calls: 3, failed: 0, rejected: 1 });
    limiter.close();
    expect(limiter.run(() => "five")).rejects.toMatchObject(unavailable);
  });

  test("yields to the event loop between calls that never wait", async () => {
    const limiter = createLimiter({ maxActive: 1, maxQueued: 1000 });
    let turns = 0;
    let isOver = false;
    const counting = (async () => {
      for (; !isOver; turns++) await turn();
    })();
    await Promise.all(Array.from({ length: 200 }, () => limiter.run(async () => {})));
    isOver = true;
    await counting;
    expect(turns).toBeGreaterThanOrEqual(190);
  });

  test("never exceeds its limits, loses no call, and keeps the order", async () => {
    const callArbitrary = fc.record({
      pause: fc.nat(2),
      work: fc.nat(3),
      fails: fc.boolean(),
      closes: fc.integer({ min: 0, max: 15 }).map((chance) => chance === 0),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.nat(5),
        fc.array(callArbitrary, { minLength: 1, maxLength: 25 }),
        async (inside, waiting, calls) => {
          const limiter = createLimiter({ maxActive: inside, maxQueued: waiting });
          let isInside = 0;
          const begun: number[] = [];
          const endings = { well: 0, failed: 0, rejected: 0 };
          const runs: Promise<void>[] = [];
          for (const [index, { pause, work, fails, closes }] of calls.entries()) {
            for (let time = 0; time < pause; time++) await turn();
            if (closes) {
              limiter.close();
              expect(limiter.queued).toBe(0);
              limiter.open();
            }
            const run = limiter.run(async () => {
              begun.push(index);
              isInside++;
              expect(isInside).toBeLessThanOrEqual(inside);
              for (let time = 0; time < work; time++) await turn();
              isInside--;
              if (fails) throw new Error("broken");
            });
            expect(limiter.active).toBeLessThanOrEqual(inside);
            expect(limiter.queued).toBeLessThanOrEqual(waiting);
            runs.push(
              run.then(
                () => void endings.well++,
                ({ message }) => {
                  if (message === "broken") endings.failed++;
                  else {
                    expect(message).toBe(rejection);
                    endings.rejected++;
                  }
                },
              ),
            );
          }
          await Promise.all(runs);
          for (let time = 0; time < 10; time++) await turn();
          expect([limiter.active, limiter.queued, isInside]).toEqual([0, 0, 0]);
          expect(begun).toEqual(begun.toSorted((a, b) => a - b));
          // Calls that were active when the limiter closed may have been rejected.
          expect(endings.well + endings.failed).toBeLessThanOrEqual(begun.length);
          expect(endings.well + endings.failed + endings.rejected).toBe(calls.length);
          expect(limiter.counts.calls).toBe(begun.length);
          expect(limiter.counts.rejected).toBeGreaterThanOrEqual(endings.rejected);
        },
      ),
      { numRuns: 200 },
    );
  });
});
