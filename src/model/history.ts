import { z } from "zod";
import type { FinishedRun } from "./job.ts";

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

/** Maximum number of runs in a history. */
export const historyLimit = 10;

export const orders = ["asc", "desc"] as const;
export type Order = (typeof orders)[number];

export function parseOrder(text: string): Order | undefined {
  return orders.find((order) => order === text);
}

/** @param runs newest first */
export function toHistories(runs: FinishedRun[], order: Order): { histories: HistoryRecord[] } {
  const records = runs.map(({ brand, counts, finishedAt }) => ({
    brand,
    counts,
    created_at: `${finishedAt.slice(0, "YYYY-MM-DDThh:mm:ss".length)}Z`,
  }));
  return { histories: order === "desc" ? records : records.reverse() };
}
