import type { Shop } from "../platform.ts";
import type { RequestOptions, SendRequest } from "./client.ts";
import type { ShopifyShop } from "./queries.ts";

export async function readShop(request: SendRequest, options: RequestOptions): Promise<Shop> {
  let readAtMs = 0;
  const onSentAt = (platformMs: number) => {
    readAtMs = platformMs;
  };
  const { shop } = await request<{ shop: ShopifyShop }>("Shop", {}, { ...options, onSentAt });
  return { id: shop.id, timeZone: shop.ianaTimezone, readAtMs };
}
