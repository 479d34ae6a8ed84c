import type { Log } from "../base/log.ts";
import { isKnownMissing } from "../catalog/known-ids.ts";
import { findProduct, findProductId } from "../catalog/product.ts";
import type { Config } from "../config/index.ts";
import { maxRemovedShareOf } from "../config/jobs.ts";
import type { Database } from "../database/database.ts";
import type { OperationContext } from "../operations/operation.ts";
import type { Platform } from "../platforms/platform.ts";
import type { Limiters } from "./limiters.ts";

type FindProduct = OperationContext["findProduct"];
type ProductFinder = Pick<OperationContext, "findProduct" | "findProductId">;

export interface ProductFinderContext {
  readonly database: Database;
  readonly writer: Database;
  readonly platform: Platform | undefined;
  readonly limiters: Limiters;
  readonly log: Log;
}

/** Finds products in the store and, if a platform is connected, looks up missing ones there. */
export async function createProductFinder(config: Config, context: ProductFinderContext): Promise<ProductFinder> {
  const { database, writer, platform, limiters, log } = context;
  const findStored: FindProduct = (id, network) => limiters.store.run(() => findProduct(database, id), network);
  const findStoredId = (handle: string, network?: () => string) =>
    limiters.store.run(() => findProductId(database, handle), network);
  if (platform === undefined) {
    return { findProduct: onlyVisible(config.visible, findStored), findProductId: findStoredId };
  }
  const { ProductLookup } = await import("../catalog/lookup.ts");
  const lookup = new ProductLookup({
    findStored,
    findStoredId,
    isKnownMissing: (id, network) => limiters.store.run(() => isKnownMissing(database, id), network),
    writer,
    platform,
    limiter: limiters.platform,
    refreshLimiter: limiters.refresh,
    log,
    perMinute: config.lookupsPerMinute,
    maxAgeS: config.productMaxAge,
    maxRemovedShare: maxRemovedShareOf(config),
  });
  return {
    findProduct: onlyVisible(config.visible, (id, network) => lookup.find(id, network)),
    findProductId: (handle, network) => lookup.findId(handle, network),
  };
}

/** Hides the products that shoppers may not see, unless the settings say to serve all. */
function onlyVisible(visible: Config["visible"], find: FindProduct): FindProduct {
  if (visible === "all") return find;
  return async (id, network) => {
    const product = await find(id, network);
    const from = product?.visibleFrom ?? null;
    return from !== null && from <= new Date().toISOString() ? product : undefined;
  };
}
