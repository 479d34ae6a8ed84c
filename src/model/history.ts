import type { z } from "zod";
import type { FinishedRun } from "./job.ts";
import type { historySchema } from "./schemas/history.ts";

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
