import { hideCredentials } from "../../base/credentials.ts";
import type { Log } from "../../base/log.ts";
import { createFetch } from "../../base/outgoing.ts";
import type { Platform, SharedPoints } from "../platform.ts";
import { type ClientOptions, createClient, type SendRequest } from "./client.ts";
import { Documents } from "./documents.ts";
import { listDeletions } from "./list-deletions.ts";
import { countProducts, findProductId, listProducts } from "./list-products.ts";
import { readPages } from "./read-page.ts";
import { readProduct } from "./read-product.ts";
import type { ShopifySettings } from "./settings.ts";
import { readShop } from "./shop.ts";
import { createSubscriptions } from "./subscriptions.ts";
import { grantedToken, staticToken } from "./token.ts";
import { createReceiver } from "./webhooks.ts";

/** Requires an access token or client credentials. */
export function createShopify(settings: ShopifySettings, log: Log, points?: SharedPoints): Platform {
  const { publication, metafieldNamespaces: namespaces, maxFileMegabytes: maxMegabytes } = settings;
  const fetch = createFetch(settings);
  const documents = new Documents(log, { publication, namespaces });
  const request = connect(settings, { documents, log, points, fetch });
  const receiver = createReceiver(settings);
  return {
    source: hideCredentials(settings.shopifyApiUrl) || settings.shopDomain,
    settings: "SHOP_DOMAIN, SHOPIFY_API_URL, and the access token",
    rereadMs: 2000,
    readShop: (signal) => readShop(request, { priority: "sync", signal }),
    check: async (signal) => {
      const options = { priority: "sync", signal, isCheck: true } as const;
      const shop = await readShop(request, options);
      // The shop can be read without any scope; its products cannot.
      await countProducts(request, options);
      return shop;
    },
    listProducts: (sinceMs, signal) => listProducts(request, sinceMs, { priority: "sync", signal }),
    countProducts: (signal) => countProducts(request, { priority: "sync", signal }),
    listDeletions: (sinceMs, signal) => listDeletions(request, sinceMs, { priority: "sync", signal }),
    receiver,
    subscriptions: createSubscriptions(request, receiver !== undefined, !settings.shopifyApiUrl.startsWith("http:")),
    // Only a job reads all products.
    readCatalog: async (shop, signal) => {
      const { readCatalog } = await import("./bulk/catalog.ts");
      const context = { documents, log, download: { fetch, maxMegabytes } };
      return await readCatalog(request, shop, { priority: "sync", signal }, context);
    },
    readPages: (after, signal) => readPages(request, after, { priority: "sync", signal }),
    readProduct: (id, options) => readProduct(request, id, options),
    findProductId: (handle, options) => findProductId(request, handle, options),
  };
}

type ConnectionContext = Required<Pick<ClientOptions, "documents" | "log" | "points" | "fetch">>;

function connect(settings: ShopifySettings, context: ConnectionContext): SendRequest {
  const { shopifyAccessToken, shopifyClientId, shopifyClientSecret } = settings;
  const origin = new URL(settings.shopifyApiUrl === "" ? `https://${settings.shopDomain}` : settings.shopifyApiUrl);
  const path = `/admin/api/${settings.shopifyApiVersion}/graphql.json`;
  const url = new URL(origin.pathname === "/" ? path : origin, origin).href;
  if (shopifyAccessToken !== "") return createClient({ ...context, url, token: staticToken(shopifyAccessToken) });
  const grantUrl = new URL("/admin/oauth/access_token", origin).href;
  const token = grantedToken(grantUrl, shopifyClientId, shopifyClientSecret, context.fetch);
  return createClient({ ...context, url, token });
}
