import type { Database } from "../database/database.ts";
import { holdLease, releaseLease, renewLease } from "../database/lease.ts";
import { purgeWork } from "./position.ts";

const renewMs = 500;
/** How soon another process continues after one was killed, if the store answers at once. */
const shortestS = 1;
const longestS = 5;
/** Between two renewals there are a few other transactions, which take as long. */
const transactions = 4;

/** The right to purge a cache, which one process at a time has. Without work, nobody renews it. */
export class PurgeLease {
  readonly holder: string;
  readonly #database: Database;
  readonly #target: string;
  #heldAtMs = Number.NEGATIVE_INFINITY;
  #lengthS = shortestS;

  /** @param holder what identifies this process */
  constructor(database: Database, target: string, holder: string) {
    this.holder = holder;
    this.#database = database;
    this.#target = target;
  }

  /** How long the right lasts after it was renewed: longer while the store is slow. */
  get lengthS(): number {
    return this.#lengthS;
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
    this.#heldAtMs = Number.NEGATIVE_INFINITY;
    await releaseLease(this.#database, purgeWork(this.#target), this.holder);
  }

  async #update(update: typeof holdLease | typeof renewLease): Promise<boolean> {
    const startedMs = performance.now();
    const isHeld = await this.#database.inTransaction((transaction) =>
      update(transaction, purgeWork(this.#target), this.holder, this.#lengthS, longestS),
    );
    const tookS = (performance.now() - startedMs) / 1000;
    this.#lengthS = Math.min(longestS, shortestS + transactions * tookS);
    this.#heldAtMs = isHeld ? startedMs : Number.NEGATIVE_INFINITY;
    return isHeld;
  }
}
