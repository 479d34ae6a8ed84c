import { ServiceError } from "../errors.ts";

export interface GateOptions {
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

interface Waiting {
  enter(): void;
  refuse(error: ServiceError): void;
  readonly sinceMs: number;
}

/** Counts since the start; times in seconds. */
export interface GateCounts {
  calls: number;
  failed: number;
  refused: number;
  waitedS: number;
  busyS: number;
}

/** Stands before a store or a platform, so that a crowd neither drowns it nor fills the memory. */
export class Gate {
  readonly name: string;
  readonly counts: GateCounts = { calls: 0, failed: 0, refused: 0, waitedS: 0, busyS: 0 };
  readonly #options: GateOptions;
  readonly #queue = new Set<Waiting>();
  #inside = 0;
  #isShut = false;

  constructor(options: GateOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Turns everyone away at once, also those who wait, until it is opened. */
  shut(): void {
    this.#isShut = true;
    for (const waiting of this.#queue) waiting.refuse(this.refusal());
  }

  open(): void {
    this.#isShut = false;
  }

  /** @throws ServiceError `unavailable` when it is shut, too many wait already, or it takes too long */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isShut) throw this.refusal();
    const { inside, waiting, patienceMs } = this.#options;
    const begunMs = performance.now();
    if (this.#inside >= inside || this.#queue.size > 0) {
      if (this.#queue.size >= waiting) throw this.refusal();
      await this.#wait(begunMs);
    } else {
      this.#inside++;
    }
    const enteredMs = performance.now();
    this.counts.calls++;
    this.counts.waitedS += (enteredMs - begunMs) / 1000;
    const working = work().finally(() => {
      this.counts.busyS += (performance.now() - enteredMs) / 1000;
      // Not before the others have had their turn: work that never really waits would else keep the process to itself.
      setImmediate(() => this.#leave());
    });
    try {
      return await within(working, begunMs + patienceMs - enteredMs, () => this.refusal());
    } catch (error) {
      this.counts.failed++;
      throw error;
    }
  }

  #wait(sinceMs: number): Promise<void> {
    return new Promise((enter, reject) => {
      const waiting: Waiting = {
        sinceMs,
        enter: () => {
          this.#queue.delete(waiting);
          enter();
        },
        refuse: (error) => {
          this.#queue.delete(waiting);
          reject(error);
        },
      };
      this.#queue.add(waiting);
    });
  }

  #leave(): void {
    const nowMs = performance.now();
    for (const next of this.#queue) {
      if (nowMs - next.sinceMs < this.#options.patienceMs) {
        // The place is handed on.
        next.enter();
        return;
      }
      next.refuse(this.refusal());
    }
    this.#inside--;
  }

  /** What somebody is told who is turned away, which is counted. */
  refusal(): ServiceError {
    this.counts.refused++;
    return new ServiceError("unavailable", this.#options.refusal);
  }
}

function within<T>(working: Promise<T>, ms: number, toError: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(toError()), ms);
    working.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
