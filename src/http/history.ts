import type { Database } from "../database/database.ts";
import { listFinishedRuns } from "../database/run.ts";
import { ServiceError } from "../errors.ts";
import { parseOrder, toHistories } from "../history.ts";
import { type Handler, parameter } from "./server.ts";

/** `GET /api/v1/histories/:order`: the newest finished runs; without an order the newest come first. */
export function getHistories(database: Database): Handler {
  return async (request) => {
    const order = parseOrder("order" in request.params ? parameter(request, "order") : "desc");
    if (order === undefined)
      throw new ServiceError("bad_request", "The order is asc (oldest first) or desc (newest first).");
    const histories = toHistories(await listFinishedRuns(database), order);
    return { status: 200, type: "application/json", body: JSON.stringify(histories) };
  };
}
