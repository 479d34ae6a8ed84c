import { ServiceError } from "./errors.ts";
import { FairQueue, type Queued } from "./fair-queue.ts";
import { attempt, type MaybePromise } from "./maybe-promise.ts";

export interface ConcurrencyLimiterOptions {
  readonly name: string;
  readonly maxActive: number;
  /** Calls beyond this, or beyond their network's share, are rejected immediately. */
  readonly maxQueued: number;
  /** Maximum time in the queue. Calls that would probably wait longer are rejected immediately. */
  readonly maxWaitMs: number;
  readonly timeoutMs: number;
  /** Error message for rejected calls; a sentence that clients may see. */
  readonly rejection: string;
}

export interface ConcurrencyCounts {
  calls: number;
  failed: number;
  rejected: number;
  queuedS: number;
  busyS: number;
}

interface PendingCall extends Queued {
  readonly sinceMs: number;
  readonly start: () => void;
  readonly reject: (error: ServiceError) => void;
}

/** One timer checks all timeouts, because a timer per call would cost more than a short query. */
const timeoutCheckMs = 50;

/** Protects the store or the platform with a bounded queue, in which client networks take turns. */
export class ConcurrencyLimiter {
  readonly name: string;
  readonly counts: ConcurrencyCounts = { calls: 0, failed: 0, rejected: 0, queuedS: 0, busyS: 0 };
  readonly #options: ConcurrencyLimiterOptions;
  readonly #queue: FairQueue<PendingCall>;
  /** Unsettled calls, queued or active, oldest first. */
  readonly #pending = new Set<PendingCall>();
  #active = 0;
  #ended = 0;
  #isClosed = false;

  constructor(options: ConcurrencyLimiterOptions) {
    this.name = options.name;
    this.#options = options;
    this.#queue = new FairQueue(options.maxQueued);
    setInterval(() => this.#rejectTimedOut(), timeoutCheckMs).unref();
  }

  get active(): number {
    return this.#active;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** Rejects all calls, including queued and active ones, until `open` is called. */
  close(): void {
    this.#isClosed = true;
    for (const pending of this.#pending) this.#reject(pending);
  }

  open(): void {
    this.#isClosed = false;
  }

  /**
   * Returns no promise if the call returns its result synchronously.
   * @param network returns the network of the client that waits, if any
   * @throws ServiceError `unavailable`, always as a rejection, when the limiter is closed, its
   *   queue is full, or the call times out
   */
  run<T>(call: () => Promise<T>, network?: () => string): Promise<T>;
  run<T>(call: () => MaybePromise<T>, network?: () => string): MaybePromise<T>;
  run<T>(call: () => MaybePromise<T>, network?: () => string): MaybePromise<T> {
    if (this.#isClosed) return Promise.reject(this.rejection());
    const nowMs = performance.now();
    if (this.#active >= this.#options.maxActive) return this.#enqueue(call, network?.(), nowMs);
    this.#active++;
    const result = this.#start(call);
    if (result instanceof Promise) {
      return new Promise((resolve, reject) => {
        const pending: PendingCall = { network: undefined, sinceMs: nowMs, start: () => {}, reject };
        this.#pending.add(pending);
        this.#settle(pending, result, nowMs, resolve, reject);
      });
    }
    this.#end(nowMs);
    return result;
  }

  rejection(): ServiceError {
    this.counts.rejected++;
    return new ServiceError("unavailable", this.#options.rejection);
  }

  #enqueue<T>(call: () => MaybePromise<T>, network: string | undefined, sinceMs: number): Promise<T> {
    const isLate = this.#queue.expectedWaitMs(network, sinceMs) > this.#options.maxWaitMs;
    if (isLate || !this.#queue.hasRoom(network)) return Promise.reject(this.rejection());
    return new Promise((resolve, reject) => {
      const start = () => {
        const startedMs = performance.now();
        this.counts.queuedS += (startedMs - sinceMs) / 1000;
        this.#settle(pending, Promise.resolve(this.#start(call)), startedMs, resolve, reject);
      };
      const pending: PendingCall = { network, sinceMs, start, reject };
      this.#queue.add(pending, sinceMs);
      this.#pending.add(pending);
    });
  }

  #start<T>(call: () => MaybePromise<T>): MaybePromise<T> {
    this.counts.calls++;
    return attempt(call);
  }

  /** Holds a slot until the call has ended, even if its caller has already timed out. */
  #settle<T>(
    pending: PendingCall,
    result: Promise<T>,
    startedMs: number,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): void {
    result.then(
      (value) => {
        this.#end(startedMs);
        this.#pending.delete(pending);
        resolve(value);
      },
      (error) => {
        this.#end(startedMs);
        if (this.#pending.delete(pending)) this.counts.failed++;
        reject(error);
      },
    );
  }

  #end(startedMs: number): void {
    this.counts.busyS += (performance.now() - startedMs) / 1000;
    // Calls that never really wait would otherwise starve the event loop.
    if (this.#ended++ === 0) setImmediate(() => this.#releaseEnded());
  }

  #releaseEnded(): void {
    const ended = this.#ended;
    this.#ended = 0;
    let started = 0;
    for (; started < ended; started++) {
      const next = this.#takeQueued();
      if (next === undefined) break;
      next.start();
    }
    this.#active -= ended - started;
    if (started > 0) this.#queue.noteDeparted(started, performance.now());
  }

  /** Skips calls that have waited too long. */
  #takeQueued(): PendingCall | undefined {
    const latestMs = performance.now() - this.#options.maxWaitMs;
    for (let next = this.#queue.peek(); next !== undefined; next = this.#queue.peek()) {
      if (next.sinceMs > latestMs) return this.#queue.take();
      this.#reject(next);
    }
    return undefined;
  }

  #rejectTimedOut(): void {
    const nowMs = performance.now();
    const { maxWaitMs, timeoutMs } = this.#options;
    for (const pending of this.#pending) {
      const tookMs = nowMs - pending.sinceMs;
      if (tookMs <= maxWaitMs) return;
      if (tookMs > timeoutMs || this.#queue.has(pending)) this.#reject(pending);
    }
  }

  #reject(pending: PendingCall): void {
    this.#pending.delete(pending);
    if (this.#queue.has(pending)) {
      this.#queue.delete(pending);
      this.counts.queuedS += (performance.now() - pending.sinceMs) / 1000;
    } else this.counts.failed++;
    pending.reject(this.rejection());
  }
}
