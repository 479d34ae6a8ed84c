import { ServiceError } from "../errors.ts";
import { findCursor } from "./cursor.ts";
import type { Database } from "./database.ts";

/**
 * Checks that the stored products come from the shop that responds. The first shop is remembered by
 * its id, because its domain may change.
 * @throws ServiceError `unavailable` when it is another shop
 */
export async function checkShop(database: Database, shopId: string): Promise<void> {
  const known = (await findCursor(database, "shop")) ?? (await rememberShop(database, shopId));
  if (known === shopId) return;
  throw new ServiceError(
    "unavailable",
    `the platform answers as shop ${shopId}, but the stored products are from shop ${known}: nothing was changed; ` +
      "check SHOP_DOMAIN, SHOPIFY_API_URL and the access token, or use an empty database for the other shop",
  );
}

/** @returns the remembered shop, which another process may have set first */
function rememberShop(database: Database, shopId: string): Promise<string | undefined> {
  return database.inTransaction(async (transaction) => {
    await transaction.sql`INSERT INTO cursor (name, value) VALUES ('shop', ${shopId}) ON CONFLICT (name) DO NOTHING`;
    return await findCursor(transaction, "shop");
  });
}
