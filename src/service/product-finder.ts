import { Lookup } from "../catalog/lookup.ts";
import type { Config } from "../config/index.ts";
import { maxRemovedShareOf } from "../config/jobs.ts";
import type { Database } from "../database/database.ts";
import { findProduct } from "../database/product.ts";
import { checkShop } from "../database/shop.ts";
import type { Log } from "../log.ts";
import type { ProductSource } from "../operations/products/operation.ts";
import { connectPlatform } from "../platforms/shopify/connection.ts";
import { readProduct } from "../platforms/shopify/read.ts";
import type { Limiters } from "./limiters.ts";

export interface ProductFinderContext {
  readonly database: Database;
  readonly writer: Database;
  readonly limiters: Limiters;
  readonly log: Log;
}

/** Finds products in the store and, if a platform is connected, looks up missing ones there. */
export function createProductFinder(config: Config, context: ProductFinderContext): ProductSource["find"] {
  const { database, writer, limiters, log } = context;
  const findStored = (id: bigint) => limiters.store.run(() => findProduct(database, id));
  const request = connectPlatform(config, log);
  if (request === undefined) return onlyVisible(config.visible, findStored);
  const lookup = new Lookup({
    find: findStored,
    writer,
    gate: limiters.platform,
    read: async (id, signal) => {
      const { shopId, found } = await readProduct(request, id, { priority: "live", signal });
      await checkShop(writer, shopId);
      return found;
    },
    log,
    perMinute: config.lookupsPerMinute,
    maxAgeS: config.productMaxAge,
    maxRemovedShare: maxRemovedShareOf(config),
  });
  return onlyVisible(config.visible, (id) => lookup.find(id));
}

/** Hides the products that shoppers may not see, unless the settings say to serve all. */
function onlyVisible(visible: Config["visible"], find: ProductSource["find"]): ProductSource["find"] {
  if (visible === "all") return find;
  return async (id) => {
    const product = await find(id);
    const from = product?.visibleFrom ?? null;
    return from !== null && from <= new Date().toISOString() ? product : undefined;
  };
}
