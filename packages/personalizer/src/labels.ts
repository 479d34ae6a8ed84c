/** The words of the element. `{…}` stands for a number. */
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
};

export type Words = Readonly<Record<keyof typeof english, string>>;

export interface Labels extends Words {
  /** What to show instead of a text of the data: names of style codes, translations of instructions and choices. */
  readonly texts: Readonly<Record<string, string>>;
}

export const wordNames = Object.keys(english) as (keyof Words)[];

/** What is shown for a text of the data. */
export function shown(text: string, { texts }: Labels): string {
  const other = texts[text];
  // It may be anything that a page wrote, or what every object has.
  return typeof other === "string" ? other : text;
}

export const fillIn = (words: string, numbers: Readonly<Record<string, number>>) =>
  words.replace(/\{(\w+)\}/g, (blank, name: string) => `${numbers[name] ?? blank}`);
