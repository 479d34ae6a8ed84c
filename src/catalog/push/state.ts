import { findCursor } from "../../database/cursor.ts";
import type { Queryable } from "../../database/database.ts";
import { type QueueState, readQueueState } from "./queue.ts";
import { findSubscribed, findUninstalled, type Subscribed } from "./subscribed.ts";

export interface PushState {
  readonly queue: QueueState;
  readonly subscribed: Subscribed | undefined;
  /** When the platform said that the shop removed the app: ISO 8601 in UTC. */
  readonly uninstalledAt: string | undefined;
  /** When a delivery of each topic was last accepted: ISO 8601 in UTC; undefined if none was. */
  readonly deliveries: readonly { readonly topic: string; readonly at: string | undefined }[];
}

export async function readPushState(database: Queryable, topics: readonly string[]): Promise<PushState> {
  const [queue, subscribed, uninstalledAt, deliveries] = await Promise.all([
    readQueueState(database),
    findSubscribed(database),
    findUninstalled(database),
    Promise.all(topics.map(async (topic) => ({ topic, at: await findCursor(database, `delivered ${topic}`) }))),
  ]);
  return { queue, subscribed, uninstalledAt, deliveries };
}
