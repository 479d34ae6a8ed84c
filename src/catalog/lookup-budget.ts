import { LRUCache } from "lru-cache";
import { refill } from "../base/token-bucket.ts";

/** Reads that refill evenly over a minute. */
class Budget {
  readonly #perMinute: number;
  #left: number;
  #atMs: number;

  constructor(perMinute: number, nowMs: number) {
    this.#perMinute = perMinute;
    this.#left = perMinute;
    this.#atMs = nowMs;
  }

  has(nowMs: number): boolean {
    const bucket = { size: this.#perMinute, perSecond: this.#perMinute / 60 };
    this.#left = refill(this.#left, (nowMs - this.#atMs) / 1000, bucket);
    this.#atMs = nowMs;
    return this.#left >= 1;
  }

  take(): void {
    this.#left--;
  }
}

/** The share of the lookups that one network may use, but at least {@link minPerNetwork}. */
const networkShare = 0.25;
const minPerNetwork = 5;
/** Beyond this, the least recently active networks start again with a full budget. */
const maxNetworks = 10_000;

/**
 * Limits lookups per minute, in total and per client network: one that tries ids must not use up
 * the lookups of the others.
 */
export class LookupBudget {
  readonly #perMinute: number;
  readonly #all: Budget;
  readonly #networks = new LRUCache<string, Budget>({ max: maxNetworks });

  constructor(perMinute: number, nowMs = performance.now()) {
    this.#perMinute = perMinute;
    this.#all = new Budget(perMinute, nowMs);
  }

  /**
   * @param network undefined for the service itself
   * @returns whether a lookup was left
   */
  take(network?: string, nowMs = performance.now()): boolean {
    const ofNetwork = network === undefined ? undefined : this.#ofNetwork(network, nowMs);
    if (!this.#all.has(nowMs) || ofNetwork?.has(nowMs) === false) return false;
    this.#all.take();
    ofNetwork?.take();
    return true;
  }

  #ofNetwork(network: string, nowMs: number): Budget {
    const known = this.#networks.get(network);
    if (known !== undefined) return known;
    const budget = new Budget(Math.max(minPerNetwork, Math.floor(this.#perMinute * networkShare)), nowMs);
    this.#networks.set(network, budget);
    return budget;
  }
}
