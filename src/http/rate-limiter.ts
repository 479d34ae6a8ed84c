import { LRUCache } from "lru-cache";

/** Beyond this, the least recently active networks start again with a full allowance. */
const maxNetworks = 100_000;

/**
 * Limits requests per minute and client network. The allowance may be used in one burst, and
 * refills evenly.
 */
export class RateLimiter {
  /** 0 for no limit. */
  readonly perMinute: number;
  /**
   * When each network's allowance is full again, by `performance.now()`: one number per network,
   * where a token bucket has two. `max` would allocate memory for all of them up front.
   */
  readonly #fullAtMs = new LRUCache<string, number>({ maxSize: maxNetworks, sizeCalculation: () => 1 });

  constructor(perMinute: number) {
    this.perMinute = perMinute;
  }

  allows(network: string, nowMs = performance.now()): boolean {
    return (this.#fullAtMs.get(network) ?? 0) - nowMs <= 60_000 - 30_000 / this.perMinute;
  }

  /** @returns also an upper bound, in seconds, of the time until one more request is allowed */
  take(network: string, nowMs = performance.now()) {
    const msPerRequest = 60_000 / this.perMinute;
    const fullAtMs = Math.max(this.#fullAtMs.get(network) ?? 0, nowMs) + msPerRequest;
    // Tolerates half a request, for rounding.
    const isAllowed = fullAtMs - nowMs <= 60_000 + msPerRequest / 2;
    if (isAllowed) this.#fullAtMs.set(network, fullAtMs);
    const usedMs = isAllowed ? fullAtMs - nowMs : fullAtMs - msPerRequest - nowMs;
    const remaining = Math.max(0, Math.floor((60_000 - usedMs) / msPerRequest + 0.5));
    return { isAllowed, remaining, resetS: Math.ceil(msPerRequest / 1000) };
  }
}
