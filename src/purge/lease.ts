import type { Database } from "../database/database.ts";
import { holdLease, releaseLease } from "../database/work-lease.ts";

/** How soon another process continues after one was killed. */
export const leaseS = 2;
const renewMs = 500;

/** The right to purge, which one process at a time has. Without work, nobody renews it. */
export class PurgeLease {
  /** What identifies this process. */
  readonly holder = crypto.randomUUID();
  readonly #database: Database;
  #heldAtMs = Number.NEGATIVE_INFINITY;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Whether the right was renewed so lately that no other process can have it. */
  get isHeld(): boolean {
    return performance.now() - this.#heldAtMs < renewMs;
  }

  /** @returns whether this process has the right */
  async hold(): Promise<boolean> {
    return this.isHeld || (await this.#renew());
  }

  /** Keeps the right while a request is under way. */
  async keep<Result>(work: () => Promise<Result>): Promise<Result> {
    // A failure shows before the next request.
    const timer = setInterval(() => this.#renew().catch(() => {}), renewMs);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** Lets another process continue at once. */
  async release(): Promise<void> {
    await releaseLease(this.#database, "purge", this.holder);
  }

  async #renew(): Promise<boolean> {
    const startedMs = performance.now();
    const work = (transaction: Parameters<typeof holdLease>[0]) => holdLease(transaction, "purge", this.holder, leaseS);
    const isHeld = await this.#database.inTransaction(work);
    this.#heldAtMs = isHeld ? startedMs : Number.NEGATIVE_INFINITY;
    return isHeld;
  }
}
