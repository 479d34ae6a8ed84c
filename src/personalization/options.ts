import { z } from "zod";
import { findSourceProblem } from "../feed/address.ts";
import { delimiters, encodings } from "../feed/format.ts";
import { planShape } from "../jobs/options.ts";
import { listNames, lists } from "./lists.ts";

export const personalizationImportName = "personalization-import";
export const presentationImportName = "presentation-import";

export const jobsOfBrands = [personalizationImportName, presentationImportName] as const;

/** @param findProblem returns what is wrong with a source */
export const sourceOf = (findProblem: (text: string) => string | undefined) =>
  z
    .string()
    .min(1)
    .superRefine((text, { addIssue }) => {
      const message = findProblem(text);
      if (message !== undefined) addIssue({ code: "custom", message });
    });

const fileName = z.string().regex(/^[^/]+$/, "expected the name of a file, without its folder");
const share = z.number().min(0).max(1);
const columnNames = listNames.flatMap((list) => lists[list].columns);

export const personalizationShape = {
  source: sourceOf(findSourceProblem).describe(
    "Location of the three files: a folder, `https://HOST/PATH/` or `s3://BUCKET/PREFIX/`.",
  ),
  files: z
    .partialRecord(z.enum(listNames), fileName)
    .default({})
    .describe(
      "Names of the files, if they are not pzlines, pzstyles and pzchoices with the extension .csv or .ndjson, optionally followed by .gz or .zst.",
    ),
  marker: fileName
    .optional()
    .describe(
      "Name of a file that the sender writes last. The feed is incomplete while this file is missing or older than one of the three files.",
    ),
  settle_seconds: z
    .number()
    .min(0)
    .max(3600)
    .default(5)
    .describe("Seconds without a change after which the files count as complete."),
  encoding: z.enum(encodings).optional().describe("Text encoding; detected automatically by default."),
  separator: z
    .enum(delimiters)
    .optional()
    .describe("Delimiter of the fields in a row; detected automatically by default."),
  aliases: z
    .partialRecord(z.enum(columnNames), z.array(z.string().min(1)).min(1))
    .default({})
    .describe('Alternative names of columns: `aliases.sku_id = ["Article"]`.'),
  keep_generations: z
    .int()
    .min(2)
    .max(100)
    .default(3)
    .describe("Number of generations to keep, including the current one."),
  max_removed_share: share
    .default(0.2)
    .describe(
      "Maximum share of the SKUs, the styles, or the choices that an import may remove. Sets of fewer than 20 are not checked.",
    ),
  max_added_share: z
    .number()
    .min(0)
    .default(10)
    .describe(
      "Maximum number of SKUs, styles, or choices that an import may add, as a multiple of those before: 10 allows ten times as many. Sets of fewer than 20 are not checked.",
    ),
  max_rows: z
    .int()
    .min(1)
    .default(50_000_000)
    .describe("Maximum number of rows in the three files together. Reading stops at the first row beyond it."),
  max_rejected_share: share
    .default(0)
    .describe("Maximum share of rows that may be rejected. Up to it, the import leaves them out and loads the others."),
};

export const personalizationImportSchema = z.strictObject({ ...personalizationShape, ...planShape });

export type PersonalizationOptions = z.infer<typeof personalizationImportSchema>;
