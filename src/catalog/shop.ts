import { type CursorName, findCursor, saveCursor } from "../database/cursor.ts";
import type { Database } from "../database/database.ts";

/** Returns the shop that the stored products come from; saves the first one. */
export async function findOrSaveShop(database: Database, shopId: string): Promise<string | undefined> {
  const known = await findCursor(database, "shop");
  if (known !== undefined) return known;
  return await database.inTransaction(async (transaction) => {
    await transaction.sql`INSERT INTO cursor (name, value) VALUES ('shop', ${shopId}) ON CONFLICT (name) DO NOTHING`;
    // Another process may have saved one first.
    return await findCursor(transaction, "shop");
  });
}

const ofFormerShop: readonly CursorName[] = [
  "catalog-sync",
  "catalog-reconcile",
  "catalog-pages",
  "catalog-deletions",
  "known-ids",
  "uninstalled",
];

/**
 * Switches to another shop and forgets the state of the former one. Its products stay until a
 * comparison of the whole catalog removes them.
 */
export function changeShop(database: Database, shopId: string): Promise<void> {
  return database.inTransaction(async (transaction) => {
    const { sql } = transaction;
    await sql`DELETE FROM cursor WHERE name IN ${sql([...ofFormerShop])}`;
    await sql`DELETE FROM product_news`;
    await sql`DELETE FROM push_queue`;
    await sql`UPDATE product SET checked_at = NULL`;
    await saveCursor(transaction, "shop", shopId);
  });
}
