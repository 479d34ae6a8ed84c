import { baseLabels, type formLabels } from "./default-labels.ts";
import { parseJson } from "./json.ts";
import { toText } from "./texts.ts";

type LabelName = keyof typeof baseLabels | keyof typeof formLabels;

/** The element's own texts. */
export interface Labels extends Readonly<Record<LabelName, string>> {
  /** Replacements for texts of the data: style codes, instructions, and choices. */
  readonly texts: Readonly<Record<string, string>>;
}

const labelNames = [
  ..."title none style line optional select nothing counter summary pick fill choose shorten lengthen remove space invisible again missing".split(
    " ",
  ),
  ...Object.keys(baseLabels),
] as LabelName[];

export const labelAttributes = labelNames.map((name) => `label-${name}`);

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
