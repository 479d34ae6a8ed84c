import type { Database } from "../database/database.ts";
import { exceedsShare } from "../database/product.ts";
import { findOrSaveShop } from "../database/shop.ts";
import { ServiceError } from "../errors.ts";
import { pluralize } from "../format.ts";
import type { Platform } from "../platforms/platform.ts";

/**
 * Checks that the stored products are from the shop that answered. The first shop that answers is
 * remembered.
 * @throws ServiceError `unavailable` for another shop
 */
export async function checkShop(database: Database, { settings }: Platform, shopId: string): Promise<void> {
  const expected = await findOrSaveShop(database, shopId);
  if (expected === shopId) return;
  throw new ServiceError(
    "unavailable",
    `the platform answers as shop ${shopId}, but the stored products are from shop ${expected}: nothing was changed; ` +
      `check ${settings}, or use an empty database for the other shop`,
  );
}

/**
 * Checks that one shop answers for a whole run, though the address may lead to another one by now.
 * @throws ServiceError `unavailable` for another shop
 */
export function checkSameShop({ settings }: Platform, expected: string, shopId: string): void {
  if (expected === shopId) return;
  throw new ServiceError(
    "unavailable",
    `the platform answered as shop ${expected}, and then as shop ${shopId}: stopped; check ${settings}`,
  );
}

/**
 * Checks how many products a comparison of the whole catalog removes.
 * @param maxShare share of the stored products, from 0 to 1
 * @param override how to remove them anyway
 * @throws ServiceError `invalid_input` when there are too many
 */
export function checkRemovals(removed: number, stored: number, maxShare: number, override: string): void {
  const excess = findExcess(removed, stored, maxShare);
  if (excess === undefined) return;
  throw new ServiceError("invalid_input", `${excess}: nothing was changed; if this is correct, ${override}`);
}

/** Says that too many products would be removed. @returns undefined if they are not */
export function findExcess(removed: number, stored: number, maxShare: number): string | undefined {
  if (!exceedsShare(removed, stored, maxShare)) return undefined;
  return `${removed} of ${pluralize(stored, "product")} would be removed, more than ${Math.round(maxShare * 100)}%`;
}

/** Why a product that the platform no longer has stays in the store; see `removeMissing`. */
export const keptReason =
  "no longer exists on the platform, but too many products were removed one by one: kept until the next catalog-reconcile";
