/** When a read of a product could not be used. */
export const noteUnusableReads: readonly string[] = [
  // unusable_at: when the read began whose product could not be stored; null when anything newer
  // is known of it.
  "ALTER TABLE product_news ADD COLUMN unusable_at TEXT",
];
