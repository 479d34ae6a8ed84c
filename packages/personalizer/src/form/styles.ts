import type { Labels } from "../labels.ts";
import { translate } from "../texts.ts";
import { parseInstruction } from "./instruction.ts";

/** A style of a form, or of a personalization, which has codes and instruction texts alone. */
export interface OptionStyle {
  readonly style_code: string;
  readonly name?: string;
  readonly image?: string | null;
  readonly lines: readonly OptionLine[];
}

interface OptionLine {
  readonly instruct_text: string;
  readonly name?: string;
  readonly help?: string | null;
  readonly image?: string | null;
  readonly limit?: number | null;
  readonly characters?: string | null;
  readonly required?: boolean | null;
  readonly uppercase?: boolean;
  readonly choices: readonly {
    readonly choice_value: string;
    readonly name?: string;
    readonly image?: string | null;
  }[];
}

interface Choice {
  readonly value: string;
  readonly text: string;
  readonly image: string | undefined;
}

/** A line of a style, as the shopper sees it. */
export interface Field {
  /** Identifies the field within its style; independent of labels. */
  readonly key: string;
  /** Name of the line item property, unique within the style. */
  readonly label: string;
  readonly hint: string;
  readonly optional: boolean;
  /** Graphemes; undefined for no limit. */
  readonly limit: number | undefined;
  /** Graphemes of a text that is not empty; undefined for any number. */
  readonly minimum: number | undefined;
  /** The allowed characters as a class of a regular expression. */
  readonly characters: string | undefined;
  /** The locale in which letters become capitals; undefined to keep them. */
  readonly uppercase: string | undefined;
  /** URL; undefined for none. */
  readonly image: string | undefined;
  /** Empty for a text field. */
  readonly choices: readonly Choice[];
}

/** Whether the text may have lines. */
export const isLong = ({ limit = 0 }: Field) => limit > 60;

export interface Style {
  readonly code: string;
  readonly name: string;
  /** Summary of the lines of the style. */
  readonly note: string;
  /** URL; undefined for none. */
  readonly image: string | undefined;
  readonly fields: readonly Field[];
}

/**
 * Converts the options of a SKU to styles, in the order of the response and without duplicates.
 * Styles without lines and lines whose choices are all blank cannot be ordered: they are left out.
 * Labels change only texts, limits, and which fields are optional: codes, keys, and choices stay.
 * @param locale of the page
 */
export function toStyles(options: readonly OptionStyle[], labels: Labels, locale: string): Style[] {
  const byCode = new Map(options.map((style) => [style.style_code, style]));
  return [...byCode].flatMap(([code, { name = code, image, lines }]): Style[] => {
    const names = new Set([labels.style]);
    const keys = new Set<string>();
    const fields = lines.flatMap((line, index) => {
      // The key depends on the data alone, so entered text survives a change of labels.
      const { instruct_text: text } = line;
      const key = addUnique(keys, parseInstruction(text, "").label || text);
      const choices = new Map(line.choices.map((choice) => [choice.choice_value, choice]));
      const offered = [...choices].filter(([value]) => value.trim() !== "");
      if (choices.size > 0 && offered.length === 0) return [];
      const { label, ...rest } = toTexts(line, labels, locale);
      return {
        ...rest,
        key,
        label: addUnique(names, toPropertyName(translate(label, labels)) || `${labels.line} ${index + 1}`),
        choices: offered.map(([value, one]) => ({
          value,
          text: translate(value, labels, one.name),
          image: toImage(one.image),
        })),
      };
    });
    if (fields.length === 0) return [];
    const shown = translate(code, labels, name).trim() || labels.style;
    const note = fields.map(({ label }) => label).join(" · ");
    return [{ code, name: shown, note: note === shown ? "" : note, image: toImage(image), fields }];
  });
}

/** Where the presentation says nothing, the instruction text does; a translation may lack limits. */
function toTexts(line: OptionLine, labels: Labels, locale: string) {
  const text = line.instruct_text;
  const own = parseInstruction(text, labels.optional);
  const { name = text } = line;
  const shown = parseInstruction(translate(text, labels), labels.optional);
  const limit = line.limit ?? shown.limit ?? own.limit;
  const isNamed = name !== text && labels.texts[text] === undefined;
  return {
    label: isNamed ? name : shown.label,
    hint: line.help ?? shown.hint,
    optional: line.required == null ? own.optional || shown.optional : !line.required,
    limit,
    minimum: [own.minimum, shown.minimum].find((minimum) => minimum === limit),
    characters: line.characters ?? own.characters,
    uppercase: line.uppercase ? locale : undefined,
    image: toImage(line.image),
  };
}

/** Undefined for anything that a presentation cannot contain. */
const toImage = (url: unknown) => `${url}`.match(/^(https?:\/)?\/\S+$/)?.[0];

/**
 * Brackets would end the name of a form entry early, a leading underscore hides the property, and a
 * number in parentheses at the end tells the elements of a form apart.
 */
const toPropertyName = (label: string) =>
  label
    .replaceAll("[", "(")
    .replaceAll("]", ")")
    .replace(/\s+/g, " ")
    .replace(/^[_\s]+/, "")
    .trim()
    .replace(/\((\d+)\)$/, "$1");

/** Adds the name, with a number if it is taken already. */
function addUnique(taken: Set<string>, name: string): string {
  let unique = name;
  for (let count = 2; taken.has(unique); count++) unique = `${name} ${count}`;
  taken.add(unique);
  return unique;
}
