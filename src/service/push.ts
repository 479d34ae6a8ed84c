import { DeliveryCounter } from "../catalog/push/delivery-counter.ts";
import { DeliveryWriter } from "../catalog/push/delivery-writer.ts";
import { createPushReader } from "../catalog/push/reader.ts";
import { watchSubscriptions } from "../catalog/push/subscription-check.ts";
import { workPushQueue } from "../catalog/push/worker.ts";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { Config } from "../config/index.ts";
import { maxRemovedShareOf } from "../config/jobs.ts";
import type { Database } from "../database/database.ts";
import { saveUninstalled } from "../database/subscribed.ts";
import type { Routes } from "../http/endpoint.ts";
import type { Log } from "../log.ts";
import type { DeliveryReceiver, Platform } from "../platforms/platform.ts";
import { webhookRoute } from "../webhooks/route.ts";

/** The notifications of the platform. */
export interface Push {
  /** On the public listener. */
  readonly routes: Routes;
  readonly counter: DeliveryCounter;
  /** Settles when the signal has stopped the work in the background. */
  readonly stopped: Promise<unknown>;
}

export interface PushContext {
  readonly config: Config;
  readonly database: Database;
  readonly limiter: ConcurrencyLimiter;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** A platform whose settings say how its deliveries are signed. */
export type PushPlatform = Platform & { readonly receiver: DeliveryReceiver };

export const hasReceiver = (platform: Platform | undefined): platform is PushPlatform =>
  platform?.receiver !== undefined;

/** @param isWorking whether this process reads the queued products, while no other one does */
export function startPush(platform: PushPlatform, isWorking: boolean, context: PushContext): Push {
  const { config, database, limiter, log, signal } = context;
  const { receiver, subscriptions } = platform;
  const counter = new DeliveryCounter(receiver.topics);
  const writer = new DeliveryWriter(database);
  const noteUninstalled = async () => {
    await database.inTransaction(saveUninstalled);
    log.error("the shop removed the app: products are no longer updated; install it, and set its new credentials");
  };
  const route = webhookRoute({ receiver, limiter, counter, queueRead: (news) => writer.save(news), noteUninstalled });
  const read = createPushReader({ database, platform, log, maxRemovedShare: maxRemovedShareOf(config) });
  const work = isWorking ? [workPushQueue({ database, read, log, signal })] : [];
  const watch =
    isWorking && subscriptions !== undefined ? [watchSubscriptions({ database, subscriptions, log, signal })] : [];
  return { routes: { [receiver.path]: route }, counter, stopped: Promise.all([...work, ...watch]) };
}
