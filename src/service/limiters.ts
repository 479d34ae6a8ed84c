import { ConcurrencyLimiter } from "../concurrency-limiter.ts";

const storeQueueLength = 1000;
const storeTimeoutMs = 5000;
const platformQueueLength = 100;
const platformTimeoutMs = 10_000;
/** Concurrent requests to the platform; its throttle decides how fast they are sent. */
const platformConcurrency = 8;

/** The concurrency limits in front of the store and the platform. */
export interface Limiters {
  readonly store: ConcurrencyLimiter;
  readonly platform: ConcurrencyLimiter;
}

export function createLimiters(storeConcurrency: number): Limiters {
  return {
    store: new ConcurrencyLimiter({
      name: "store",
      inside: storeConcurrency,
      waiting: storeQueueLength,
      patienceMs: storeTimeoutMs,
      refusal: "The data cannot be reached at the moment.",
    }),
    platform: new ConcurrencyLimiter({
      name: "platform",
      inside: platformConcurrency,
      waiting: platformQueueLength,
      patienceMs: platformTimeoutMs,
      refusal: "The product is not stored, and the platform cannot be reached at the moment.",
    }),
  };
}
