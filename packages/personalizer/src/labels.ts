/** The words of the element. `{…}` stands for a number or a text. */
export const english = {
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

export type Words = Readonly<Record<keyof typeof english, string>>;

export interface Labels extends Words {
  /** What to show instead of a text of the data: names of style codes, translations of instructions and choices. */
  readonly texts: Readonly<Record<string, string>>;
}

export const wordNames = Object.keys(english) as (keyof Words)[];

/** What is shown for a text of the data. */
export function shown(text: string, { texts }: Labels): string {
  // Every object inherits properties, whose names may be texts of the data.
  return textOf(texts[text]) ?? text;
}

export const fillIn = (words: string, values: Readonly<Record<string, number | string>>) =>
  words.replace(/\{(\w+)\}/g, (blank, name: string) => `${values[name] ?? blank}`);

/**
 * The words to show: as given, else as the attributes say, else English. Only strings count:
 * pages may pass anything, and frameworks pass undefined for words they don't have.
 */
export function toLabels(given: Partial<Labels>, attributeOf: (name: string) => string | null): Labels {
  const words = wordNames.map((name) => [name, textOf(given[name]) ?? attributeOf(`label-${name}`) ?? english[name]]);
  const texts = Object.entries(given.texts ?? parseTexts(attributeOf("texts")));
  return {
    ...Object.fromEntries(words),
    texts: Object.fromEntries(texts.filter(([, text]) => textOf(text) !== undefined)),
  };
}

const textOf = (value: unknown) => (typeof value === "string" ? value : undefined);

function parseTexts(json: string | null): object {
  try {
    return (JSON.parse(json ?? "{}") as object | null) ?? {};
  } catch {
    return {};
  }
}
