import type { Database } from "../database/database.ts";
import { ChangingProductError, lagMs, type Platform, type ReadOptions } from "../platforms/platform.ts";
import { checkSameShop, checkShop } from "./guards.ts";
import {
  findProductState,
  markProductStale,
  type ReadingTimes,
  type StoredProduct,
  saveProducts,
  toStoredProduct,
} from "./product.ts";
import { removeProducts } from "./product-removal.ts";
import { findNewestUpdate, mayLagBehindDelivery, noteWaiting } from "./product-truth.ts";

export interface RefreshContext {
  readonly database: Database;
  readonly platform: Platform;
  /** The shop that must respond; by default, that of the stored products. */
  readonly shopId?: string;
  readonly maxRemovedShare: number;
}

export type RefreshOutcome =
  | "stored"
  /** The stored product has the same content and is now known to be current. */
  | "unchanged"
  | "not newer"
  | "gone"
  /** The platform no longer has it, but too many products were removed. */
  | "kept"
  /** Its responses are inconsistent, so nothing was stored. */
  | "changing";

export interface Refreshed {
  readonly outcome: RefreshOutcome;
  /** If false, the product must be read again. */
  readonly isSettled: boolean;
}

/**
 * Reads one product from the platform, and stores it or removes it.
 * @throws PlatformError when the platform does not answer; ServiceError if another shop responded
 */
export async function refreshProduct(id: bigint, options: ReadOptions, context: RefreshContext): Promise<Refreshed> {
  const { database, platform, shopId: expected } = context;
  const way = options.priority === "refresh" ? "live" : options.priority;
  try {
    const { shopId, found, isPaged, beganMs, readAtMs } = await platform.readProduct(id, options);
    if (expected === undefined) await checkShop(database, platform, shopId);
    else checkSameShop(platform, expected, shopId);
    const reading: ReadingTimes = { way, beganMs, endedMs: performance.now(), platformMs: readAtMs };
    if (found === undefined) return await remove(id, reading, context);
    if (isPaged && (await mayLagBehindDelivery(database, id, reading))) {
      throw new ChangingProductError("its responses may lag behind a delivery", found.updatedAt);
    }
    return await save(toStoredProduct(found.product, found.updatedAt, found.isSettled), reading, database);
  } catch (error) {
    if (!(error instanceof ChangingProductError)) throw error;
    await noteWaiting(database, id, error.updatedAt);
    return { outcome: "changing", isSettled: false };
  }
}

function save(product: StoredProduct, reading: ReadingTimes, database: Database): Promise<Refreshed> {
  return database.inTransaction(async (transaction) => {
    const before = await findProductState(transaction, product.id);
    const saved = await saveProducts(transaction, [product], reading);
    const state = await findProductState(transaction, product.id);
    const outcome = saved === 0 ? "not newer" : before?.tag === product.tag ? "unchanged" : "stored";
    return { outcome, isSettled: state?.isSettled ?? false };
  });
}

async function remove(
  id: bigint,
  reading: ReadingTimes,
  { database, maxRemovedShare }: RefreshContext,
): Promise<Refreshed> {
  const newest = await findNewestUpdate(database, id);
  if (newest === undefined) return { outcome: "gone", isSettled: true };
  if (newest !== "" && reading.platformMs < Date.parse(newest) + lagMs) {
    await markProductStale(database, id);
    return { outcome: "not newer", isSettled: false };
  }
  const removed = await removeProducts(database, [id], maxRemovedShare, reading);
  if (typeof removed === "number") return { outcome: "gone", isSettled: true };
  await markProductStale(database, id);
  return { outcome: "kept", isSettled: true };
}
