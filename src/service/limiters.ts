import { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";

const platformQueueLength = 100;
/** Clients give up after 8 to 10 seconds, and may retry before that. */
const maxWaitMs = 2000;
/** A product with thousands of variants takes minutes on the smallest plan. */
const refreshTimeoutMs = 15 * 60_000;

export function createLimiters(storeConcurrency: number) {
  return {
    store: new ConcurrencyLimiter({
      name: "store",
      maxActive: storeConcurrency,
      maxQueued: 1000,
      maxWaitMs,
      timeoutMs: 5000,
      rejection: "The data store is unavailable. Try again later.",
    }),
    platform: new ConcurrencyLimiter({
      name: "platform",
      // The platform's throttle sets their rate.
      maxActive: 8,
      maxQueued: platformQueueLength,
      maxWaitMs,
      timeoutMs: 10_000,
      rejection: "The product is not stored, and the platform is unavailable. Try again later.",
    }),
    deliveries: new ConcurrencyLimiter({
      name: "deliveries",
      // One transaction writes all that wait.
      maxActive: 2000,
      maxQueued: 0,
      maxWaitMs: 0,
      // The platform waits for five seconds.
      timeoutMs: 4000,
      rejection: "The delivery cannot be stored at the moment. Deliver it again later.",
    }),
    refresh: new ConcurrencyLimiter({
      name: "refresh",
      maxActive: 2,
      maxQueued: platformQueueLength,
      maxWaitMs: refreshTimeoutMs,
      timeoutMs: refreshTimeoutMs,
      rejection: "Too many products are being refreshed.",
    }),
  };
}
