import type { Shop } from "../platform.ts";
import type { RequestOptions, SendRequest, SentRequest } from "./client.ts";

export async function readShop(request: SendRequest, options: RequestOptions): Promise<Shop> {
  let readAtMs = 0;
  const onResponse = ({ sentAtMs }: SentRequest) => {
    readAtMs = sentAtMs;
  };
  const { shop } = await request("Shop", {}, { ...options, onResponse });
  return { id: shop.id, timeZone: shop.ianaTimezone, weightUnit: shop.weightUnit, readAtMs };
}
