import { ServiceError } from "../errors.ts";
import { findCursor } from "./cursor.ts";
import type { Database } from "./database.ts";
import { writing } from "./database.ts";

/**
 * Makes sure that the shop that answers is the one the stored products come from. The first shop that answers is remembered, by its
 * identifier: its domain may change.
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

/** @returns the shop that is remembered from now on, which another process may have been faster to set */
function rememberShop(database: Database, shopId: string): Promise<string | undefined> {
  return writing(database, async (transaction) => {
    await transaction`INSERT INTO mark (name, value) VALUES ('shop', ${shopId}) ON CONFLICT (name) DO NOTHING`;
    return await findCursor({ sql: transaction }, "shop");
  });
}
