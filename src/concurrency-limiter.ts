import { ServiceError } from "./errors.ts";

export interface ConcurrencyLimiterOptions {
  readonly name: string;
  /** How many may be inside at once. */
  readonly inside: number;
  /** How many may wait; beyond them one is turned away at once. */
  readonly waiting: number;
  /** How long one waits, outside and inside together. */
  readonly patienceMs: number;
  /** What somebody who is turned away is told, a sentence. */
  readonly refusal: string;
}

/** Counts since the start; times in seconds. */
export interface ConcurrencyCounts {
  calls: number;
  failed: number;
  refused: number;
  waitedS: number;
  busyS: number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly enter: () => void;
}

interface Guest {
  readonly sinceMs: number;
  readonly refuse: (error: ServiceError) => void;
}

/** How often it is looked who has lost patience: a timer for each would cost more than a short read. */
const lookMs = 50;

/** Stands before a store or a platform, so that a crowd neither drowns it nor fills the memory. */
export class ConcurrencyLimiter {
  readonly name: string;
  readonly counts: ConcurrencyCounts = { calls: 0, failed: 0, refused: 0, waitedS: 0, busyS: 0 };
  readonly #options: ConcurrencyLimiterOptions;
  /** Those who wait, the first first. */
  readonly #queue = new Set<Waiting>();
  /** Everyone who waits or is inside, the first first. */
  readonly #guests = new Set<Guest>();
  #inside = 0;
  /** Those inside who have ended in this turn of the process. */
  #ended = 0;
  #isShut = false;

  constructor(options: ConcurrencyLimiterOptions) {
    this.name = options.name;
    this.#options = options;
    setInterval(() => this.#refuseImpatient(), lookMs).unref();
  }

  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Turns everyone away at once, also those who wait or are inside, until it is opened. */
  shut(): void {
    this.#isShut = true;
    this.#queue.clear();
    for (const { refuse } of this.#guests) refuse(this.refusal());
  }

  open(): void {
    this.#isShut = false;
  }

  /** @throws ServiceError `unavailable` when it is shut, too many wait already, or it takes too long */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { inside, waiting } = this.#options;
    if (this.#isShut || (this.#inside >= inside && this.#queue.size >= waiting)) throw this.refusal();
    const { promise: refused, reject: refuse } = Promise.withResolvers<never>();
    const guest: Guest = { sinceMs: performance.now(), refuse };
    this.#guests.add(guest);
    try {
      if (this.#inside < inside) this.#inside++;
      else await this.#wait(refused);
      return await Promise.race([this.#do(work), refused]).catch((error) => {
        this.counts.failed++;
        throw error;
      });
    } finally {
      this.#guests.delete(guest);
    }
  }

  /** What somebody is told who is turned away, which is counted. */
  refusal(): ServiceError {
    this.counts.refused++;
    return new ServiceError("unavailable", this.#options.refusal);
  }

  async #wait(refused: Promise<never>): Promise<void> {
    const begunMs = performance.now();
    const { promise: turn, resolve } = Promise.withResolvers<void>();
    let isInside = false;
    const waiting: Waiting = {
      sinceMs: begunMs,
      enter: () => {
        isInside = true;
        resolve();
      },
    };
    this.#queue.add(waiting);
    try {
      await Promise.race([turn, refused]);
    } catch (error) {
      this.#queue.delete(waiting);
      // The place may have been handed over in the same moment.
      if (isInside) this.#leave();
      throw error;
    } finally {
      this.counts.waitedS += (performance.now() - begunMs) / 1000;
    }
  }

  /** The place is taken until the work has ended, whether or not anybody still waits for that. */
  async #do<T>(work: () => Promise<T>): Promise<T> {
    const begunMs = performance.now();
    this.counts.calls++;
    try {
      return await work();
    } finally {
      this.counts.busyS += (performance.now() - begunMs) / 1000;
      // Not before the others have had their turn: work that never really waits would else keep the process to itself.
      if (this.#ended++ === 0) setImmediate(() => this.#leaveAll());
    }
  }

  #leaveAll(): void {
    const ended = this.#ended;
    this.#ended = 0;
    for (let left = 0; left < ended; left++) this.#leave();
  }

  #refuseImpatient(): void {
    const latestMs = performance.now() - this.#options.patienceMs;
    for (const { sinceMs, refuse } of this.#guests) {
      if (sinceMs > latestMs) return;
      refuse(this.refusal());
    }
  }

  #leave(): void {
    const latestMs = performance.now() - this.#options.patienceMs;
    for (const waiting of this.#queue) {
      this.#queue.delete(waiting);
      if (waiting.sinceMs <= latestMs) continue;
      // The place is handed on.
      waiting.enter();
      return;
    }
    this.#inside--;
  }
}
