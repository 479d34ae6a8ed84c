import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../base/log.ts";
import { withTimeout } from "../../base/time.ts";
import type { ReadOptions, SharedPoints } from "../platform.ts";
import { floors } from "./throttle.ts";

const maxPollMs = 1000;
/** A process that was frozen while it took points blocks the budget for up to a minute. */
const timeoutMs = 2000;
/** After the store does not respond, this process uses its own budget for this long. */
const pauseMs = 5000;

/**
 * @returns a function that waits for points, and returns where to settle them; undefined without a
 *   working store, when each process uses its own budget
 */
export function createPointsTaker(points: SharedPoints | undefined, log: Log) {
  let resumeAtMs = Number.NEGATIVE_INFINITY;
  return async (cost: number, { priority, signal }: ReadOptions): Promise<SharedPoints | undefined> => {
    while (points !== undefined && performance.now() >= resumeAtMs) {
      let waitMs: number;
      try {
        waitMs = await withTimeout(points.take(cost, floors[priority]), timeoutMs, () => {
          throw new Error("the store does not respond");
        });
      } catch (error) {
        log.debug({ err: error }, "the shared points cannot be read");
        resumeAtMs = performance.now() + pauseMs;
        return undefined;
      }
      if (waitMs === 0) return points;
      await sleep(Math.min(waitMs, maxPollMs), undefined, { signal });
    }
    return undefined;
  };
}
