import type { Config } from "../../config/index.ts";
import { hideCredentials } from "../../credentials.ts";
import type { Log } from "../../log.ts";
import type { Platform } from "../platform.ts";
import { readCatalog } from "./bulk/catalog.ts";
import { createClient, type SendRequest } from "./client.ts";
import { listDeletions } from "./list-deletions.ts";
import { countProducts, listProducts } from "./list-products.ts";
import { apiVersion } from "./queries.ts";
import { readProduct, settleMs } from "./read-product.ts";
import { readShop } from "./shop.ts";
import { createSubscriptions } from "./subscriptions.ts";
import { grantedToken, staticToken } from "./token.ts";
import { createReceiver } from "./webhooks.ts";

/**
 * Creates the Shopify shop that the settings name; undefined without an access token or client
 * credentials.
 */
export function createShopify(config: Config, log: Log): Platform | undefined {
  const request = connect(config, log);
  if (request === undefined) return undefined;
  const receiver = createReceiver(config);
  return {
    source: hideCredentials(config.shopifyApiUrl) || config.shopDomain,
    settings: "SHOP_DOMAIN, SHOPIFY_API_URL, and the access token",
    settleMs,
    readShop: (signal) => readShop(request, { priority: "sync", signal }),
    listProducts: (sinceMs, signal) => listProducts(request, sinceMs, { priority: "sync", signal }),
    readCatalog: (shop, signal) => readCatalog(request, shop, { priority: "sync", signal }, log),
    readProduct: (id, options) => readProduct(request, id, options),
    countProducts: (signal) => countProducts(request, { priority: "sync", signal }),
    listDeletions: (sinceMs, signal) => listDeletions(request, sinceMs, { priority: "sync", signal }),
    receiver,
    subscriptions: createSubscriptions(request, receiver !== undefined),
  };
}

function connect(config: Config, log: Log): SendRequest | undefined {
  const { shopifyAccessToken, shopifyClientId, shopifyClientSecret } = config;
  const origin = new URL(config.shopifyApiUrl === "" ? `https://${config.shopDomain}` : config.shopifyApiUrl);
  const url = new URL(origin.pathname === "/" ? `/admin/api/${apiVersion}/graphql.json` : origin, origin).href;
  if (shopifyAccessToken !== "") return createClient({ url, token: staticToken(shopifyAccessToken), log });
  if (shopifyClientId === "") return undefined;
  const grantUrl = new URL("/admin/oauth/access_token", origin).href;
  return createClient({ url, token: grantedToken(grantUrl, shopifyClientId, shopifyClientSecret), log });
}
