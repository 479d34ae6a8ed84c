/** Serve only public products, or all. */
export const visibilities = ["active", "all"] as const;
export type Visibility = (typeof visibilities)[number];

/** Above this share, products are probably published somewhere other than the online store. */
const usualShare = 0.1;

/** Reports how many products are not served, with a warning when there are many. */
export function hiddenNotes(visible: Visibility, hidden: number, total: number): string[] {
  if (visible === "all" || hidden === 0) return [];
  const note = `hidden products: ${hidden} of ${total}, because they are drafts, archived, or not published`;
  if (hidden <= total * usualShare) return [note];
  return [
    `warning: ${note}; if your storefront publishes products outside the online store, set PUBLICATION, or VISIBLE=all`,
  ];
}
