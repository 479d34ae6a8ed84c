import type { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";
import type { Database } from "../database/database.ts";
import type { Platform } from "../platforms/platform.ts";
import { isKnownMissing } from "./known-ids.ts";
import type { ProductLookupOptions } from "./lookup.ts";
import { type FoundProduct, findProduct, findStoredProductId } from "./product.ts";
import type { Visibility } from "./visibility.ts";

/** `network` returns the client's network, so that limits are fair to networks. */
export interface ProductFinder {
  readonly findProduct: FindProduct;
  /** Finds a product by its handle, even if it is not visible, in the store or on the platform. */
  readonly findProductId: (handle: string, network?: () => string) => Promise<bigint | undefined>;
}

type FindProduct = (id: bigint, network?: () => string) => Promise<FoundProduct | undefined>;

export interface ProductFinderOptions
  extends Pick<ProductLookupOptions, "lookupsPerMinute" | "productMaxAge" | "maxRemovedShare"> {
  readonly visible: Visibility;
}

export interface ProductFinderContext extends Pick<ProductLookupOptions, "writer" | "log"> {
  readonly database: Database;
  readonly platform: Platform | undefined;
  readonly limiters: ProductLookupOptions["limiters"] & { readonly store: ConcurrencyLimiter };
}

export async function createProductFinder(
  options: ProductFinderOptions,
  context: ProductFinderContext,
): Promise<ProductFinder> {
  const { visible } = options;
  const { database, platform, limiters } = context;
  const findStored: FindProduct = (id, network) => limiters.store.run(() => findProduct(database, id), network);
  const findStoredId = (handle: string, network?: () => string) =>
    limiters.store.run(() => findStoredProductId(database, handle), network);
  if (platform === undefined) {
    return { findProduct: onlyVisible(visible, findStored), findProductId: findStoredId };
  }
  const { ProductLookup } = await import("./lookup.ts");
  const lookup = new ProductLookup({
    ...options,
    ...context,
    platform,
    findStored,
    findStoredId,
    isKnownMissing: (id, network) => limiters.store.run(() => isKnownMissing(database, id), network),
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
