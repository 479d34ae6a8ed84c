import type { FormStyle } from "../../client/src/form.ts";
import { parseInstruction } from "./instruction.ts";
import { type Labels, translate } from "./labels.ts";

/** A line of a style, as the shopper sees it. */
export interface Field {
  /** Identifies the field within its style; independent of labels. */
  readonly key: string;
  /** Name of the line item property, unique within the style. */
  readonly label: string;
  readonly hint: string;
  readonly optional: boolean;
  /** UTF-16 code units; undefined for no limit. */
  readonly limit: number | undefined;
  /** Whether the instruction asks for digits. */
  readonly digits: boolean;
  /** Empty for a text field. */
  readonly choices: readonly string[];
}

export interface Style {
  readonly code: string;
  readonly name: string;
  readonly fields: readonly Field[];
}

/**
 * Converts the options of a SKU to styles, in the order of the response and without duplicates.
 * Labels change only texts, limits, and which fields are optional: codes, keys, and choices stay.
 */
export function toStyles(options: readonly FormStyle[], labels: Labels): Style[] {
  const byCode = new Map(options.map((style) => [style.style_code, style]));
  return [...byCode].map(([code, { lines }]) => {
    const names = new Set([labels.style]);
    const keys = new Set<string>();
    const fields = lines.map(({ instruct_text, choices }, index): Field => {
      const { label, ...rest } = parseInstruction(translate(instruct_text, labels), labels.optional);
      const name = toPropertyName(translate(label, labels)) || `${labels.line} ${index + 1}`;
      const values = new Set(choices.map(({ choice_value }) => choice_value));
      // The key depends on the data alone, so entered text survives a change of labels.
      const key = addUnique(keys, parseInstruction(instruct_text, "").label || instruct_text);
      return {
        ...rest,
        key,
        label: addUnique(names, name),
        choices: [...values].filter((value) => value.trim() !== ""),
      };
    });
    return { code, name: translate(code, labels).trim() || labels.style, fields };
  });
}

/** Brackets would end the name of a form entry early; a leading underscore hides the property. */
const toPropertyName = (label: string) =>
  label
    .replaceAll("[", "(")
    .replaceAll("]", ")")
    .replace(/\s+/g, " ")
    .replace(/^[_\s]+/, "")
    .trim();

/** Adds the name, with a number if it is taken already. */
function addUnique(taken: Set<string>, name: string): string {
  let unique = name;
  for (let count = 2; taken.has(unique); count++) unique = `${name} ${count}`;
  taken.add(unique);
  return unique;
}
