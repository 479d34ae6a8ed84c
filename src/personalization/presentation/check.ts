import type { Database } from "../../database/database.ts";
import type { Occurrences, PresentationCheck } from "../../jobs/import-report.ts";
import { countOccurrence } from "../import/statistics.ts";
import { walkRows } from "./codes.ts";
import { choiceKey, describeKey, keyOf, lineKey, listLocales, type PresentationEntry, styleKey } from "./entry.ts";

/**
 * Finds codes without a name in a locale that others have, and entries that are not in the feed.
 * @param limit maximum number of examples
 */
export async function checkPresentation(
  database: Database,
  generation: number,
  entries: readonly PresentationEntry[],
  limit?: number,
): Promise<PresentationCheck> {
  const locales = listLocales(entries);
  const unseen = new Map(entries.map((entry) => [keyOf(entry), entry]));
  const codesWithoutNames: Occurrences = { count: 0, examples: [] };
  const visit = (key: string, describe: () => string) => {
    const names = unseen.get(key)?.name ?? {};
    unseen.delete(key);
    const missing = locales.filter((locale) => !Object.hasOwn(names, locale));
    if (missing.length > 0) countOccurrence(codesWithoutNames, () => `${describe()} (${missing.join(", ")})`, limit);
    else if (locales.length === 0) countOccurrence(codesWithoutNames, describe, limit);
  };
  for await (const { name: style, rows } of walkRows(database, generation, "styles")) {
    visit(styleKey(style), () => describeKey({ style }));
    for (const { line_display_seq: line } of rows) visit(lineKey(style, line), () => describeKey({ style, line }));
  }
  for await (const { name: group, rows } of walkRows(database, generation, "groups")) {
    for (const { choice_value: choice } of rows) {
      visit(choiceKey(group, choice), () => describeKey({ group, choice }));
    }
  }
  const namesWithoutCodes: Occurrences = { count: 0, examples: [] };
  for (const entry of unseen.values()) countOccurrence(namesWithoutCodes, () => describeKey(entry), limit);
  return { codesWithoutNames, namesWithoutCodes };
}
