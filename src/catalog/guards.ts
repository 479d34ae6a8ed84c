import { ServiceError } from "../base/errors.ts";
import { pluralize } from "../base/format.ts";
import type { Database } from "../database/database.ts";
import type { Platform } from "../platforms/platform.ts";
import type { RemovalLimit } from "./product-removal.ts";
import { findOrSaveShop } from "./shop.ts";

/** Remembers the first shop that answers. @throws ServiceError `unavailable` for another shop */
export async function checkShop(database: Database, { settings }: Platform, shopId: string): Promise<void> {
  const expected = await findOrSaveShop(database, shopId);
  if (expected === shopId) return;
  throw new ServiceError(
    "unavailable",
    `the platform answers as shop ${shopId}, but the stored products are from shop ${expected}: nothing was changed; ` +
      `check ${settings}, or change the shop on purpose with "pds platform shop"`,
  );
}

/**
 * Checks that one shop answers during a whole run, because the address may now lead to another.
 * @throws ServiceError `unavailable` for another shop
 */
export function checkSameShop({ settings }: Platform, expected: string, shopId: string): void {
  if (expected === shopId) return;
  throw new ServiceError(
    "unavailable",
    `the platform answered as shop ${expected}, and then as shop ${shopId}: stopped; check ${settings}`,
  );
}

/** With fewer stored products, a share means little. */
const minStoredForShare = 20;

/**
 * @param maxShare share of the stored products, from 0 to 1
 * @returns the reason, if an import would remove too many products
 */
export function findImportExcess(removed: number, stored: number, maxShare: number): string | undefined {
  const isExcess = stored >= minStoredForShare && removed > stored * maxShare;
  return isExcess ? describeExcess(removed, stored, maxShare) : undefined;
}

const describeExcess = (removed: number, stored: number, maxShare: number) =>
  `${removed} of ${pluralize(stored, "product")} would be removed, more than ${Math.round(maxShare * 100)}%`;

export function removalRefused(removed: number, { stored, recent }: RemovalLimit, maxShare: number): ServiceError {
  const others = recent === 0 ? "" : ` together with the ${pluralize(recent, "product")} of the last 24 hours`;
  return new ServiceError(
    "invalid_input",
    `${describeExcess(removed, stored, maxShare)}${others}: nothing was changed; ` +
      "if this is correct, raise max_removed_share of [jobs.catalog-reconcile]",
  );
}

/** @throws ServiceError `invalid_input` when a comparison would store too many with fewer images */
export function checkLostImages(losing: number, stored: number, maxShare: number): void {
  if (stored < minStoredForShare || losing <= stored * maxShare) return;
  throw new ServiceError(
    "invalid_input",
    `${losing} of ${pluralize(stored, "product")} would lose images, more than ${Math.round(maxShare * 100)}%: ` +
      "these are kept as they are; if this is correct, raise max_removed_share of [jobs.catalog-reconcile]",
  );
}

/** @throws ServiceError `unavailable` when products could not be read, after all others are stored */
export function checkUnread(failed: number): void {
  if (failed === 0) return;
  throw new ServiceError("unavailable", `${pluralize(failed, "product")} could not be read; the next run tries again`);
}

/** Why a product that the platform no longer has stays in the store; see `removeProducts`. */
export const keptReason =
  "no longer exists on the platform, but too many products were removed in the last 24 hours: kept; " +
  "if this is correct, raise max_removed_share of [jobs.catalog-reconcile]";
