import { z } from "zod";
import { choiceSchema, lineSchema, styleSchema } from "./personalization.ts";

const code = (schema: z.ZodType<string>, shape: string) => schema.describe(`As \`${shape}\` in the personalization.`);
const ofLine = (field: keyof typeof lineSchema.shape) => code(lineSchema.shape[field], field);
const ofStyle = (field: keyof typeof styleSchema.shape) => code(styleSchema.shape[field], field);
const ofChoice = (field: keyof typeof choiceSchema.shape) => code(choiceSchema.shape[field], field);

const appearance = (fallback: string) => ({
  name: z.string().describe(`In the form's locale, or else in the default locale, or else ${fallback}.`),
  help: z.string().nullable().describe("Help text, by the same rule; null if there is none."),
  image: z.string().nullable().describe("URL, or a path that begins with a slash."),
});

export const formChoiceSchema = z
  .object({
    choice_value: ofChoice("choice_value"),
    choice_display_seq: ofChoice("choice_display_seq"),
    choice_status: ofChoice("choice_status"),
    ...appearance("`choice_value`"),
  })
  .meta({ id: "FormChoice", description: "One choice of a line." });

export const formLineSchema = z
  .object({
    line_display_seq: ofStyle("line_display_seq"),
    line_status: ofStyle("line_status"),
    choice_type: ofStyle("choice_type"),
    instruct_text: ofStyle("instruct_text"),
    ...appearance("`instruct_text`"),
    limit: z.int().nullable().describe("Maximum number of graphemes; null if the presentation has none."),
    characters: z
      .string()
      .nullable()
      .describe("The allowed characters as a class of a regular expression, such as `[A-Z]`; null for all."),
    required: z.boolean().nullable().describe("Null if the presentation does not say."),
    uppercase: z.boolean().describe("Whether letters become capitals."),
    choices: z.array(formChoiceSchema).describe("Empty for free text."),
  })
  .meta({ id: "FormLine", description: "A field of the form." });

export const formStyleSchema = z
  .object({
    style_code: ofLine("style_code"),
    style_display_seq: ofLine("style_display_seq"),
    style_sku_status: ofLine("style_sku_status"),
    ...appearance("`style_code`"),
    lines: z.array(formLineSchema),
  })
  .meta({ id: "FormStyle", description: "A style that the SKU offers." });

export const formSchema = z
  .object({
    sku_id: z.string(),
    locale: z.string().describe("The locale of the texts: a language tag (BCP 47)."),
    styles: z.array(formStyleSchema).describe("In display order; empty if the SKU is unknown or has none."),
  })
  .meta({ id: "Form", description: "The personalization of a SKU as a tree, with names, help texts, and rules." });

export type Form = z.infer<typeof formSchema>;
export type FormStyle = z.infer<typeof formStyleSchema>;
export type FormLine = z.infer<typeof formLineSchema>;
export type FormChoice = z.infer<typeof formChoiceSchema>;
