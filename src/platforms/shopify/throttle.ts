/** What the platform says of its bucket of points with each answer. */
export interface ThrottleStatus {
  readonly maximumAvailable: number;
  readonly currentlyAvailable: number;
  /** Points a second. */
  readonly restoreRate: number;
}

/** A shopper waits for a live request; sync work can wait for the points that live requests leave. */
export type Priority = "live" | "sync";

interface Waiter {
  readonly cost: number;
  readonly priority: Priority;
  readonly resolve: (sentAtMs: number) => void;
}

/** Points that sync work leaves in the bucket, for live look-ups of this process and of others. */
const liveReserve = 400;

/**
 * Spends the platform's points without ever asking for more than are there. It knows the bucket from the answers: what was
 * left, less what is asked for by requests under way, plus what has been restored since. Until the first answer one request goes out alone.
 */
export class Throttle {
  #status: ThrottleStatus | undefined;
  #statusAtMs = 0;
  /** When the request was sent whose answer told. */
  #statusSentAtMs = Number.NEGATIVE_INFINITY;
  /** Points asked for by requests that have not been answered. */
  #underWay = 0;
  readonly #waiters: Waiter[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Waits until the points are there, and takes them. @returns when, for {@link settle} */
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

  /** Ends what {@link take} began. @param status what the answer said of the bucket, if there was one that did */
  settle(cost: number, status: ThrottleStatus | undefined, sentAtMs: number): void {
    this.#underWay -= cost;
    // Of answers that overtake each other the one to the latest request knows most.
    if (status !== undefined && sentAtMs >= this.#statusSentAtMs) {
      this.#status = status;
      this.#statusAtMs = this.#nowMs();
      this.#statusSentAtMs = sentAtMs;
    }
    this.#serve();
  }

  #available(): number {
    if (this.#status === undefined) return this.#underWay === 0 ? Number.POSITIVE_INFINITY : 0;
    const { currentlyAvailable, maximumAvailable, restoreRate } = this.#status;
    const restored = ((this.#nowMs() - this.#statusAtMs) / 1000) * restoreRate;
    return Math.min(maximumAvailable, currentlyAvailable + restored) - this.#underWay;
  }

  /** Points that must be there before the request goes out; never more than the bucket can hold. */
  #needed({ cost, priority }: Waiter): number {
    const wanted = priority === "live" ? cost : cost + liveReserve;
    return this.#status === undefined ? wanted : Math.min(wanted, this.#status.maximumAvailable);
  }

  #serve(): void {
    clearTimeout(this.#timer);
    for (;;) {
      const next = this.#waiters.find(({ priority }) => priority === "live") ?? this.#waiters[0];
      if (next === undefined) return;
      const missing = this.#needed(next) - this.#available();
      if (missing > 0) {
        // With nothing known, an answer wakes the rest.
        if (this.#status === undefined) return;
        this.#timer = setTimeout(() => this.#serve(), Math.max(5, (missing / this.#status.restoreRate) * 1000));
        return;
      }
      this.#waiters.splice(this.#waiters.indexOf(next), 1);
      this.#underWay += next.cost;
      next.resolve(this.#nowMs());
    }
  }
}
