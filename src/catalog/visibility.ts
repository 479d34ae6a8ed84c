import type { Config } from "../config/index.ts";

/** Beyond this share it is likely that products are published elsewhere than in the online store. */
const usualShare = 0.1;

/** Tells how many of the products are not served, and warns when these are many. */
export function hiddenNotes(visible: Config["visible"], hidden: number, total: number): string[] {
  if (visible === "all" || hidden === 0) return [];
  const note = `hidden products: ${hidden} of ${total}, since they are drafts, archived, or not published`;
  if (hidden <= total * usualShare) return [note];
  return [
    `warning: ${note}; if your storefront publishes products elsewhere than in the online store, set VISIBLE=all`,
  ];
}
