import { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";

const storeQueueLength = 1000;
const storeTimeoutMs = 5000;
const platformQueueLength = 100;
/** Clients give up after 8 to 10 seconds, and may retry before that. */
const maxWaitMs = 2000;
const platformTimeoutMs = 10_000;
/** Deliveries that may wait for one transaction, which writes them all. */
const deliveryConcurrency = 2000;
/** The platform waits for five seconds. */
const deliveryTimeoutMs = 4000;
/** The platform's throttle sets their rate. */
const platformConcurrency = 8;

/** A product with thousands of variants takes minutes on the smallest plan. */
const refreshTimeoutMs = 15 * 60_000;
const refreshConcurrency = 2;

export function createLimiters(storeConcurrency: number) {
  return {
    store: new ConcurrencyLimiter({
      name: "store",
      maxActive: storeConcurrency,
      maxQueued: storeQueueLength,
      maxWaitMs,
      timeoutMs: storeTimeoutMs,
      rejection: "The data store is unavailable. Try again later.",
    }),
    platform: new ConcurrencyLimiter({
      name: "platform",
      maxActive: platformConcurrency,
      maxQueued: platformQueueLength,
      maxWaitMs,
      timeoutMs: platformTimeoutMs,
      rejection: "The product is not stored, and the platform is unavailable. Try again later.",
    }),
    deliveries: new ConcurrencyLimiter({
      name: "deliveries",
      maxActive: deliveryConcurrency,
      maxQueued: 0,
      maxWaitMs: 0,
      timeoutMs: deliveryTimeoutMs,
      rejection: "The delivery cannot be stored at the moment. Deliver it again later.",
    }),
    refresh: new ConcurrencyLimiter({
      name: "refresh",
      maxActive: refreshConcurrency,
      maxQueued: platformQueueLength,
      maxWaitMs: refreshTimeoutMs,
      timeoutMs: refreshTimeoutMs,
      rejection: "Too many products are being refreshed.",
    }),
  };
}
