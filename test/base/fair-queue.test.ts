import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FairQueue, type Queued } from "../../src/base/fair-queue.ts";

const fill = (queue: FairQueue<Queued>, network: string | undefined, count = Number.POSITIVE_INFINITY) => {
  let added = 0;
  for (; added < count && queue.hasRoom(network); added++) queue.add({ network }, 0);
  return added;
};

describe("a fair queue", () => {
  test("leaves places for other networks, and none for the service itself", () => {
    const queue = new FairQueue(100);
    expect(["a", "a", "b", "c", "d"].map((network) => fill(queue, network))).toEqual([50, 0, 25, 13, 6]);
    expect(fill(queue, undefined)).toBe(6);
    expect(["e", undefined].map((network) => queue.hasRoom(network))).toEqual([false, false]);
    expect(fill(new FairQueue(1), "a")).toBe(1);
    expect(fill(new FairQueue(0), "a")).toBe(0);
  });

  test("expects a wait from its speed, and from whose turn it is", () => {
    const queue = new FairQueue(1000);
    fill(queue, "busy", 400);
    expect(queue.expectedWaitMs("busy", 50)).toBe(0);
    for (let departed = 0; departed < 100; departed++) queue.take();
    queue.noteDeparted(100, 100);
    expect(queue.expectedWaitMs("busy", 100)).toBeCloseTo(300);
    expect(queue.expectedWaitMs("other", 100)).toBeCloseTo(1);
    // Nothing has left for a while.
    expect(queue.expectedWaitMs("busy", 300)).toBeCloseTo(900);
    // Ten times as slow for long enough.
    for (let time = 1; time <= 40; time++) {
      queue.take();
      queue.noteDeparted(1, 300 + time * 100);
    }
    expect(queue.expectedWaitMs("busy", 4300)).toBeWithin(260 * 80, 260 * 101);
    // An empty queue forgets.
    while (queue.size > 0) queue.take();
    fill(queue, "busy", 10);
    expect(queue.expectedWaitMs("busy", 5000)).toBe(0);
  });

  test("serves every network that waits as often as any other, whatever joins and leaves", () => {
    const network = fc.constantFrom("a", "b", "c", "d");
    const step = fc.oneof(
      fc.record({ join: network }),
      fc.record({ leave: network }),
      fc.constant({ take: true } as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<Queued & { turns: Map<string, number> }>(20);
        const waiting: (Queued & { turns: Map<string, number> })[] = [];
        for (const each of steps) {
          if ("join" in each && queue.hasRoom(each.join)) {
            const item = { network: each.join, turns: new Map<string, number>() };
            queue.add(item, 0);
            waiting.push(item);
          } else if ("leave" in each) {
            const index = waiting.findIndex((item) => item.network === each.leave);
            if (index >= 0) for (const item of waiting.splice(index, 1)) queue.delete(item);
          } else if ("take" in each) {
            const taken = queue.take();
            expect(taken).toBe(waiting.find((item) => item.network === taken?.network));
            if (taken === undefined) continue;
            waiting.splice(waiting.indexOf(taken), 1);
            const seen = new Set<string | undefined>([taken.network]);
            // The next call of each other network has waited for at most one turn of this one.
            for (const item of waiting) {
              if (seen.has(item.network)) continue;
              seen.add(item.network);
              const turns = (item.turns.get(taken.network ?? "") ?? 0) + 1;
              item.turns.set(taken.network ?? "", turns);
              expect(turns).toBeLessThanOrEqual(1);
            }
          }
          expect(queue.size).toBe(waiting.length);
          expect(queue.size).toBeLessThanOrEqual(20);
        }
      }),
      { numRuns: 200 },
    );
  });
});
