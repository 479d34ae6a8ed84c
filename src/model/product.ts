import type { z } from "zod";
import type {
  imageSchema,
  metafieldSchema,
  optionSchema,
  productAnswerSchema,
  productSchema,
  variantSchema,
} from "./schemas/product.ts";

export type Metafield = z.infer<typeof metafieldSchema>;
export type Image = z.infer<typeof imageSchema>;
export type Option = z.infer<typeof optionSchema>;
export type Variant = z.infer<typeof variantSchema>;
export type Product = z.infer<typeof productSchema>;
export type ProductAnswer = z.infer<typeof productAnswerSchema>;

/** Largest identifier: a signed 64-bit integer. */
export const maxId = 2n ** 63n - 1n;

/** A `number` where that is exact, otherwise a `bigint`. */
export type Id = number | bigint;

/** Longer ones are not found. */
export const maxHandleLength = 255;

/** How long a platform's reads and lists of products may lag behind its changes. */
export const lagMs = 10_000;

/** Parses digits without a leading zero, within signed 64 bits; undefined for anything else. */
export function parseProductId(text: string): bigint | undefined {
  if (!/^[1-9]\d{0,18}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value <= maxId ? value : undefined;
}

/** Converts decimal text to an identifier, exactly. */
export function toId(text: string): Id {
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : BigInt(text);
}

/**
 * Writes an amount with two decimal places, as text, since a double could change it: `3000` is
 * `3000.00`, `12.500` is `12.50`. Undefined when that would change the amount, as for `12.345`.
 */
export function toMoney(amount: string): string | undefined {
  const [, whole, places = ""] = /^(-?\d+)(?:\.(\d{0,2})0*)?$/.exec(amount) ?? [];
  return whole === undefined ? undefined : `${whole}.${places.padEnd(2, "0")}`;
}

/** Host and path of an image, without the version in the query, which differs between responses. */
export function addressOf(url: string): string {
  const query = url.indexOf("?");
  return url.slice(url.indexOf("//"), query < 0 ? undefined : query);
}

/**
 * When a product becomes visible to shoppers: at its publication if it is active or unlisted.
 * @returns ISO 8601 in UTC with milliseconds; null for never
 */
export function visibleFromOf({ status, published_at }: Pick<Product, "status" | "published_at">): string | null {
  const isPublic = status === "active" || status === "unlisted";
  return isPublic && published_at !== null ? new Date(published_at).toISOString() : null;
}
