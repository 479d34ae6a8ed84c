import type { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";
import type { Log } from "../base/log.ts";
import type { Database } from "../database/database.ts";
import type { Platform } from "../platforms/platform.ts";
import { isKnownMissing } from "./known-ids.ts";
import { type FoundProduct, findProduct, findStoredProductId } from "./product.ts";
import type { Visibility } from "./visibility.ts";

/** `network` returns the client's network, so that limits are fair to networks. */
export interface ProductFinder {
  readonly findProduct: FindProduct;
  /** Finds a product by its handle, even if it is not visible, in the store or on the platform. */
  readonly findProductId: (handle: string, network?: () => string) => Promise<bigint | undefined>;
}

type FindProduct = (id: bigint, network?: () => string) => Promise<FoundProduct | undefined>;

export interface ProductFinderOptions {
  readonly visible: Visibility;
  readonly lookupsPerMinute: number;
  readonly productMaxAge: number;
  /** Share of the stored products, from 0 to 1, that may be removed within 24 hours. */
  readonly maxRemovedShare: number;
}

export interface ProductFinderContext {
  readonly database: Database;
  readonly writer: Database;
  readonly platform: Platform | undefined;
  /** Separate limits for the store, the platform, and refreshes in the background. */
  readonly limiters: Readonly<Record<"store" | "platform" | "refresh", ConcurrencyLimiter>>;
  readonly log: Log;
}

export async function createProductFinder(
  { visible, lookupsPerMinute, productMaxAge, maxRemovedShare }: ProductFinderOptions,
  { database, writer, platform, limiters, log }: ProductFinderContext,
): Promise<ProductFinder> {
  const findStored: FindProduct = (id, network) => limiters.store.run(() => findProduct(database, id), network);
  const findStoredId = (handle: string, network?: () => string) =>
    limiters.store.run(() => findStoredProductId(database, handle), network);
  if (platform === undefined) {
    return { findProduct: onlyVisible(visible, findStored), findProductId: findStoredId };
  }
  const { ProductLookup } = await import("./lookup.ts");
  const lookup = new ProductLookup({
    findStored,
    findStoredId,
    isKnownMissing: (id, network) => limiters.store.run(() => isKnownMissing(database, id), network),
    writer,
    platform,
    limiter: limiters.platform,
    refreshLimiter: limiters.refresh,
    log,
    perMinute: lookupsPerMinute,
    maxAgeS: productMaxAge,
    maxRemovedShare,
  });
  return {
    findProduct: onlyVisible(visible, (id, network) => lookup.find(id, network)),
    findProductId: (handle, network) => lookup.findId(handle, network),
  };
}

/** Hides products that shoppers may not see, unless the settings serve all. */
function onlyVisible(visible: Visibility, find: FindProduct): FindProduct {
  if (visible === "all") return find;
  return async (id, network) => {
    const product = await find(id, network);
    const from = product?.visibleFrom ?? null;
    return from !== null && from <= new Date().toISOString() ? product : undefined;
  };
}
