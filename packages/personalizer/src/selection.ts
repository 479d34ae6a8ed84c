import { cleanText, countGraphemes, listRefused } from "./characters.ts";
import { parseJson } from "./json.ts";
import type { Labels } from "./labels.ts";
import type { Field, Style } from "./styles.ts";

/** The shopper's input. It keeps the values of all styles, so switching styles loses nothing. */
export interface Selection {
  /** Code of the chosen style; undefined for no personalization. */
  readonly style: string | undefined;
  /** By `keyOf`. */
  readonly values: ReadonlyMap<string, string>;
}

/** A form entry. */
export type Entry = readonly [name: string, value: string];

export const nothingSelected: Selection = { style: undefined, values: new Map() };

/** No database holds a NUL in a text. */
const prefixOf = (code: string) => `${code}\0`;

export const keyOf = (style: Style, field: Field) => prefixOf(style.code) + field.key;

export const findStyle = ({ style }: Selection, styles: readonly Style[]) => styles.find(({ code }) => code === style);

/** The value to order. */
export const cleanValue = (value: string, { choices, uppercase }: Field) =>
  choices.length > 0 ? value.trim() : cleanText(value, uppercase);

const cleanValueOf = ({ values }: Selection, style: Style, field: Field) =>
  cleanValue(values.get(keyOf(style, field)) ?? "", field);

export interface Problem {
  /** Undefined if no style is chosen. */
  readonly field: Field | undefined;
  readonly reason: "pick" | "fill" | "choose" | "shorten" | "remove";
  /** What cannot be made. */
  readonly text?: string;
}

/** Lists why the selection cannot be ordered, in the order of the page. */
export function listProblems(selection: Selection, styles: readonly Style[], required: boolean): Problem[] {
  const style = findStyle(selection, styles);
  if (style === undefined) return required && styles.length > 0 ? [{ field: undefined, reason: "pick" }] : [];
  return style.fields.flatMap((field): Problem[] => {
    const value = cleanValueOf(selection, style, field);
    const isText = field.choices.length === 0;
    if (value === "") return field.optional ? [] : [{ field, reason: isText ? "fill" : "choose" }];
    if (!isText) return [];
    const refused = listRefused(value, field.characters);
    if (refused.length > 0) return [{ field, reason: "remove", text: refused.join(" ") }];
    return countGraphemes(value) > (field.limit ?? Infinity) ? [{ field, reason: "shorten" }] : [];
  });
}

/** Lists the fields of the style that have a value. */
export function listFilledIn(selection: Selection, style: Style): [field: Field, value: string][] {
  return style.fields
    .map((field): [Field, string] => [field, cleanValueOf(selection, style, field)])
    .filter(([, value]) => value !== "");
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

/** Keeps the part of the selection that the styles offer. A single required style is chosen. */
export function fitSelection(selection: Selection, styles: readonly Style[], required: boolean): Selection {
  const values = new Map<string, string>();
  for (const style of styles) {
    for (const field of style.fields) {
      const value = selection.values.get(keyOf(style, field));
      const isOffered = field.choices.length === 0 || field.choices.some((choice) => choice.value === value);
      if (value !== undefined && isOffered) values.set(keyOf(style, field), value);
    }
  }
  const only = required && styles.length === 1 ? styles[0] : undefined;
  return { style: (findStyle(selection, styles) ?? only)?.code, values };
}

/** Lists the chosen style's input that the fitted selection lacks; without input, the style. */
export function listLost(entered: Selection, fitted: Selection): string[] {
  if (entered.style === undefined) return [];
  const hasStyle = fitted.style === entered.style;
  const prefix = prefixOf(entered.style);
  const values = [...entered.values]
    .filter(([key, value]) => key.startsWith(prefix) && value.trim() !== "" && !(hasStyle && fitted.values.has(key)))
    .map(([, value]) => value.trim());
  return hasStyle || values.length > 0 ? values : [entered.style];
}

/** Without arrays: some scripts of pages replace their JSON. */
export const toState = ({ style, values }: Selection) => JSON.stringify({ style, values: Object.fromEntries(values) });

/** Parses the result of `toState`; returns undefined for anything else. */
export function parseState(state: unknown): Selection | undefined {
  const { style, values } = parseJson(state) ?? {};
  if (typeof values !== "object" || values === null) return undefined;
  const texts = Object.entries(values).map(([key, value]): [string, string] => [key, `${value}`]);
  return { style: typeof style === "string" ? style : undefined, values: new Map(texts) };
}
