import { z } from "zod";
import type { PointsReport } from "../platform.ts";

/** The cost of a request, as its response reports it. */
export interface ReportedCost {
  readonly requested: number;
  /** 0 when the request was not executed. */
  readonly actual: number;
  readonly status: PointsReport;
}

/** Shopify executes no request that costs more. */
const maxCost = 1000;

/** Points per second on the lowest plan. A report of fewer is false, and would delay requests for minutes. */
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

/**
 * Reads the extension of a response, of which the budget of all processes is made.
 * @returns undefined when its numbers would stop all requests, or the limit of requests
 */
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
