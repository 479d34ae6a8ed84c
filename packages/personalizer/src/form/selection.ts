import type { Labels } from "../labels.ts";
import { type Entry, keyOf, type Selection } from "../selection.ts";
import { cleanText } from "./characters.ts";
import { type Field, isLong, type Style } from "./styles.ts";

export const findStyle = ({ style }: Selection, styles: readonly Style[]) => styles.find(({ code }) => code === style);

/** The value to order. */
export const cleanValue = (value: string, { choices, uppercase }: Field) =>
  choices.length > 0 ? value : cleanText(value, uppercase);

export const cleanValueOf = ({ values }: Selection, style: Style, field: Field) =>
  cleanValue(values.get(keyOf(style, field)) ?? "", field);

/** Lists the fields of the style that have a value. */
export function listFilledIn(selection: Selection, style: Style): [field: Field, value: string][] {
  return style.fields
    .map((field): [Field, string] => [field, cleanValueOf(selection, style, field)])
    .filter(([, value]) => value !== "");
}

/** The current choice, as in `value` and in the detail of `change`. */
export interface PersonalizationValue {
  readonly style: string;
  readonly lines: readonly { readonly label: string; readonly value: string }[];
}

/** Null without personalization. */
export function toValue(selection: Selection, styles: readonly Style[]): PersonalizationValue | null {
  const style = findStyle(selection, styles);
  if (style === undefined) return null;
  return { style: style.code, lines: listFilledIn(selection, style).map(([{ label }, value]) => ({ label, value })) };
}

/**
 * Converts the selection to form entries for line item properties; empty without personalization.
 * @param tag entity tag of the response that the shopper saw
 * @param place of the element among those in its form, from 1: each needs names of its own
 */
export function toEntries(
  selection: Selection,
  styles: readonly Style[],
  labels: Labels,
  tag: string,
  place: number,
): Entry[] {
  const style = findStyle(selection, styles);
  if (style === undefined) return [];
  const properties: Entry[] = [
    [labels.style, style.name],
    ...listFilledIn(selection, style).map(([{ label }, value]): Entry => [label, value]),
    ["_style", style.code],
    ["_personalization", tag],
  ];
  const suffix = place > 1 ? ` (${place})` : "";
  return properties.map(([name, value]) => [`properties[${name}${suffix}]`, value]);
}

/**
 * Keeps the part of the selection that the styles offer. A single required style is chosen.
 * @param names gets the names of its styles and choices: a SKU that lacks them has none for them
 */
export function fitSelection(
  selection: Selection,
  styles: readonly Style[],
  required: boolean,
  names: Map<string, string>,
): Selection {
  const values = new Map<string, string>();
  for (const style of styles) {
    for (const field of style.fields) {
      const { choices } = field;
      const key = keyOf(style, field);
      const entered = selection.values.get(key);
      // A field of one line would join the words at the ends of lines.
      const value = choices.length > 0 || isLong(field) ? entered : entered?.replaceAll("\n", " ");
      const choice = choices.find((one) => one.value === value);
      if (choice) names.set(key + choice.value, choice.text);
      if (value !== undefined && (choice || choices.length === 0)) values.set(key, value);
    }
  }
  const only = required && styles.length === 1 ? styles[0] : undefined;
  const chosen = findStyle(selection, styles) ?? only;
  if (chosen) names.set(chosen.code, chosen.name);
  return { style: chosen?.code, values };
}
