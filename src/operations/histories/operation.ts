import { Content, hashTag } from "../../cache/response.ts";
import type { CacheNamespace, ResponseCache } from "../../cache/response-cache.ts";
import type { ConcurrencyLimiter } from "../../concurrency-limiter.ts";
import type { Database } from "../../database/database.ts";
import { listFinishedRuns } from "../../database/run.ts";
import { ServiceError } from "../../errors.ts";
import { type Handler, operationTemplate, purgeTags } from "../../http/endpoint.ts";
import { parameter } from "../../http/request.ts";
import type { CachePolicy } from "../../model/cache-policy.ts";
import { type Order, parseOrder, toHistories } from "../../model/history.ts";

export interface HistorySource {
  readonly database: Database;
  readonly gate: ConcurrencyLimiter;
  readonly policy: CachePolicy;
}

/** Runs end without a word to the memory: it asks again, so that it is never further behind than this. */
const freshMs = 500;

/** `GET /api/v1/histories/:order`: the newest finished runs; without an order the newest come first. */
export function getHistories(memory: ResponseCache, { database, gate, policy }: HistorySource): Handler {
  const template = operationTemplate(policy);
  const tags = purgeTags("histories");
  const kind: CacheNamespace = {
    name: "histories",
    isWatched: false,
    freshMs,
    staleWhileRevalidateMs: 0,
    staleIfErrorMs: policy.staleIfErrorS * 1000,
    find: async (order) => {
      const runs = await gate.run(() => listFinishedRuns(database));
      const body = JSON.stringify(toHistories(runs, order as Order));
      const content = new Content({ template, body, tag: hashTag(body), purgeTags: tags });
      return { content, isEmpty: false };
    },
  };
  return (request, _, nowMs) => {
    const order = parseOrder("order" in request.params ? parameter(request, "order") : "desc");
    if (order === undefined)
      throw new ServiceError("bad_request", "The order is asc (oldest first) or desc (newest first).");
    return memory.answer(kind, order, nowMs);
  };
}
