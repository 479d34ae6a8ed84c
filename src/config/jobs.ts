import { z } from "zod";
import { delimiters, encodings } from "../model/feed-format.ts";
import { listNames, lists } from "../model/personalization.ts";
import { parseSchedule } from "../model/schedule.ts";
import { brand, findFileSourceProblem, findSourceProblem } from "./values.ts";

/** The value of `schedule` for a job that only runs on demand. */
export const noSchedule = "off";

/** Turns a parser that throws into a check of a Zod schema. */
function check(parse: (text: string) => unknown) {
  return (text: string, { addIssue }: z.core.$RefinementCtx<string>) => {
    try {
      parse(text);
    } catch (error) {
      addIssue({ code: "custom", message: (error as Error).message });
    }
  };
}

const schedule = z.string().superRefine(check((text) => text === noSchedule || parseSchedule(text, "UTC")));

const pingUrl = z
  .string()
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), "expected an http:// or https:// URL");

/** A table of URLs, one for each event of a run. */
const pingSchema = z.strictObject({ start: pingUrl, success: pingUrl, failure: pingUrl }).partial();

/** The options of every job: when and how it runs. */
const planShape = {
  schedule: schedule
    .optional()
    .describe(
      "When the job runs, as a cron expression: `*/15 * * * *`, `@daily`, or six fields, the first for seconds. `off`: only on demand. " +
        "The default is `*/5 * * * *` for `catalog-sync`, `17,47 * * * *` for `catalog-reconcile`, and `off` for the others.",
    ),
  time_zone: z
    .string()
    .superRefine(check((text) => parseSchedule("@daily", text)))
    .default("UTC")
    .describe("Time zone of the schedule, such as `America/New_York`."),
  brand: z.string().superRefine(check(brand)).optional().describe("Brand that the job runs for; `BRAND` by default."),
  limit_seconds: z
    .int()
    .min(1)
    .max(7 * 86_400)
    .default(3600)
    .describe("Time limit of a run in seconds. A run that takes longer is stopped and fails."),
  retries: z
    .int()
    .min(0)
    .max(100)
    .default(0)
    .describe(
      "Maximum number of retries of a scheduled run that did not succeed. The next scheduled run replaces them.",
    ),
  retry_seconds: z.int().min(1).max(86_400).default(60).describe("Seconds to wait before a retry."),
  missed: z
    .enum(["once", "skip", "all"])
    .default("once")
    .describe(
      "How to make up for scheduled times that passed while the service was down or the job was still running. " +
        "`once`: one run for all of them, as soon as possible. `skip`: no run. `all`: one run for each, one after the other.",
    ),
  stale_seconds: z
    .int()
    .min(1)
    .optional()
    .describe(
      "Maximum age of the last success in seconds. By default, a job with a schedule is stale when it has been due twice since its last success.",
    ),
  ping: z
    .union([pingUrl, pingSchema], {
      error: "expected an http:// or https:// URL, or a table of them with start, success and failure",
    })
    .optional()
    .describe(
      "URL of an external monitor that alerts when no ping arrives. It gets a POST with a message about the run after a success, with `/start` appended before a run, " +
        "and with `/fail` appended after a failure. Or a table with separate URLs: `start`, `success` and `failure`.",
    ),
};

const planSchema = z.strictObject(planShape);

/** The options of every job. */
export type PlanOptions = z.infer<typeof planSchema>;

const source = z.string().min(1);
/** @param findProblem returns what is wrong with a source */
const sourceOf = (findProblem: typeof findSourceProblem) =>
  source.superRefine((text, { addIssue }) => {
    const message = findProblem(text);
    if (message !== undefined) addIssue({ code: "custom", message });
  });
const fileName = z.string().regex(/^[^/]+$/, "expected the name of a file, without its folder");
const share = (defaultShare: number) => z.number().min(0).max(1).default(defaultShare);
const columnNames = listNames.flatMap((list) => lists[list].columns);
const column = z.enum(columnNames);

/** The keys of the tables within that of a job. */
export const innerKeys: Readonly<Record<string, readonly string[]>> = {
  ping: Object.keys(pingSchema.shape),
  files: listNames,
  aliases: [...new Set(columnNames)],
};

const personalizationShape = {
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
    .partialRecord(column, z.array(z.string().min(1)).min(1))
    .default({})
    .describe('Alternative names of columns: `aliases.sku_id = ["Article"]`.'),
  keep_generations: z
    .int()
    .min(2)
    .max(100)
    .default(3)
    .describe("Number of generations to keep, including the current one."),
  max_removed_share: share(0.2).describe(
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
  max_rejected_share: share(0).describe(
    "Maximum share of rows that may be rejected. Up to it, the import leaves them out and loads the others.",
  ),
};

export const personalizationSchema = z.strictObject({ ...personalizationShape, ...planShape });

/** The options of `personalization-import` for one brand. */
export type PersonalizationOptions = z.infer<typeof personalizationSchema>;

const presentationShape = {
  source: sourceOf(findFileSourceProblem).describe(
    "Path or URL of the file, which ends in `.toml`, with or without `.gz` or `.zst`: `presentation.toml`, `https://HOST/PATH/presentation.toml` or `s3://BUCKET/presentation.toml.gz`.",
  ),
  settle_seconds: personalizationShape.settle_seconds.describe(
    "Seconds without a change after which the file counts as complete.",
  ),
  keep_generations: personalizationShape.keep_generations.describe(
    "Number of presentations to keep, including the current one.",
  ),
  max_removed_share: share(0.2).describe(
    "Maximum share of the entries that an import may remove. Fewer than 20 are not checked.",
  ),
};

export const presentationSchema = z.strictObject({ ...presentationShape, ...planShape });

/** The options of `presentation-import` for one brand. */
export type PresentationOptions = z.infer<typeof presentationSchema>;

const defaultRemovedShare = 0.2;

/** The options of each job, by its name. */
export const jobSchemas = {
  "catalog-import": z.strictObject({
    source: z.array(source).min(1).describe("Product files that together hold all products."),
    max_removed_share: share(defaultRemovedShare).describe(
      "Maximum share of the stored products that a run may remove. Beyond it the run fails and changes nothing. Fewer than 20 products are not checked.",
    ),
    ...planShape,
  }),
  "personalization-import": personalizationSchema,
  "presentation-import": presentationSchema,
  "catalog-reconcile": z.strictObject({
    max_removed_share: share(defaultRemovedShare).describe(
      "Maximum share of the stored products that all jobs and requests together may remove within 24 hours, because the platform no longer has them. Five may always be removed, unless it is 0. Also the share that a run may find with fewer images than before.",
    ),
    ...planShape,
    // Most jobs of most shops run on the hour.
    schedule: schedule.default("17,47 * * * *"),
  }),
  "catalog-sync": planSchema.extend({ schedule: schedule.default("*/5 * * * *") }),
  "history-retention": z.strictObject({
    keep_days: z.int().min(1).max(36_500).default(90).describe("Number of days to keep a run in the history."),
    ...planShape,
  }),
};

export type JobName = keyof typeof jobSchemas;

export const personalizationImportName = "personalization-import" satisfies JobName;
export const presentationImportName = "presentation-import" satisfies JobName;

/** The jobs with a table for each brand. */
export const jobsOfBrands = [personalizationImportName, presentationImportName] as const;

/** The options in one table of a job. */
export type JobOptionsOf<Name extends JobName> = z.infer<(typeof jobSchemas)[Name]>;

export const jobsSchema = z
  .strictObject({
    ...jobSchemas,
    "personalization-import": z.array(personalizationSchema),
    "presentation-import": z.array(presentationSchema),
  })
  .partial();

/** The tables `[jobs.NAME]`; those of {@link jobsOfBrands} have one for each brand. */
export type JobOptions = z.infer<typeof jobsSchema>;

interface DocumentedOption {
  readonly name: string;
  readonly default: string;
  readonly sentence: string;
}

/** Lists the options of a feed for the documentation. */
export const personalizationOptions = () => documentedOptions(personalizationShape);

/** Lists the options of a presentation for the documentation. */
export const presentationOptions = () => documentedOptions(presentationShape);

/** Lists the options of every job for the documentation. */
export const planOptions = () => documentedOptions(planShape);

function documentedOptions(shape: Readonly<Record<string, z.ZodType>>): DocumentedOption[] {
  return Object.entries(shape).map(([name, schema]) => {
    const value = (schema.def as { defaultValue?: unknown }).defaultValue;
    return { name, default: value === undefined ? "" : JSON.stringify(value), sentence: schema.description ?? "" };
  });
}

/**
 * Returns the share of the stored products, from 0 to 1, that may be removed within 24 hours,
 * because the platform no longer has them.
 */
export const maxRemovedShareOf = ({ jobs }: { readonly jobs: JobOptions }): number =>
  jobs["catalog-reconcile"]?.max_removed_share ?? defaultRemovedShare;

/**
 * Returns the share of the stored products, from 0 to 1, that an import of product files may
 * remove.
 */
export const maxImportRemovedShareOf = ({ jobs }: { readonly jobs: JobOptions }): number =>
  jobs["catalog-import"]?.max_removed_share ?? defaultRemovedShare;
