import { repeatEvery } from "../base/time.ts";
import type { Database, Transaction } from "./database.ts";

/** Work that one process at a time does: reading what was delivered, or purging one cache. */
export type WorkName = "push" | `purge ${string}`;

export interface LeaseOptions {
  readonly name: WorkName;
  /** Id of this process, unique in the store. */
  readonly holder: string;
  /** A lease counts as held for this long after its renewal. */
  readonly renewMs: number;
  /** Time until another process takes over from a killed one, if the store responds quickly. */
  readonly shortestS: number;
  /** The same while the store is slow. */
  readonly longestS: number;
}

/** A few other transactions, which take as long, may run between two renewals. */
const transactions = 4;

/** The right of one process to do some work. The leases of runs are in `jobs/claim.ts`. */
export class Lease {
  readonly #database: Database;
  readonly #options: LeaseOptions;
  #heldAtMs = Number.NEGATIVE_INFINITY;
  #lengthS: number;

  constructor(database: Database, options: LeaseOptions) {
    this.#database = database;
    this.#options = options;
    this.#lengthS = options.shortestS;
  }

  /** Whether the last renewal is so recent that no other process can hold the lease. */
  get isHeld(): boolean {
    return performance.now() - this.#heldAtMs < this.#options.renewMs;
  }

  /** @returns whether this process has the right */
  async hold(): Promise<boolean> {
    return this.isHeld || (await this.#update((transaction) => this.#take(transaction)));
  }

  /** @returns whether no other process has held the lease since this one took it */
  async renew(): Promise<boolean> {
    return this.isHeld || (await this.#update((transaction) => this.renewIn(transaction)));
  }

  /**
   * Renews the right together with a write that must not happen without it.
   * @returns whether no other process has held the lease since this one took it
   */
  async renewIn({ sql, engine }: Transaction): Promise<boolean> {
    const { name, holder } = this.#options;
    const rows = await sql`
      UPDATE lease SET ends_at = ${sql.unsafe(engine.later(this.#lengthS))} WHERE name = ${name} AND holder = ${holder}
      RETURNING 1`;
    return rows.length > 0;
  }

  /** Renews the lease during some work. */
  async keep<Result>(work: () => Promise<Result>): Promise<Result> {
    // A failure shows before the next work.
    using _ = repeatEvery(this.#options.renewMs, () => this.#update((transaction) => this.renewIn(transaction)));
    return await work();
  }

  /** Lets another process continue at once. */
  async release(): Promise<void> {
    const { name, holder } = this.#options;
    this.#heldAtMs = Number.NEGATIVE_INFINITY;
    await this.#database.inTransaction(({ sql }) => sql`DELETE FROM lease WHERE name = ${name} AND holder = ${holder}`);
  }

  async #take({ sql, engine }: Transaction): Promise<boolean> {
    const { name, holder, longestS } = this.#options;
    const end = sql.unsafe(engine.later(this.#lengthS));
    // A longer lease was taken before the clock was set back.
    const longestEnd = sql.unsafe(engine.later(longestS));
    const rows = await sql`
      INSERT INTO lease (name, holder, ends_at) VALUES (${name}, ${holder}, ${end})
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
      WHERE lease.holder = excluded.holder OR lease.ends_at < ${sql.unsafe(engine.now)} OR lease.ends_at > ${longestEnd}
      RETURNING 1`;
    return rows.length > 0;
  }

  async #update(update: (transaction: Transaction) => Promise<boolean>): Promise<boolean> {
    const { shortestS, longestS } = this.#options;
    const startedMs = performance.now();
    const isHeld = await this.#database.inTransaction(update);
    const tookS = (performance.now() - startedMs) / 1000;
    this.#lengthS = Math.min(longestS, shortestS + transactions * tookS);
    this.#heldAtMs = isHeld ? startedMs : Number.NEGATIVE_INFINITY;
    return isHeld;
  }
}
