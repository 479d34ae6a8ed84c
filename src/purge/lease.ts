import type { Database } from "../database/database.ts";
import { holdLease, releaseLease } from "../database/work-lease.ts";
import { timeoutMs } from "./send.ts";

/** How soon another process continues after one was killed. */
export const leaseS = 5;
/** Renewed when less is left than a request may take. */
const renewMs = leaseS * 1000 - timeoutMs - 500;

/** The right to purge, which one process at a time has. Without work, nobody renews it. */
export class PurgeLease {
  /** What identifies this process. */
  readonly holder = crypto.randomUUID();
  readonly #database: Database;
  #heldAtMs = Number.NEGATIVE_INFINITY;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Whether no other process can have purged anything since the right was last renewed. */
  get isHeld(): boolean {
    return performance.now() - this.#heldAtMs < renewMs;
  }

  /** @returns whether this process has the right for as long as a request may take */
  async hold(): Promise<boolean> {
    if (this.isHeld) return true;
    const startedMs = performance.now();
    const work = (transaction: Parameters<typeof holdLease>[0]) => holdLease(transaction, "purge", this.holder, leaseS);
    if (!(await this.#database.inTransaction(work))) return false;
    this.#heldAtMs = startedMs;
    return true;
  }

  /** Lets another process continue at once. */
  async release(): Promise<void> {
    await releaseLease(this.#database, "purge", this.holder);
  }
}
