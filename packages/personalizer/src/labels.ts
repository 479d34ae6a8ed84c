/** The element's own texts in English. `{…}` is a placeholder for a number or a text. */
export const defaultLabels = {
  title: "Personalization",
  none: "No personalization",
  style: "Style",
  line: "Line",
  optional: "optional",
  select: "Choose…",
  nothing: "None",
  counter: "{count} of {limit}",
  summary: "Your personalization",
  pick: "Please choose a style.",
  fill: "Please fill this in.",
  choose: "Please choose one.",
  shorten: "Please use {limit} characters at most.",
  loading: "The personalization options are still loading.",
  failed: "The personalization options could not be loaded.",
  retry: "Try again",
  lost: "Your order no longer includes this personalization: {text}",
};

type LabelName = keyof typeof defaultLabels;

export interface Labels extends Readonly<Record<LabelName, string>> {
  /** Replacements for texts of the data: style codes, instructions, and choices. */
  readonly texts: Readonly<Record<string, string>>;
}

export const labelNames = Object.keys(defaultLabels) as LabelName[];

/** Returns the replacement for a text of the data, or the text itself. */
export function translate(text: string, { texts }: Labels): string {
  // Every object inherits properties, and data may contain their names.
  return toText(texts[text]) ?? text;
}

/** Replaces the placeholders that have a value. */
export const fillIn = (template: string, values: Readonly<Record<string, number | string>>) =>
  template.replace(/\{(\w+)\}/g, (placeholder, name: string) => `${values[name] ?? placeholder}`);

/**
 * Merges custom labels, attributes, and English defaults, in this order of precedence. Values that
 * are not strings are ignored: frameworks pass undefined for labels that they do not have.
 */
export function toLabels(custom: Partial<Labels>, attributeOf: (name: string) => string | null): Labels {
  const labels = labelNames.map((name) => [
    name,
    toText(custom[name]) ?? attributeOf(`label-${name}`) ?? defaultLabels[name],
  ]);
  const texts = Object.entries(custom.texts ?? parseTexts(attributeOf("texts")));
  return {
    ...Object.fromEntries(labels),
    texts: Object.fromEntries(texts.filter(([, text]) => toText(text) !== undefined)),
  };
}

const toText = (value: unknown) => (typeof value === "string" ? value : undefined);

function parseTexts(json: string | null): object {
  try {
    return (JSON.parse(json ?? "{}") as object | null) ?? {};
  } catch {
    return {};
  }
}
