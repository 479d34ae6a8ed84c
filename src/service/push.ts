import { webhookRoute } from "../catalog/deliveries.ts";
import { DeliveryCounter } from "../catalog/push/delivery-counter.ts";
import { DeliveryWriter } from "../catalog/push/delivery-writer.ts";
import { createPushReader } from "../catalog/push/reader.ts";
import { saveUninstalled } from "../catalog/push/subscribed.ts";
import { watchSubscriptions } from "../catalog/push/subscription-check.ts";
import { workPushQueue } from "../catalog/push/worker.ts";
import { maxRemovedShareOf } from "../config/jobs.ts";
import type { Routes } from "../http/endpoint.ts";
import type { Platform } from "../platforms/platform.ts";
import type { ServiceContext } from "./context.ts";

/** The notifications of the platform. */
export interface Push {
  /** On the public listener. */
  readonly routes: Routes;
  readonly counter: DeliveryCounter;
  /** The topics that the service understands. */
  readonly topics: readonly string[];
  /** Settles when the signal has stopped the work in the background. */
  readonly stopped: Promise<unknown>;
}

export interface PushContext extends Pick<ServiceContext, "config" | "connections" | "log" | "requests"> {
  /** Id of this process among those of the store. */
  readonly holder: string;
  readonly signal: AbortSignal;
}

/**
 * Accepts deliveries, and reads the delivered products while no other process does.
 * @returns undefined unless the settings say how the platform signs its deliveries
 */
export function startPush(platform: Platform | undefined, context: PushContext): Push | undefined {
  const { holder, config, connections, requests, log, signal } = context;
  const { writer: database } = connections;
  if (platform?.receiver === undefined) return undefined;
  const { receiver, subscriptions } = platform;
  const counter = new DeliveryCounter(receiver.topics);
  const writer = new DeliveryWriter(database);
  const noteUninstalled = async (topic: string | undefined) => {
    await database.inTransaction((transaction) => saveUninstalled(transaction, topic));
    log.error("the shop removed the app: products are no longer updated; install it, and set its new credentials");
  };
  const limiter = requests.deliveryLimiter;
  const route = webhookRoute({
    receiver,
    limiter,
    counter,
    queueRead: (news, topic) => writer.save(news, topic),
    noteUninstalled,
  });
  const push = { routes: { [receiver.path]: route }, counter, topics: receiver.topics };
  const read = createPushReader({ database, platform, log, maxRemovedShare: maxRemovedShareOf(config) });
  const work = workPushQueue({ database, holder, read, log, signal });
  const watch = subscriptions && watchSubscriptions({ database, subscriptions, log, signal });
  return { ...push, stopped: Promise.all([work, watch]) };
}
