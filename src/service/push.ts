import type { Log } from "../base/log.ts";
import { DeliveryCounter } from "../catalog/push/delivery-counter.ts";
import { DeliveryWriter } from "../catalog/push/delivery-writer.ts";
import { webhookRoute } from "../catalog/push/route.ts";
import { saveUninstalled } from "../catalog/push/state.ts";
import { watchSubscriptions } from "../catalog/push/subscription-check.ts";
import { workPushQueue } from "../catalog/push/worker.ts";
import type { Config } from "../config/index.ts";
import { maxRemovedShareOf } from "../config/jobs.ts";
import type { DeliveryReceiver, Platform } from "../platforms/platform.ts";
import type { Connections } from "./connections.ts";
import type { RequestHandling } from "./requests.ts";

export type DeliveryHandling = ReturnType<typeof startDeliveries>;

export interface DeliveryContext {
  readonly config: Config;
  readonly connections: Connections;
  readonly log: Log;
  readonly requests: RequestHandling;
  readonly holder: string;
  readonly signal: AbortSignal;
}

/** Also reads delivered products while no other process does, until the signal aborts. */
export function startDeliveries(platform: Platform, receiver: DeliveryReceiver, context: DeliveryContext) {
  const { holder, config, connections, requests, log, signal } = context;
  const { writer: database } = connections;
  const { subscriptions } = platform;
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
  const work = workPushQueue({ database, platform, log, maxRemovedShare: maxRemovedShareOf(config), holder, signal });
  const watch = subscriptions && watchSubscriptions({ database, subscriptions, log, signal });
  const { path, topics } = receiver;
  return { routes: { [path]: route }, counter, topics, stop: () => Promise.all([work, watch]) };
}
