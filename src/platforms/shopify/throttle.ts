import { refill } from "../../base/token-bucket.ts";
import type { PointsReport, Priority } from "../platform.ts";

interface Waiter {
  readonly cost: number;
  readonly priority: Priority;
  readonly resolve: (sentAtMs: number) => void;
}

/**
 * Points that a request leaves for more urgent ones of all processes. A sync gets its points before a
 * refresh, even for the most expensive page.
 */
export const floors: Readonly<Record<Priority, number>> = { live: 0, push: 200, sync: 400, refresh: 1400 };

/**
 * Delays requests so that they never exceed the cost budget. The available points are those that
 * the last response reported, minus requests in flight, plus what has been restored since. Until
 * the first response, requests run one at a time.
 */
export class Throttle {
  #status: PointsReport | undefined;
  #statusAtMs = 0;
  /** When the request behind the status was sent. */
  #statusSentAtMs = Number.NEGATIVE_INFINITY;
  #inFlight = 0;
  readonly #waiters: Waiter[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @returns when the points were taken, for {@link settle} */
  take(cost: number, priority: Priority, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(signal.reason);
        this.#serve();
      };
      const waiter: Waiter = {
        cost,
        priority,
        resolve: (sentAtMs) => {
          signal.removeEventListener("abort", abort);
          resolve(sentAtMs);
        },
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#waiters.push(waiter);
      this.#serve();
    });
  }

  /** @param status undefined when the response reported none */
  settle(cost: number, status: PointsReport | undefined, sentAtMs: number): void {
    this.#inFlight -= cost;
    // Responses can overtake each other: the latest request has the latest status.
    if (status !== undefined && sentAtMs >= this.#statusSentAtMs) {
      this.#status = status;
      this.#statusAtMs = this.#nowMs();
      this.#statusSentAtMs = sentAtMs;
    }
    this.#serve();
  }

  #available(): number {
    if (this.#status === undefined) return this.#inFlight === 0 ? Number.POSITIVE_INFINITY : 0;
    const { currentlyAvailable, maximumAvailable, restoreRate } = this.#status;
    const passedS = (this.#nowMs() - this.#statusAtMs) / 1000;
    const bucket = { size: maximumAvailable, perSecond: restoreRate };
    return refill(currentlyAvailable, passedS, bucket) - this.#inFlight;
  }

  /** Points that must be available before the request is sent; never more than the bucket holds. */
  #needed({ cost, priority }: Waiter): number {
    const needed = cost + floors[priority];
    return this.#status === undefined ? needed : Math.min(needed, this.#status.maximumAvailable);
  }

  #serve(): void {
    clearTimeout(this.#timer);
    for (;;) {
      const next = mostUrgent(this.#waiters);
      if (next === undefined) return;
      const missing = this.#needed(next) - this.#available();
      if (missing > 0) {
        // While the status is unknown, the next response resumes the queue.
        if (this.#status === undefined) return;
        this.#timer = setTimeout(() => this.#serve(), Math.max(5, (missing / this.#status.restoreRate) * 1000));
        return;
      }
      this.#waiters.splice(this.#waiters.indexOf(next), 1);
      this.#inFlight += next.cost;
      next.resolve(this.#nowMs());
    }
  }
}

function mostUrgent(waiters: readonly Waiter[]): Waiter | undefined {
  return waiters.reduce<Waiter | undefined>(
    (best, waiter) => (best === undefined || floors[waiter.priority] < floors[best.priority] ? waiter : best),
    undefined,
  );
}
