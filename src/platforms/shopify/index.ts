import type { Config } from "../../config/index.ts";
import { hideCredentials } from "../../credentials.ts";
import type { Log } from "../../log.ts";
import type { Platform, SharedPoints } from "../platform.ts";
import { readCatalog } from "./bulk/catalog.ts";
import { createClient, type SendRequest } from "./client.ts";
import { Documents } from "./documents.ts";
import { listDeletions } from "./list-deletions.ts";
import { countProducts, findProductId, listProducts } from "./list-products.ts";
import { readPages } from "./read-page.ts";
import { readProduct, settleMs } from "./read-product.ts";
import { readShop } from "./shop.ts";
import { createSubscriptions } from "./subscriptions.ts";
import { grantedToken, staticToken } from "./token.ts";
import { createReceiver } from "./webhooks.ts";

/**
 * Creates the Shopify shop that the settings name; undefined without an access token or client
 * credentials.
 */
export function createShopify(config: Config, log: Log, points?: SharedPoints): Platform | undefined {
  const { publication, metafieldNamespaces: namespaces } = config;
  const documents = new Documents(log, { publication, namespaces });
  const request = connect(config, documents, log, points);
  if (request === undefined) return undefined;
  const receiver = createReceiver(config);
  return {
    source: hideCredentials(config.shopifyApiUrl) || config.shopDomain,
    settings: "SHOP_DOMAIN, SHOPIFY_API_URL, and the access token",
    settleMs,
    readShop: (signal) => readShop(request, { priority: "sync", signal }),
    listProducts: (sinceMs, signal) => listProducts(request, sinceMs, { priority: "sync", signal }),
    countProducts: (signal) => countProducts(request, { priority: "sync", signal }),
    listDeletions: (sinceMs, signal) => listDeletions(request, sinceMs, { priority: "sync", signal }),
    receiver,
    subscriptions: createSubscriptions(request, receiver !== undefined),
    readCatalog: (shop, signal) => readCatalog(request, shop, { priority: "sync", signal }, { documents, log }),
    readPages: (after, signal) => readPages(request, after, { priority: "sync", signal }),
    readProduct: (id, options) => readProduct(request, id, options),
    findProductId: (handle, options) => findProductId(request, handle, options),
  };
}

function connect(config: Config, documents: Documents, log: Log, points?: SharedPoints): SendRequest | undefined {
  const { shopifyAccessToken, shopifyClientId, shopifyClientSecret } = config;
  const origin = new URL(config.shopifyApiUrl === "" ? `https://${config.shopDomain}` : config.shopifyApiUrl);
  const path = `/admin/api/${config.shopifyApiVersion}/graphql.json`;
  const url = new URL(origin.pathname === "/" ? path : origin, origin).href;
  const context = { url, log, documents, points };
  if (shopifyAccessToken !== "") return createClient({ ...context, token: staticToken(shopifyAccessToken) });
  if (shopifyClientId === "") return undefined;
  const grantUrl = new URL("/admin/oauth/access_token", origin).href;
  return createClient({ ...context, token: grantedToken(grantUrl, shopifyClientId, shopifyClientSecret) });
}
