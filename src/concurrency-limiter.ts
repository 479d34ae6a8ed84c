import { ServiceError } from "./errors.ts";
import { attempt, type MaybePromise } from "./maybe-promise.ts";

export interface ConcurrencyLimiterOptions {
  readonly name: string;
  readonly maxActive: number;
  /** Calls beyond this are rejected immediately. */
  readonly maxQueued: number;
  /** Maximum time per call, in the queue and active together. */
  readonly timeoutMs: number;
  /** Error message for rejected calls; a sentence that clients may see. */
  readonly rejection: string;
}

/** Counts since the process started; times in seconds. */
export interface ConcurrencyCounts {
  calls: number;
  failed: number;
  rejected: number;
  queuedS: number;
  busyS: number;
}

interface PendingCall {
  readonly sinceMs: number;
  readonly start: () => void;
  readonly reject: (error: ServiceError) => void;
}

/** One timer checks all timeouts: a timer per call would cost more than a short query. */
const timeoutCheckMs = 50;

/**
 * Protects the store or the platform from overload by limiting concurrent calls, with a bounded
 * queue.
 */
export class ConcurrencyLimiter {
  readonly name: string;
  readonly counts: ConcurrencyCounts = { calls: 0, failed: 0, rejected: 0, queuedS: 0, busyS: 0 };
  readonly #options: ConcurrencyLimiterOptions;
  /** Queued calls, oldest first. */
  readonly #queue = new Set<PendingCall>();
  /** All queued and active calls that have not been settled, oldest first. */
  readonly #pending = new Set<PendingCall>();
  #active = 0;
  /** Active calls that have ended in this turn of the event loop. */
  #ended = 0;
  #isClosed = false;

  constructor(options: ConcurrencyLimiterOptions) {
    this.name = options.name;
    this.#options = options;
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
   * A call whose result is there at once needs no promise.
   * @throws ServiceError `unavailable`, always by a promise, when the limiter is closed, its queue is
   * full, or the call times out
   */
  run<T>(call: () => Promise<T>): Promise<T>;
  run<T>(call: () => MaybePromise<T>): MaybePromise<T>;
  run<T>(call: () => MaybePromise<T>): MaybePromise<T> {
    const { maxActive, maxQueued } = this.#options;
    const isFull = this.#active >= maxActive;
    if (this.#isClosed || (isFull && this.#queue.size >= maxQueued)) return Promise.reject(this.rejection());
    const nowMs = performance.now();
    if (isFull) return this.#enqueue(call, nowMs);
    this.#active++;
    const result = this.#start(call);
    if (result instanceof Promise) {
      return new Promise((resolve, reject) => {
        const pending: PendingCall = { sinceMs: nowMs, start: () => {}, reject };
        this.#pending.add(pending);
        this.#settle(pending, result, nowMs, resolve, reject);
      });
    }
    this.#end(nowMs);
    return result;
  }

  /** Counts a rejected call and creates its error. */
  rejection(): ServiceError {
    this.counts.rejected++;
    return new ServiceError("unavailable", this.#options.rejection);
  }

  #enqueue<T>(call: () => MaybePromise<T>, sinceMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = () => {
        const startedMs = this.#leaveQueue(pending);
        this.#settle(pending, Promise.resolve(this.#start(call)), startedMs, resolve, reject);
      };
      const pending: PendingCall = { sinceMs, start, reject };
      this.#queue.add(pending);
      this.#pending.add(pending);
    });
  }

  /** @returns the current time */
  #leaveQueue(pending: PendingCall): number {
    const nowMs = performance.now();
    this.#queue.delete(pending);
    this.counts.queuedS += (nowMs - pending.sinceMs) / 1000;
    return nowMs;
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
    for (let released = 0; released < ended; released++) this.#release();
  }

  #rejectTimedOut(): void {
    const latestMs = performance.now() - this.#options.timeoutMs;
    for (const pending of this.#pending) {
      if (pending.sinceMs > latestMs) return;
      this.#reject(pending);
    }
  }

  #reject(pending: PendingCall): void {
    this.#pending.delete(pending);
    if (this.#queue.has(pending)) this.#leaveQueue(pending);
    else this.counts.failed++;
    pending.reject(this.rejection());
  }

  /** Passes a slot on to the next queued call, or frees it. */
  #release(): void {
    const latestMs = performance.now() - this.#options.timeoutMs;
    for (const queued of this.#queue) {
      if (queued.sinceMs > latestMs) {
        queued.start();
        return;
      }
      this.#reject(queued);
    }
    this.#active--;
  }
}
