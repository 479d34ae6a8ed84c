import type { Personalization, PersonalizationChoice, PersonalizationLine, PersonalizationStyle } from "./types.ts";

/** One line of text to fill in: free text where `choices` is empty, else one of them. */
export interface FormLine extends PersonalizationStyle {
  choices: PersonalizationChoice[];
}

/** A style that the SKU offers, with its lines of text. */
export interface FormStyle extends PersonalizationLine {
  lines: FormLine[];
}

/**
 * The three flat lists as the tree that a form shows: the styles in the order of `pzlines`, in each its lines of text in the
 * order of `pzstyles`, in each its choices in the order of `pzchoices`. A group that several lines share is in each of them.
 */
export function toForm({ pzlines, pzstyles, pzchoices }: Personalization): FormStyle[] {
  const choices = groupBy(pzchoices, ({ choice_type }) => choice_type);
  const styles = groupBy(pzstyles, ({ style_code }) => style_code);
  const toLine = (style: PersonalizationStyle): FormLine => ({
    ...style,
    choices: [...(choices.get(style.choice_type) ?? [])],
  });
  return pzlines.map((line) => ({ ...line, lines: (styles.get(line.style_code) ?? []).map(toLine) }));
}

/** As `Map.groupBy`, which Node 20 has not. */
function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}
