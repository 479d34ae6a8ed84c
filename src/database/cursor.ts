import type { Queryable, Transaction } from "./database.ts";

/** What processes and runs keep for others: a text or an instant by its name. */
export type CursorName =
  /** Where the platform delivers to, and when that was last checked: see `Subscribed`. */
  | "subscribed"
  /** When the platform last delivered a topic, to the second. */
  | `delivered ${string}`
  /** When the platform said that the shop removed the app. */
  | "uninstalled"
  /** The platform's `updatedAt` up to which every product is synced. */
  | "catalog-sync"
  /** When all stored products were last compared with the platform's. */
  | "catalog-reconcile"
  /** How far a comparison page by page has come, as JSON; `null` when it is complete. */
  | "catalog-pages"
  /** The budget of requests to the platform, as JSON: see `Points`. */
  | "platform-points"
  /** Which products the platform has, as JSON: see `isKnownMissing`. */
  | "known-ids"
  /** The platform's id of the shop that the stored products come from. */
  | "shop"
  /** Written again and again to find out whether the store accepts writes. */
  | "write-check"
  /** When the newest deletion that was read happened, by the platform's clock. */
  | "catalog-deletions";

export async function findCursor({ sql }: Queryable, name: CursorName): Promise<string | undefined> {
  const [cursor] = await sql<{ value: string }[]>`SELECT value FROM cursor WHERE name = ${name}`;
  return cursor?.value;
}

/** Reads a JSON value that the transaction is about to change: others that do so wait until it ends. */
export async function lockCursor({ sql }: Transaction, name: CursorName): Promise<unknown> {
  // On all engines, an update locks the row.
  const [cursor] = await sql<{ value: string }[]>`
    INSERT INTO cursor (name, value) VALUES (${name}, 'null')
    ON CONFLICT (name) DO UPDATE SET value = cursor.value RETURNING value`;
  return JSON.parse(cursor?.value ?? "null");
}

export async function saveCursor({ sql }: Queryable, name: CursorName, value: string): Promise<void> {
  await sql`
    INSERT INTO cursor (name, value) VALUES (${name}, ${value})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
}
