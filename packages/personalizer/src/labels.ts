import type { defaultLabels } from "./form/default-labels.ts";
import { parseJson } from "./json.ts";

/** The element's own texts in English that are needed before the form. `{…}` is a placeholder. */
export const baseLabels = {
  loading: "The personalization options are still loading.",
  failed: "The personalization options could not be loaded.",
  retry: "Try again",
  lost: "Your order no longer includes this personalization: {text}",
  again: "Nothing was added yet. Add again to order without it.",
};

type LabelName = keyof typeof defaultLabels;

/** The element's own texts. */
export interface Labels extends Readonly<Record<LabelName, string>> {
  /** Replacements for texts of the data: style codes, instructions, and choices. */
  readonly texts: Readonly<Record<string, string>>;
}

const labelNames = [
  ..."title none style line optional select nothing counter summary pick fill choose shorten lengthen remove space invisible missing".split(
    " ",
  ),
  ...Object.keys(baseLabels),
] as LabelName[];

export const labelAttributes = labelNames.map((name) => `label-${name}`);

/** Returns the replacement for a text of the data, or else its name. */
export function translate(text: string, { texts }: Labels, name = text): string {
  // Every object inherits properties, and data may contain their names.
  return toText(texts[text]) ?? name;
}

/** Replaces the placeholders that have a value. */
export const fillIn = (template: string, values: Readonly<Record<string, number | string | undefined>>) =>
  template.replace(/\{(\w+)\}/g, (placeholder, name: string) => `${values[name] ?? placeholder}`);

/**
 * Merges custom labels, attributes, those of the page's language, and English defaults, in this
 * order of precedence. Values that are not strings are ignored: frameworks pass undefined for
 * labels that they do not have. The second script completes the English defaults.
 */
export function toLabels(
  custom: Partial<Labels>,
  texts: object,
  attributeOf: (name: string) => string | null,
  translated: Partial<Labels>,
): Labels {
  const labels = labelNames.map((name) => [
    name,
    toText(custom[name]) ?? attributeOf(`label-${name}`) ?? toText(translated[name]),
  ]);
  return { ...baseLabels, ...onlyTexts(labels), texts: onlyTexts(Object.entries(custom.texts ?? texts)) } as Labels;
}

const onlyTexts = (entries: readonly (readonly unknown[])[]) =>
  Object.fromEntries(entries.filter(([, text]) => toText(text) !== undefined) as [string, string][]);

const toText = (value: unknown) => (typeof value === "string" ? value : undefined);

/**
 * Reads replacements for texts of the data: an object, or JSON.
 * @throws TypeError for anything else
 */
export function toTexts(value: unknown): object {
  const texts: unknown = typeof value === "string" ? parseJson(value) : (value ?? null);
  if (texts === null) return {};
  if (typeof texts === "object" && !Array.isArray(texts)) return texts;
  throw new TypeError(`<personalization-options>: texts must be an object or its JSON, not ${JSON.stringify(value)}`);
}
