import type { Personalization } from "../../src/contract/personalization.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { compareSequence } from "../../src/personalization/lists.ts";
import { PersonalizationReader, parsePersonalization } from "../../src/personalization/reader.ts";

/** What a store serves for a SKU. */
export async function readPersonalization(url: string, brand: string, sku: string): Promise<Personalization> {
  const database = await openDatabase(url);
  try {
    return parsePersonalization(await new PersonalizationReader(brand).find(database, sku));
  } finally {
    await closeDatabase(database);
  }
}

/** Numbers the distinct values in the order of their first occurrence. */
function ranksOf(values: Iterable<string>): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const value of values) if (!ranks.has(value)) ranks.set(value, ranks.size);
  return ranks;
}

/**
 * Sorts the rows of one SKU, given in the order of the feed, into display order: lines by their
 * sequence, styles in the order of their lines, choices in the order of their styles.
 */
export function orderPersonalization({ pzlines, pzstyles, pzchoices }: Personalization): Personalization {
  const lines = pzlines.toSorted((a, b) => compareSequence(a.style_display_seq, b.style_display_seq));
  const lineRanks = ranksOf(lines.map((line) => line.style_code));
  const styles = pzstyles.toSorted(
    (a, b) =>
      (lineRanks.get(a.style_code) ?? 0) - (lineRanks.get(b.style_code) ?? 0) ||
      compareSequence(a.line_display_seq, b.line_display_seq),
  );
  const styleRanks = ranksOf(styles.map((style) => style.choice_type));
  const choices = pzchoices.toSorted(
    (a, b) =>
      (styleRanks.get(a.choice_type) ?? 0) - (styleRanks.get(b.choice_type) ?? 0) ||
      compareSequence(a.choice_display_seq, b.choice_display_seq),
  );
  return { pzlines: lines, pzstyles: styles, pzchoices: choices };
}
