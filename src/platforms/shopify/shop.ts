import type { Shop } from "../platform.ts";
import type { RequestOptions, SendRequest } from "./client.ts";

export async function readShop(request: SendRequest, options: RequestOptions): Promise<Shop> {
  const { shop, sent } = await request("Shop", {}, options);
  return { id: shop.id, timeZone: shop.ianaTimezone, weightUnit: shop.weightUnit, readAtMs: sent.sentAtMs };
}
