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
  /** How those who wait are let in, the first first. */
  readonly #queue = new Set<() => void>();
  /** How everyone who waits or is inside is turned away. */
  readonly #refusals = new Set<(error: ServiceError) => void>();
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

  /** Turns everyone away at once, also those who wait or are inside, until it is opened. */
  shut(): void {
    this.#isShut = true;
    this.#queue.clear();
    for (const refuse of this.#refusals) refuse(this.refusal());
  }

  open(): void {
    this.#isShut = false;
  }

  /** @throws ServiceError `unavailable` when it is shut, too many wait already, or it takes too long */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { inside, waiting, patienceMs } = this.#options;
    if (this.#isShut || (this.#inside >= inside && this.#queue.size >= waiting)) throw this.refusal();
    const { promise: refused, reject: refuse } = Promise.withResolvers<never>();
    const timer = setTimeout(() => refuse(this.refusal()), patienceMs);
    this.#refusals.add(refuse);
    try {
      if (this.#inside < inside) this.#inside++;
      else await this.#wait(refused);
      return await Promise.race([this.#do(work), refused]).catch((error) => {
        this.counts.failed++;
        throw error;
      });
    } finally {
      clearTimeout(timer);
      this.#refusals.delete(refuse);
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
    const enter = () => {
      isInside = true;
      resolve();
    };
    this.#queue.add(enter);
    try {
      await Promise.race([turn, refused]);
    } catch (error) {
      this.#queue.delete(enter);
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
      setImmediate(() => this.#leave());
    }
  }

  #leave(): void {
    const [next] = this.#queue;
    if (next === undefined) this.#inside--;
    else {
      this.#queue.delete(next);
      // The place is handed on.
      next();
    }
  }
}
