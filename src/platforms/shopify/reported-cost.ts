import { z } from "zod";
import type { PointsReport } from "../platform.ts";

export interface ReportedCost {
  readonly requested: number;
  /** 0 when the request was not executed. */
  readonly actual: number;
  readonly status: PointsReport;
}

/** Shopify executes no request that costs more. */
const maxCost = 1000;

/** The rate of the lowest plan. Lower reported rates are wrong, and would delay requests for minutes. */
const lowestRestoreRate = 100;

const points = z.number().nonnegative();

const costSchema = z.object({
  requestedQueryCost: points,
  actualQueryCost: points.nullish(),
  throttleStatus: z.object({
    maximumAvailable: z.number().min(1),
    currentlyAvailable: z.number(),
    restoreRate: z.number().transform((rate) => Math.max(rate, lowestRestoreRate)),
  }),
});

/** @returns undefined when the numbers would stop all requests, or disable the limit */
export function readCost(extension: unknown): ReportedCost | undefined {
  const { data } = costSchema.safeParse(extension);
  if (data === undefined) return undefined;
  const { requestedQueryCost, actualQueryCost, throttleStatus } = data;
  const { maximumAvailable, currentlyAvailable } = throttleStatus;
  const toCost = (value: number) => Math.min(value, maxCost, maximumAvailable);
  return {
    requested: toCost(requestedQueryCost),
    actual: toCost(actualQueryCost ?? 0),
    status: { ...throttleStatus, currentlyAvailable: Math.max(0, Math.min(currentlyAvailable, maximumAvailable)) },
  };
}
