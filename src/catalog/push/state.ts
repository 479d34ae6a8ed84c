import { findCursor, saveCursor } from "../../database/cursor.ts";
import { type Queryable, readNow } from "../../database/database.ts";
import { type QueueState, readQueueState } from "./queue.ts";

export interface PushState {
  readonly queue: QueueState;
  readonly subscribed: Subscribed | undefined;
  /** When the platform said that the shop removed the app: ISO 8601 in UTC. */
  readonly uninstalledAt: string | undefined;
  /** When a delivery of each topic was last accepted: ISO 8601 in UTC; undefined if none was. */
  readonly deliveries: readonly { readonly topic: string; readonly at: string | undefined }[];
}

/** Where the platform delivers to, as set up by `pds platform subscribe`. */
export interface Subscribed {
  readonly address: string;
  /** When the platform last listed its subscriptions: ISO 8601 in UTC. */
  readonly checkedAt: string;
  /** Topics that it no longer delivers to the address. */
  readonly missing: readonly string[];
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

export async function findSubscribed(database: Queryable): Promise<Subscribed | undefined> {
  return JSON.parse((await findCursor(database, "subscribed")) ?? "null") ?? undefined;
}

export async function saveSubscribed(database: Queryable, address: string, missing: readonly string[]): Promise<void> {
  const subscribed: Subscribed = { address, checkedAt: await readNow(database), missing };
  await saveCursor(database, "subscribed", JSON.stringify(subscribed));
}

export async function removeSubscribed({ sql }: Queryable): Promise<void> {
  await sql`DELETE FROM cursor WHERE name = 'subscribed'`;
}

/** @returns when the shop removed the app; undefined while it is installed */
export const findUninstalled = (database: Queryable): Promise<string | undefined> =>
  findCursor(database, "uninstalled");

/** Call it when the app has access again. */
export async function removeUninstalled({ sql }: Queryable): Promise<void> {
  await sql`DELETE FROM cursor WHERE name = 'uninstalled'`;
}

export async function saveUninstalled(database: Queryable, topic: string | undefined): Promise<void> {
  const now = await readNow(database);
  await saveCursor(database, "uninstalled", now);
  if (topic !== undefined) await saveCursor(database, `delivered ${topic}`, now);
}
