import type { BulkRun } from "../bulk/run.ts";
import type { RequestContext } from "./context.ts";
import { readId } from "./global-id.ts";

export function startBulk(
  _source: unknown,
  { query, groupObjects }: { readonly query: string; readonly groupObjects: boolean },
  { bulk, appName, scopes, counters, bulkFault }: RequestContext,
) {
  const started = bulk.start({ appName, scopes, query, groupObjects, fault: bulkFault() });
  if (started.bulkOperation !== null) counters.bulkRuns += 1;
  return started;
}

export function cancelBulk(_source: unknown, args: { readonly id: string }, context: RequestContext) {
  const run = findBulk(undefined, args, context);
  if (run === undefined) return { bulkOperation: null, userErrors: [userError("Bulk operation does not exist")] };
  const { status } = run;
  if (run.cancel()) return { bulkOperation: run, userErrors: [] };
  const message = `A bulk operation cannot be canceled when it is ${status.toLowerCase()}`;
  return { bulkOperation: run, userErrors: [userError(message)] };
}

/** Runs of other apps are not visible. */
export function findBulk(
  _source: unknown,
  { id }: { readonly id: string },
  { bulk, appName }: RequestContext,
): BulkRun | undefined {
  readId(id, "BulkOperation");
  const run = bulk.find(id);
  return run?.appName === appName ? run : undefined;
}

const userError = (message: string) => ({ field: ["id"], message });
