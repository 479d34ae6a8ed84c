import { z } from "zod";

const status = () => z.string().describe("Status code; `A` is the only value seen. Its meaning is not documented.");
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
  .meta({
    id: "Personalization",
    description: "The personalization of a SKU. All lists are empty if the SKU is unknown or has none.",
  });

export const personalizationsSchema = z
  .object({
    personalizations: z.array(
      z.object({ sku: z.string().describe("As requested."), ...personalizationSchema.shape }).meta({
        id: "PersonalizationOfSku",
        description: "The personalization of one of several SKUs.",
      }),
    ),
  })
  .meta({ id: "Personalizations", description: "The personalization of several SKUs, in the order requested." });

/** How many SKUs one request may name. */
export const maxSkusPerRequest = 50;

/**
 * The three lists of a feed: their columns in the contract's order, and the columns that form a
 * row's key.
 */
export const lists = {
  pzlines: { columns: Object.keys(lineSchema.shape), key: ["sku_id", "style_code"] },
  pzstyles: { columns: Object.keys(styleSchema.shape), key: ["style_code", "line_display_seq"] },
  pzchoices: { columns: Object.keys(choiceSchema.shape), key: ["choice_type", "choice_value"] },
} as const;

export type ListName = keyof typeof lists;
export const listNames = Object.keys(lists) as ListName[];

export type Line = z.infer<typeof lineSchema>;
export type Style = z.infer<typeof styleSchema>;
export type Choice = z.infer<typeof choiceSchema>;
export type Personalization = z.infer<typeof personalizationSchema>;

/** Fields that identify SKUs, styles, and choice groups. The store has indexes of their values. */
export const keyFields: ReadonlySet<string> = new Set(["sku_id", "style_code", "choice_type"]);

/**
 * In UTF-8, of the values of {@link keyFields}. Not every engine can index more than 2,700 bytes.
 */
export const maxKeyBytes = 2600;

/** In UTF-16 units, as shops limit them. Requests for longer SKUs do not reach the database. */
export const maxSkuLength = 255;

/** Names that were added, changed, or removed between two generations. */
export interface DifferingNames {
  readonly count: number;
  /** The first names, sorted. */
  readonly first: readonly string[];
}

/** How SKUs, styles, or choice groups differ from an older to a newer generation. */
export interface NamesDifference {
  readonly added: DifferingNames;
  readonly changed: DifferingNames;
  readonly removed: DifferingNames;
}

export interface GenerationDifference {
  readonly skus: NamesDifference;
  readonly styles: NamesDifference;
  readonly groups: NamesDifference;
}

const numeric = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$/;
export const isNumericSequence = (sequence: string) => numeric.test(sequence);

/** Compares display sequences as numbers, then as text. Non-numbers sort last. */
export function compareSequence(a: string, b: string): number {
  const x = isNumericSequence(a) ? Number(a) : Number.POSITIVE_INFINITY;
  const y = isNumericSequence(b) ? Number(b) : Number.POSITIVE_INFINITY;
  if (x !== y) return x - y;
  return a < b ? -1 : a > b ? 1 : 0;
}
