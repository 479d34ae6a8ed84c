import { z } from "zod";
import { ServiceError } from "../../base/errors.ts";
import { parseJson } from "../../base/json.ts";
import { maxId } from "../../contract/product-values.ts";
import type { Delivery, DeliveryReceiver } from "../platform.ts";
import type { ShopifySettings } from "./settings.ts";

export const webhookPath = "/webhooks/shopify";

const productTopics = ["products/create", "products/update", "products/delete"];
const uninstalledTopic = "app/uninstalled";
export const webhookTopics: readonly string[] = [...productTopics, uninstalledTopic];

/** @returns undefined without the secret that signs webhooks */
export function createReceiver(settings: ShopifySettings): DeliveryReceiver | undefined {
  const { shopifyWebhookSecret, shopifyWebhookSecretPrevious, shopDomain, shopifyApiUrl } = settings;
  if (shopifyWebhookSecret === "") return undefined;
  const secrets = [shopifyWebhookSecret, shopifyWebhookSecretPrevious].filter((secret) => secret !== "");
  // Product responses may name another domain of the shop than its API has.
  const shops = [shopDomain, ...(shopifyApiUrl === "" ? [] : [new URL(shopifyApiUrl).hostname])];
  const topicOf = (headers: Headers) => webhookTopics.find((topic) => topic === headers.get("x-shopify-topic"));
  return {
    path: webhookPath,
    topics: webhookTopics,
    topicOf,
    receive: (headers, body) => {
      // The signature covers the body alone, so the headers are checked but never trusted: a
      // delivery only makes the service read the product.
      checkSignature(headers, body, secrets);
      checkShop(headers, shops);
      const topic = topicOf(headers);
      if (topic === undefined) return { kind: "unknown" };
      return topic === uninstalledTopic ? { kind: "uninstalled" } : readProductNews(topic, body);
    },
  };
}

function checkSignature(headers: Headers, body: Uint8Array, secrets: readonly string[]): void {
  const given = Buffer.from(headers.get("x-shopify-hmac-sha256") ?? "", "base64");
  const isSigned = secrets.some((secret) => {
    const expected = new Bun.CryptoHasher("sha256", secret).update(body).digest();
    return given.length === expected.length && crypto.timingSafeEqual(given, expected);
  });
  if (isSigned) return;
  throw new ServiceError(
    "bad_signature",
    "X-Shopify-Hmac-Sha256 is not the signature of this body with the secret that is configured here.",
  );
}

function checkShop(headers: Headers, shops: readonly string[]): void {
  const shop = headers.get("x-shopify-shop-domain") ?? "";
  if (shops.some((expected) => expected.toLowerCase() === shop.toLowerCase())) return;
  throw new ServiceError("misdirected", `X-Shopify-Shop-Domain is ${JSON.stringify(shop)}, not this service's shop.`);
}

/** A subscription may deliver more fields than it needs to. */
const productSchema = z.object({
  id: z.union([z.int().positive(), z.bigint().positive().max(maxId)]),
  updated_at: z.iso.datetime({ offset: true }).nullish(),
});

function readProductNews(topic: string, body: Uint8Array): Delivery {
  const { data, error } = productSchema.safeParse(parse(body));
  if (error !== undefined) {
    const [issue] = error.issues;
    const place = issue?.path.join(".") || "the body";
    throw new ServiceError("bad_request", `The body of ${topic} cannot be read: ${place}: ${issue?.message}.`);
  }
  const id = BigInt(data.id);
  if (data.updated_at == null) return { kind: "product", id };
  // The API has the same instant in UTC.
  return { kind: "product", id, updatedAt: `${new Date(data.updated_at).toISOString().slice(0, 19)}Z` };
}

function parse(body: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}
