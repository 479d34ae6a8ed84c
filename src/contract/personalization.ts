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

/**
 * The path of a SKU's personalization, below that of the API. URL parsers remove the segments `.`
 * and `..`, even escaped, so such a SKU is a parameter.
 */
export const personalizationPath = (sku: string): string =>
  /^\.\.?$/.test(sku) ? `/products/pz?sku=${sku}` : `/products/pz/${encodeURIComponent(sku)}`;

export type Line = z.infer<typeof lineSchema>;
export type Style = z.infer<typeof styleSchema>;
export type Choice = z.infer<typeof choiceSchema>;
export type Personalization = z.infer<typeof personalizationSchema>;
