import { z } from "zod";

export const historySchema = z
  .object({
    brand: z.string().describe("Brand the job ran for."),
    counts: z.int().describe("Count recorded by the job; zero is possible."),
    created_at: z
      .string()
      .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      .describe("When the run finished: ISO 8601 in UTC, form `<YYYY-MM-DDThh:mm:ssZ>`."),
  })
  .meta({ id: "HistoryRecord", description: "One finished run of a scheduled job." });

export const historiesSchema = z
  .object({ histories: z.array(historySchema).describe("The last 10 finished runs at most.") })
  .meta({ id: "Histories", description: "The newest finished runs of the jobs that move the data." });

export type HistoryRecord = z.infer<typeof historySchema>;
