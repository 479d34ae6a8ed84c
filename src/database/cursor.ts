import type { Queryable, Transaction } from "./database.ts";

/** Names of values that processes and runs share. */
export type CursorName =
  | "subscribed" // Where the platform delivers to, and when that was last checked: see `Subscribed`.
  | `delivered ${string}` // When the platform last delivered a topic, to the second.
  | "uninstalled" // When the platform said that the shop removed the app.
  | "catalog-sync" // The platform's `updatedAt` up to which every product is synced.
  | "catalog-reconcile" // When all stored products were last compared with the platform's.
  | "catalog-pages" // How far a comparison page by page has come, as JSON; `null` when it is complete.
  | "platform-points" // The budget of requests to the platform, as JSON: see `Points`.
  | "known-ids" // Which products the platform has, as JSON: see `isKnownMissing`.
  | "shop" // The platform's id of the shop that the stored products come from.
  | "write-check" // Written again and again to find out whether the store accepts writes.
  | "catalog-deletions"; // When the newest deletion that was read happened, by the platform's clock.

export async function findCursor({ sql }: Queryable, name: CursorName): Promise<string | undefined> {
  const [cursor] = await sql<{ value: string }[]>`SELECT value FROM cursor WHERE name = ${name}`;
  return cursor?.value;
}

/** Reads a JSON value to change it: others that do so wait until the transaction ends. */
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
