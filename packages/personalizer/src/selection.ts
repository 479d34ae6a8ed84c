import type { Field, Style } from "./form/styles.ts";
import { parseJson } from "./json.ts";

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

/**
 * Lists the chosen style's input that the fitted selection lacks; without input, the style.
 * @returns the key of its name, and the text
 */
export function listLost(entered: Selection, fitted: Selection): [key: string, text: string][] {
  if (entered.style === undefined) return [];
  const hasStyle = fitted.style === entered.style;
  const prefix = prefixOf(entered.style);
  const values = [...entered.values]
    .filter(([key, value]) => key.startsWith(prefix) && value.trim() !== "" && !(hasStyle && fitted.values.has(key)))
    .map(([key, value]): [string, string] => [key + value, value.trim()]);
  return hasStyle || values.length > 0 ? values : [[entered.style, entered.style]];
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
