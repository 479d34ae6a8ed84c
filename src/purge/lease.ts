import type { Database } from "../database/database.ts";
import { leaseS, purgeWork } from "../database/purge.ts";
import { holdLease, releaseLease, renewLease } from "../database/work-lease.ts";

const renewMs = 500;

/** The right to purge a cache, which one process at a time has. Without work, nobody renews it. */
export class PurgeLease {
  /** What identifies this process. */
  readonly holder = crypto.randomUUID();
  readonly #database: Database;
  readonly #target: string;
  #heldAtMs = Number.NEGATIVE_INFINITY;

  constructor(database: Database, target: string) {
    this.#database = database;
    this.#target = target;
  }

  /** Whether the right was renewed so lately that no other process can have it. */
  get isHeld(): boolean {
    return performance.now() - this.#heldAtMs < renewMs;
  }

  /** @returns whether this process has the right */
  async hold(): Promise<boolean> {
    return this.isHeld || (await this.#update(holdLease));
  }

  /** @returns whether this process has had the right since it took it, and nobody else */
  async renew(): Promise<boolean> {
    return this.isHeld || (await this.#update(renewLease));
  }

  /** Keeps the right while a request is under way. */
  async keep<Result>(work: () => Promise<Result>): Promise<Result> {
    // A failure shows before the next request.
    const timer = setInterval(() => this.#update(renewLease).catch(() => {}), renewMs);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** Lets another process continue at once. */
  async release(): Promise<void> {
    await releaseLease(this.#database, purgeWork(this.#target), this.holder);
  }

  async #update(update: typeof holdLease): Promise<boolean> {
    const startedMs = performance.now();
    const isHeld = await this.#database.inTransaction((transaction) =>
      update(transaction, purgeWork(this.#target), this.holder, leaseS),
    );
    this.#heldAtMs = isHeld ? startedMs : Number.NEGATIVE_INFINITY;
    return isHeld;
  }
}
