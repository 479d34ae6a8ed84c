import { z } from "zod";

const status = () => z.string().describe("Status code; `A` is the only value seen. Its meaning is not stated.");
const sequence = (description: string) => z.string().describe(`Numeric text; ${description}.`);

export const lineSchema = z
  .object({
    sku_id: z.string().describe("The SKU the line belongs to."),
    style_code: z.string().describe("Refers to a style in `pzstyles`."),
    style_display_seq: sequence("display order"),
    style_sku_status: status(),
  })
  .meta({ id: "PersonalizationLine", description: "Offers a style on a SKU." });

export const styleSchema = z
  .object({
    style_code: z.string().describe("Matches `style_code` of a line."),
    line_status: status(),
    line_display_seq: sequence("display order"),
    choice_type: z.string().describe("Refers to choices in `pzchoices` with the same `choice_type`."),
    instruct_text: z.string().describe("Instruction text for the customer."),
  })
  .meta({ id: "PersonalizationStyle", description: "One line of text within a style; a style has one or more." });

export const choiceSchema = z
  .object({
    choice_type: z.string().describe("Group of the choice."),
    choice_status: status(),
    choice_display_seq: sequence("display order within the group"),
    choice_value: z.string().describe("The selectable value."),
  })
  .meta({ id: "PersonalizationChoice", description: "One choice of a shared group." });

export const personalizationSchema = z
  .object({
    pzlines: z.array(lineSchema),
    pzstyles: z.array(styleSchema),
    pzchoices: z.array(choiceSchema),
  })
  .meta({ id: "Personalization", description: "What a SKU offers; three empty lists where it offers nothing." });

export type Line = z.infer<typeof lineSchema>;
export type Style = z.infer<typeof styleSchema>;
export type Choice = z.infer<typeof choiceSchema>;
export type Personalization = z.infer<typeof personalizationSchema>;

/** A longer SKU is unknown: no feed may bring one, and no question for one reaches the database. */
export const maxSkuLength = 255;

/** Names that differ in one way between two generations. */
export interface DifferingNames {
  readonly count: number;
  /** Whether there are more than were counted. */
  readonly isMore: boolean;
  /** The first of them, in their order. */
  readonly first: readonly string[];
}

/** How one thing of two generations differs from the older to the newer. */
export interface NamesDifference {
  readonly added: DifferingNames;
  readonly changed: DifferingNames;
  readonly removed: DifferingNames;
}

export interface GenerationDifference {
  /** Undefined when one of the two was loaded before it was kept what it is compared by. */
  readonly skus: NamesDifference | undefined;
  readonly styles: NamesDifference;
  readonly groups: NamesDifference;
}

const numeric = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$/;
export const isNumericSequence = (sequence: string) => numeric.test(sequence);

/** Display sequences compare as numbers, then as text; one that is not a number comes last. */
export function compareSequence(a: string, b: string): number {
  const x = isNumericSequence(a) ? Number(a) : Number.POSITIVE_INFINITY;
  const y = isNumericSequence(b) ? Number(b) : Number.POSITIVE_INFINITY;
  if (x !== y) return x - y;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Each value's place of first appearance. */
function placesOf(values: Iterable<string>): Map<string, number> {
  const places = new Map<string, number>();
  for (const value of values) if (!places.has(value)) places.set(value, places.size);
  return places;
}

/**
 * Puts the rows of one SKU, each list given as loaded, into display order: lines by their sequence, styles in the order of
 * their lines, choices in the order of their styles.
 */
export function orderPersonalization({ pzlines, pzstyles, pzchoices }: Personalization): Personalization {
  const lines = pzlines.toSorted((a, b) => compareSequence(a.style_display_seq, b.style_display_seq));
  const lineOf = placesOf(lines.map((line) => line.style_code));
  const styles = pzstyles.toSorted(
    (a, b) =>
      (lineOf.get(a.style_code) ?? 0) - (lineOf.get(b.style_code) ?? 0) ||
      compareSequence(a.line_display_seq, b.line_display_seq),
  );
  const styleOf = placesOf(styles.map((style) => style.choice_type));
  const choices = pzchoices.toSorted(
    (a, b) =>
      (styleOf.get(a.choice_type) ?? 0) - (styleOf.get(b.choice_type) ?? 0) ||
      compareSequence(a.choice_display_seq, b.choice_display_seq),
  );
  return { pzlines: lines, pzstyles: styles, pzchoices: choices };
}
