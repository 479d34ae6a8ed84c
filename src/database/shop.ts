import { findCursor } from "./cursor.ts";
import type { Database } from "./database.ts";

/**
 * The shop that the stored products come from. The first one is remembered by its identifier, since
 * a shop's domain may change.
 */
export async function findOrSaveShop(database: Database, shopId: string): Promise<string | undefined> {
  return (await findCursor(database, "shop")) ?? (await saveShop(database, shopId));
}

/** @returns the remembered shop, which another process may have saved first */
function saveShop(database: Database, shopId: string): Promise<string | undefined> {
  return database.inTransaction(async (transaction) => {
    await transaction.sql`INSERT INTO cursor (name, value) VALUES ('shop', ${shopId}) ON CONFLICT (name) DO NOTHING`;
    return await findCursor(transaction, "shop");
  });
}
