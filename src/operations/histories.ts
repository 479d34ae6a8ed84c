import { ServiceError } from "../base/errors.ts";
import { hashTag } from "../base/hash.ts";
import { polledLifetime } from "../cache/namespace.ts";
import type { HistoryRecord } from "../contract/history.ts";
import { parameter } from "../http/request.ts";
import type { FinishedRun } from "../jobs/run.ts";
import { listFinishedRuns } from "../jobs/runs.ts";
import type { Operation, ResponseDocumentation } from "./operation.ts";

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

const ok: ResponseDocumentation = {
  description: "The newest finished runs in the requested order.",
  schemas: ["Histories"],
};

export const histories: Operation = {
  name: "histories",
  isCore: true,
  routes: [
    {
      path: "/api/v1/histories",
      operationId: "getHistories",
      summary: "Get the most recent job history, newest first",
      responses: { 200: ok },
    },
    {
      path: "/api/v1/histories/:order",
      operationId: "getOrderedHistories",
      summary: "Get the most recent job history",
      description:
        "The 10 newest finished runs, sorted by `order`. A failed run has what it stored until then as `counts`, often 0. " +
        "`pds history` and the console show outcomes and reasons.",
      parameters: {
        order: {
          description: "`asc` (oldest first) or `desc` (newest first).",
          schema: { type: "string", enum: orders },
          example: "desc",
        },
      },
      responses: { 200: ok, 400: { description: "The order is neither `asc` nor `desc`." } },
    },
  ],
  cachePolicy: (settings) => settings.cacheHistories,
  lifetime: (policy) => polledLifetime(policy),
  parseKey: (request) => {
    const order = parseOrder("order" in request.params ? parameter(request, "order") : "desc");
    if (order === undefined) {
      throw new ServiceError("bad_request", "The order must be asc (oldest first) or desc (newest first).");
    }
    return order;
  },
  createLoader:
    ({ query }) =>
    async (order) => {
      const body = JSON.stringify(toHistories(await query(listFinishedRuns), order as Order));
      return { body, tag: hashTag(body) };
    },
};
