import { utcTime } from "../base/format.ts";
import type { Product } from "../contract/product.ts";

/** Serve only public products, or all. */
export const visibilities = ["active", "all"] as const;
export type Visibility = (typeof visibilities)[number];

/** Above this share, products are probably published somewhere other than the online store. */
const usualShare = 0.1;

export function hiddenNotes(visible: Visibility, hidden: number, total: number): string[] {
  if (visible === "all" || hidden === 0) return [];
  const note = `hidden products: ${hidden} of ${total}, because they are drafts, archived, or not published`;
  if (hidden <= total * usualShare) return [note];
  return [
    `warning: ${note}; if your storefront publishes products outside the online store, set PUBLICATION, or VISIBLE=all`,
  ];
}

type Publication = Pick<Product, "status" | "published_at">;

const isPublic = ({ status }: Publication) => status === "active" || status === "unlisted";

/**
 * When a product becomes visible to shoppers: at its publication if it is active or unlisted.
 * @returns ISO 8601 in UTC with milliseconds; null for never
 */
export const visibleFromOf = (product: Publication): string | null =>
  isPublic(product) && product.published_at !== null ? new Date(product.published_at).toISOString() : null;

export function findHidingReason(product: Publication, now: number): string | undefined {
  const { status, published_at } = product;
  if (status === "draft") return "it is a draft";
  if (!isPublic(product)) return `it is ${status}`;
  if (published_at === null) return "it is not published";
  const from = new Date(published_at);
  return from.getTime() > now ? `it is not published until ${utcTime(from.toISOString())}` : undefined;
}
