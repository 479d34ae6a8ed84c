import type { Queryable } from "./database.ts";
import { type QueueState, readQueueState } from "./push-queue.ts";
import { findSubscribed, findUninstalled, type Subscribed } from "./subscribed.ts";

/** How the platform's notifications do, for operators. */
export interface PushState {
  readonly queue: QueueState;
  /** Undefined when deliveries were not arranged from here. */
  readonly subscribed: Subscribed | undefined;
  /** When the platform said that the shop removed the app: ISO 8601 in UTC. */
  readonly uninstalledAt: string | undefined;
}

export async function readPushState(database: Queryable): Promise<PushState> {
  const [queue, subscribed, uninstalledAt] = await Promise.all([
    readQueueState(database),
    findSubscribed(database),
    findUninstalled(database),
  ]);
  return { queue, subscribed, uninstalledAt };
}
