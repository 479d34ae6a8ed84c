import { z } from "zod";
import { parseSchedule } from "./schedule.ts";

export const noSchedule = "off";

/** Refuses a text for which `parse` throws, in the words of its error. */
function parsableBy(parse: (text: string) => unknown) {
  return (text: string, { addIssue }: z.core.$RefinementCtx<string>) => {
    try {
      parse(text);
    } catch (error) {
      addIssue({ code: "custom", message: (error as Error).message });
    }
  };
}

export const schedule = z.string().superRefine(parsableBy((text) => text === noSchedule || parseSchedule(text, "UTC")));

const pingUrl = z
  .string()
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), "expected an http:// or https:// URL");

const pingSchema = z.strictObject({ start: pingUrl, success: pingUrl, failure: pingUrl }).partial();

/** 1 to 100 visible characters. */
export const isBrand = (text: string) => text.trim() !== "" && /^\P{Cc}{1,100}$/u.test(text);

export const planShape = {
  schedule: schedule
    .optional()
    .describe(
      "When the job runs, as a cron expression: `*/15 * * * *`, `@daily`, or six fields, the first for seconds. `off`: only on demand. " +
        "The default is `*/5 * * * *` for `catalog-sync`, `17,47 * * * *` for `catalog-reconcile`, and `off` for the others.",
    ),
  time_zone: z
    .string()
    .superRefine(parsableBy((text) => parseSchedule("@daily", text)))
    .default("UTC")
    .describe("Time zone of the schedule, such as `America/New_York`."),
  brand: z
    .string()
    .refine(isBrand, "expected a name of 1 to 100 characters")
    .optional()
    .describe("Brand that the job runs for; `BRAND` by default."),
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

export const planSchema = z.strictObject(planShape);

export type PlanOptions = z.infer<typeof planSchema>;

export const retentionSchema = z.strictObject({
  keep_days: z.int().min(1).max(36_500).default(90).describe("Number of days to keep a run in the history."),
  ...planShape,
});
