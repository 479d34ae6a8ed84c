import type { Labels } from "../labels.ts";

/**
 * Characters that cannot be made unless a presentation allows them: invisible ones, the one that
 * stands for a broken one, and those that are emoji by default. After a letter, joiners are part of
 * the spelling, and variation selectors in scripts without capitals.
 */
const unmakeable = new RegExp(
  [
    "(?!(?<=[\\p{L}\\p{M}])[\\u200c\\u200d]",
    "|(?<=\\p{Lo}\\p{M}*)[\\u180b-\\u180d\\ufe00-\\ufe0e\\u{e0100}-\\u{e01ef}])",
    "[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\ufffd]",
    "|[\\p{Emoji_Presentation}\\u20e3]|(?=[\\u{10000}-\\u{10ffff}])\\p{Extended_Pictographic}",
  ].join(""),
  "u",
);

/** More marks on a letter than any language has, also with joiners between them. */
const stacked = /(\p{M}[\u200c\u200d]*){9}/u;

/** A mark without a letter. */
const stray = /(?<![\p{L}\p{M}\p{N}\p{S}\u200c\u200d])\p{M}/gu;

/**
 * Spaces, marks that keyboards and messengers put around a text for its direction, and joiners that
 * join nothing: scripts with capitals do not use them.
 */
const edges =
  /^([\s\p{Bidi_C}\u200b]|[\u200c\u200d](?!\p{Lo}))+|([\s\p{Bidi_C}\u200b]|(?<!\p{Lo}\p{M}*)[\u200c\u200d])+$/gu;

const invisible = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

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
    .replace(edges, "");
  return uppercase === undefined ? clean : clean.toLocaleUpperCase(uppercase);
}

/**
 * Lists the graphemes that cannot be ordered, so that a shopper can find them.
 * @param characters the allowed ones as a class of a regular expression; undefined for the default
 */
export function listRefused(text: string, characters: string | undefined, labels: Labels): string[] {
  const allowed = toRegExp(characters);
  const isRefused = (grapheme: string) =>
    stacked.test(grapheme) || (allowed ? !allowed.test(grapheme) : unmakeable.test(grapheme));
  const toVisible = (grapheme: string) => {
    if (grapheme === " ") return labels.space;
    const seen = grapheme.replace(invisible, "");
    // Only what is invisible may be wrong with a letter.
    if (seen === "" || (/^\p{L}/u.test(seen) && !isRefused(seen))) return labels.invisible;
    return stacked.test(grapheme) ? [...seen].slice(0, 4).join("") : grapheme;
  };
  const strays = text.match(stray) ?? [];
  return [...new Set([...toGraphemes(text).filter(isRefused).map(toVisible), ...strays.map((mark) => `◌${mark}`)])];
}

/** A browser may not know a property of Unicode in the class. */
function toRegExp(characters: string | undefined): RegExp | undefined {
  try {
    return characters === undefined ? undefined : new RegExp(`^${characters}+$`, "u");
  } catch {
    return undefined;
  }
}
