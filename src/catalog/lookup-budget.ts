import { RateLimiter } from "../http/rate-limiter.ts";

/** The share of the lookups that one network may use, but at least {@link minPerNetwork}. */
const networkShare = 0.25;
const minPerNetwork = 5;
/** The name under which the lookups of all networks count together. */
const all = "";

/**
 * Limits lookups per minute, in total and per client network: one that tries ids must not use up
 * the lookups of the others.
 */
export class LookupBudget {
  readonly #total: RateLimiter;
  readonly #perNetwork: RateLimiter;

  constructor(perMinute: number) {
    this.#total = new RateLimiter(perMinute);
    this.#perNetwork = new RateLimiter(Math.max(minPerNetwork, Math.floor(perMinute * networkShare)));
  }

  /** @param network undefined for the service itself. @returns whether a lookup was left */
  take(network?: string, nowMs = performance.now()): boolean {
    if (!this.#total.allows(all, nowMs)) return false;
    if (network !== undefined && !this.#perNetwork.take(network, nowMs).isAllowed) return false;
    return this.#total.take(all, nowMs).isAllowed;
  }
}
