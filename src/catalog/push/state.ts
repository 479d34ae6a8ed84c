import { findCursor } from "../../database/cursor.ts";
import type { Queryable } from "../../database/database.ts";
import { type QueueState, readQueueState } from "./queue.ts";
import { findSubscribed, findUninstalled, type Subscribed } from "./subscribed.ts";

/** How the platform's notifications do, for operators. */
export interface PushState {
  readonly queue: QueueState;
  /** Undefined when deliveries were not arranged from here. */
  readonly subscribed: Subscribed | undefined;
  /** When the platform said that the shop removed the app: ISO 8601 in UTC. */
  readonly uninstalledAt: string | undefined;
  /** When a delivery of each topic was last accepted: ISO 8601 in UTC; undefined if none ever was. */
  readonly deliveries: readonly { readonly topic: string; readonly at: string | undefined }[];
}

/** @param topics those whose deliveries matter */
export async function readPushState(database: Queryable, topics: readonly string[]): Promise<PushState> {
  const [queue, subscribed, uninstalledAt, deliveries] = await Promise.all([
    readQueueState(database),
    findSubscribed(database),
    findUninstalled(database),
    Promise.all(topics.map(async (topic) => ({ topic, at: await findCursor(database, `delivered ${topic}`) }))),
  ]);
  return { queue, subscribed, uninstalledAt, deliveries };
}
