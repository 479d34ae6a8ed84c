import type { Environment } from "./pds.ts";
import { environmentOf, type StandIn, shop } from "./platform.ts";

/** The client secret of the stand-in's app. */
export const secret = "stand-in-secret";
export const path = "/webhooks/shopify";

export const webhookEnvironment = (platform: Pick<StandIn, "origin">): Environment => ({
  ...environmentOf(platform),
  SHOPIFY_WEBHOOK_SECRET: secret,
});

export const sign = (body: string | Uint8Array, key = secret) =>
  new Bun.CryptoHasher("sha256", key).update(body).digest("base64");

export interface TestDelivery {
  readonly topic?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Headers of a delivery as the platform sends it. */
export const headersOf = ({ topic = "products/update", body = "{}", headers }: TestDelivery) => ({
  "Content-Type": "application/json",
  "X-Shopify-Topic": topic,
  "X-Shopify-Shop-Domain": shop,
  "X-Shopify-Hmac-Sha256": sign(body),
  ...headers,
});

/** Delivers to a service as the platform does. */
export function deliver(url: string, delivery: TestDelivery): Promise<Response> {
  const { body = "{}" } = delivery;
  return fetch(`${url}${path}`, { method: "POST", body, headers: headersOf(delivery) });
}
