import { ServiceError } from "./errors.ts";

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

interface QueuedCall {
  readonly sinceMs: number;
  readonly start: () => void;
}

interface PendingCall {
  readonly sinceMs: number;
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
  readonly #queue = new Set<QueuedCall>();
  /** All queued and active calls, oldest first. */
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
    this.#queue.clear();
    for (const { reject } of this.#pending) reject(this.rejection());
  }

  open(): void {
    this.#isClosed = false;
  }

  /**
   * @throws ServiceError `unavailable` when the limiter is closed, its queue is full, or the call
   * times out
   */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const { maxActive, maxQueued } = this.#options;
    if (this.#isClosed || (this.#active >= maxActive && this.#queue.size >= maxQueued)) throw this.rejection();
    const { promise: rejected, reject } = Promise.withResolvers<never>();
    const pending: PendingCall = { sinceMs: performance.now(), reject };
    this.#pending.add(pending);
    try {
      if (this.#active < maxActive) this.#active++;
      else await this.#enqueue(rejected);
      return await Promise.race([this.#execute(call), rejected]).catch((error) => {
        this.counts.failed++;
        throw error;
      });
    } finally {
      this.#pending.delete(pending);
    }
  }

  /** Counts a rejected call and creates its error. */
  rejection(): ServiceError {
    this.counts.rejected++;
    return new ServiceError("unavailable", this.#options.rejection);
  }

  async #enqueue(rejected: Promise<never>): Promise<void> {
    const startedMs = performance.now();
    const { promise: turn, resolve } = Promise.withResolvers<void>();
    let hasSlot = false;
    const queued: QueuedCall = {
      sinceMs: startedMs,
      start: () => {
        hasSlot = true;
        resolve();
      },
    };
    this.#queue.add(queued);
    try {
      await Promise.race([turn, rejected]);
    } catch (error) {
      this.#queue.delete(queued);
      // The call may have received a slot in the same moment.
      if (hasSlot) this.#release();
      throw error;
    } finally {
      this.counts.queuedS += (performance.now() - startedMs) / 1000;
    }
  }

  /** Holds a slot until the call has ended, even if its caller has already timed out. */
  async #execute<T>(call: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    this.counts.calls++;
    try {
      return await call();
    } finally {
      this.counts.busyS += (performance.now() - startedMs) / 1000;
      // Calls that never really wait would otherwise starve the event loop.
      if (this.#ended++ === 0) setImmediate(() => this.#releaseEnded());
    }
  }

  #releaseEnded(): void {
    const ended = this.#ended;
    this.#ended = 0;
    for (let released = 0; released < ended; released++) this.#release();
  }

  #rejectTimedOut(): void {
    const latestMs = performance.now() - this.#options.timeoutMs;
    for (const { sinceMs, reject } of this.#pending) {
      if (sinceMs > latestMs) return;
      reject(this.rejection());
    }
  }

  /** Passes a slot on to the next queued call, or frees it. */
  #release(): void {
    const latestMs = performance.now() - this.#options.timeoutMs;
    for (const queued of this.#queue) {
      this.#queue.delete(queued);
      if (queued.sinceMs <= latestMs) continue;
      queued.start();
      return;
    }
    this.#active--;
  }
}
