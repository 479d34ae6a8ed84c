import type { Personalization, PersonalizationChoice, PersonalizationLine, PersonalizationStyle } from "./types.ts";

/** A form field: free text if `choices` is empty, otherwise one of the choices. */
export interface FormLine extends PersonalizationStyle {
  choices: PersonalizationChoice[];
}

/** A style that the SKU offers, with its lines. */
export interface FormStyle extends PersonalizationLine {
  lines: FormLine[];
}

/**
 * Converts the three flat lists of a SKU to a tree for a form: styles in the order of `pzlines`,
 * with their lines in the order of `pzstyles`, with their choices in the order of `pzchoices`.
 * Lines that share a choice group each get its choices.
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

/** Like `Map.groupBy`, which Node 20 lacks. */
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
