/**
 * Characters that cannot be made unless a presentation allows them: invisible ones, and those that
 * are emoji by default. After a letter, joiners and variation selectors are part of the spelling.
 */
const unmakeable = new RegExp(
  [
    "(?!(?<=[\\p{L}\\p{M}])[\\u200c\\u200d\\u180b-\\u180d\\ufe00-\\ufe0e\\u{e0100}-\\u{e01ef}])",
    "[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800]",
    "|[\\p{Emoji_Presentation}\\u20e3]|(?=[\\u{10000}-\\u{10ffff}])\\p{Extended_Pictographic}",
  ].join(""),
  "u",
);

const segmenter = "Segmenter" in Intl ? new Intl.Segmenter() : undefined;

/**
 * Several characters may look like one to a reader, such as a letter and its accents. `maxlength`
 * counts UTF-16 units, so that a family emoji is eight, and cuts off pasted text silently.
 */
const toGraphemes = (text: string): string[] =>
  segmenter ? [...segmenter.segment(text)].map(({ segment }) => segment) : [...text];

export const countGraphemes = (text: string) => toGraphemes(text).length;

/**
 * The text to order: keyboards and pages write the same letters and spaces differently.
 * @param uppercase locale of the capitals; undefined to keep the letters
 */
export function cleanText(text: string, uppercase: string | undefined): string {
  const clean = text
    .normalize("NFC")
    .replace(/[\t\u00a0\u202f]/g, " ")
    .trim();
  return uppercase === undefined ? clean : clean.toLocaleUpperCase(uppercase);
}

/**
 * Lists the graphemes that cannot be ordered, so that a shopper can find them.
 * @param characters the allowed ones as a class of a regular expression; undefined for the default
 */
export function listRefused(text: string, characters: string | undefined): string[] {
  const allowed = toRegExp(characters);
  const isRefused = (grapheme: string) => (allowed ? !allowed.test(grapheme) : unmakeable.test(grapheme));
  return [...new Set(toGraphemes(text).filter(isRefused))].map(toVisible);
}

/** A browser may not know a property of Unicode in the class. */
function toRegExp(characters: string | undefined): RegExp | undefined {
  try {
    return characters === undefined ? undefined : new RegExp(`^${characters}+$`, "u");
  } catch {
    return undefined;
  }
}

const toVisible = (grapheme: string) =>
  grapheme === " "
    ? "␣"
    : /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(grapheme)
      ? grapheme
      : [...grapheme].map((one) => `U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`).join(" ");
