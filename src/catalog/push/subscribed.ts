import { findCursor, saveCursor } from "../../database/cursor.ts";
import { type Queryable, readNow } from "../../database/database.ts";

/** Where the platform delivers to, as `pds platform subscribe` arranged it. */
export interface Subscribed {
  readonly address: string;
  /** When the platform last said which subscriptions it has: ISO 8601 in UTC. */
  readonly checkedAt: string;
  /** Topics that it no longer delivers to the address. */
  readonly missing: readonly string[];
}

/** @returns undefined when deliveries were not arranged from here */
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

/** @returns when the platform said that the shop removed the app; undefined while it has it */
export const findUninstalled = (database: Queryable): Promise<string | undefined> =>
  findCursor(database, "uninstalled");

/** The app has access again. */
export async function removeUninstalled({ sql }: Queryable): Promise<void> {
  await sql`DELETE FROM cursor WHERE name = 'uninstalled'`;
}

/** @param topic of the delivery that said so */
export async function saveUninstalled(database: Queryable, topic: string | undefined): Promise<void> {
  const now = await readNow(database);
  await saveCursor(database, "uninstalled", now);
  if (topic !== undefined) await saveCursor(database, `delivered ${topic}`, now);
}
