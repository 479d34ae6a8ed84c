import { ServiceError } from "../../base/errors.ts";
import { polledLifetime } from "../../cache/namespace.ts";
import { parameter } from "../../http/request.ts";
import { listFinishedRuns } from "../../jobs/runs.ts";
import { hashTag } from "../../model/entity-tag.ts";
import { type Order, orders, parseOrder, toHistories } from "../../model/history.ts";
import type { Operation, ResponseDocumentation } from "../operation.ts";

const ok: ResponseDocumentation = {
  description: "The newest finished runs in the requested order.",
  schemas: ["Histories"],
};

/** The newest finished runs; newest first by default. */
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
  cachePolicy: (config) => config.cacheHistories,
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
