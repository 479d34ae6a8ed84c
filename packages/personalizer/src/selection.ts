import type { FormStyle } from "../../client/src/form.ts";
import { parseInstruction } from "./instruction.ts";
import { type Labels, shown } from "./labels.ts";

/** A line as the shopper meets it. */
export interface Field {
  /** Identifies the field within its style, whatever language its label is in. */
  readonly key: string;
  /** Name of the line item property, unlike that of any other field of the style. */
  readonly label: string;
  readonly hint: string;
  readonly optional: boolean;
  readonly limit: number | undefined;
  readonly digits: boolean;
  /** The values to choose from; none where the text is typed. */
  readonly choices: readonly string[];
}

export interface Style {
  readonly code: string;
  readonly name: string;
  readonly fields: readonly Field[];
}

/** What the shopper has chosen and entered; what was entered for a style stays while another one is looked at. */
export interface Selection {
  /** Code of the style, undefined for none. */
  readonly style: string | undefined;
  /** By `keyOf`. */
  readonly values: ReadonlyMap<string, string>;
}

export const nothingSelected: Selection = { style: undefined, values: new Map() };

export const keyOf = (style: Style, field: Field) => JSON.stringify([style.code, field.key]);

export const enteredFor = ({ values }: Selection, style: Style, field: Field) =>
  (values.get(keyOf(style, field)) ?? "").trim();

export const styleOf = ({ style }: Selection, styles: readonly Style[]) => styles.find(({ code }) => code === style);

/** What is on offer, in the order of the answer, which is that of display; what is offered twice is there once. */
export function toStyles(form: readonly FormStyle[], labels: Labels): Style[] {
  const byCode = new Map(form.map((style) => [style.style_code, style]));
  return [...byCode].map(([code, { lines }]) => {
    const taken = new Set([labels.style]);
    const keys = new Set<string>();
    const fields = lines.map(({ instruct_text, choices }, index): Field => {
      const { label, ...said } = parseInstruction(shown(instruct_text, labels), labels.optional);
      const name = propertyName(shown(label, labels)) || `${labels.line} ${index + 1}`;
      const values = new Set(choices.map(({ choice_value }) => choice_value));
      // From the data alone, so that other words leave what was entered where it is.
      const key = unlike(keys, parseInstruction(instruct_text, "").label || instruct_text);
      return { ...said, key, label: unlike(taken, name), choices: [...values].filter((value) => value.trim() !== "") };
    });
    return { code, name: shown(code, labels).trim() || `${labels.style}`, fields };
  });
}

/** Without what would end the name of a form field early, or, as a leading underscore does, hide the property. */
const propertyName = (label: string) =>
  label
    .replaceAll("[", "(")
    .replaceAll("]", ")")
    .replace(/\s+/g, " ")
    .replace(/^[_\s]+/, "")
    .trim();

function unlike(taken: Set<string>, name: string): string {
  let own = name;
  for (let count = 2; taken.has(own); count++) own = `${name} ${count}`;
  taken.add(own);
  return own;
}

export interface Fault {
  /** Undefined when it is the style that is missing. */
  readonly field: Field | undefined;
  readonly reason: "pick" | "fill" | "choose" | "shorten";
}

/** What keeps the selection from being ordered, in the order of the page. */
export function listFaults(selection: Selection, styles: readonly Style[], required: boolean): Fault[] {
  const style = styleOf(selection, styles);
  if (style === undefined) return required && styles.length > 0 ? [{ field: undefined, reason: "pick" }] : [];
  return style.fields.flatMap((field): Fault[] => {
    const value = enteredFor(selection, style, field);
    if (value === "") return field.optional ? [] : [{ field, reason: field.choices.length > 0 ? "choose" : "fill" }];
    return field.choices.length === 0 && value.length > (field.limit ?? Infinity) ? [{ field, reason: "shorten" }] : [];
  });
}

/** The rows of the summary: name and value of what is filled in. */
export function listProperties(selection: Selection, style: Style): [field: Field, value: string][] {
  return style.fields
    .map((field): [Field, string] => [field, enteredFor(selection, style, field)])
    .filter(([, value]) => value !== "");
}

/** The line item properties of the order; none where nothing is personalized. */
export function toEntries(selection: Selection, styles: readonly Style[], labels: Labels, mark: string) {
  const style = styleOf(selection, styles);
  if (style === undefined) return [];
  const properties: [name: string, value: string][] = [
    [labels.style, style.name],
    ...listProperties(selection, style).map(([{ label }, value]): [string, string] => [label, value]),
    ["_style", style.code],
    ["_personalization", mark],
  ];
  return properties.map(([name, value]): [string, string] => [`properties[${name}]`, value]);
}

/** Drops what is not on offer: a style of another SKU, a choice that has gone. */
export function fitSelection(selection: Selection, styles: readonly Style[], required: boolean): Selection {
  const values = new Map<string, string>();
  for (const style of styles) {
    for (const field of style.fields) {
      const value = selection.values.get(keyOf(style, field));
      if (value !== undefined && (field.choices.length === 0 || field.choices.includes(value))) {
        values.set(keyOf(style, field), value);
      }
    }
  }
  const only = required && styles.length === 1 ? styles[0] : undefined;
  return { style: (styleOf(selection, styles) ?? only)?.code, values };
}

/** What was entered for the chosen style and isn't in the part of the selection that is kept. */
export function listLost(entered: Selection, kept: Selection): string[] {
  if (entered.style === undefined) return [];
  const isKept = kept.style === entered.style;
  const ofStyle = JSON.stringify([entered.style, ""]).slice(0, -2);
  const values = [...entered.values]
    .filter(([key, value]) => key.startsWith(ofStyle) && value.trim() !== "" && !(isKept && kept.values.has(key)))
    .map(([, value]) => value.trim());
  return isKept || values.length > 0 ? values : [entered.style];
}

export const toState = ({ style, values }: Selection) => JSON.stringify([style ?? null, [...values]]);

/** Reads what `toState` made; anything else is nothing selected. */
export function parseState(state: unknown): Selection {
  try {
    const [style, values] = JSON.parse(`${state}`) as [string | null, [string, string][]];
    return { style: style ?? undefined, values: new Map(values.map(([key, value]) => [key, `${value}`])) };
  } catch {
    return nothingSelected;
  }
}
