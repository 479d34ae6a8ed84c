import type { BulkRun } from "../bulk/run.ts";
import { fromArray } from "../catalog/list.ts";
import { byPosition, type Page, type PageArguments, toPage } from "../paging.ts";
import type { RequestContext } from "./context.ts";
import { badArgument } from "./errors.ts";
import { readId } from "./global-id.ts";

interface UserError {
  readonly code?: string;
  readonly field: readonly string[] | null;
  readonly message: string;
}

interface Payload {
  readonly bulkOperation: BulkRun | null;
  readonly userErrors: readonly UserError[];
}

export function startBulk(
  _source: unknown,
  { query, groupObjects }: { readonly query: string; readonly groupObjects: boolean },
  { bulk, appName, scopes, counters, bulkFault }: RequestContext,
): Payload {
  const started = bulk.start({ appName, scopes, query, groupObjects, fault: bulkFault() });
  if ("userErrors" in started) return { bulkOperation: null, userErrors: started.userErrors };
  counters.bulkRuns += 1;
  return { bulkOperation: started.run, userErrors: [] };
}

export function cancelBulk(_source: unknown, args: { readonly id: string }, context: RequestContext): Payload {
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

export function listBulk(
  _source: unknown,
  args: PageArguments & { readonly query?: string | null; readonly reverse?: boolean },
  { bulk, appName }: RequestContext,
): Page<BulkRun> {
  const tests = (args.query ?? "")
    .trim()
    .split(/\s+(?:AND\s+)?/)
    .filter(Boolean)
    .map(toTest);
  const runs = bulk.list(appName).filter((run) => tests.every((passes) => passes(run)));
  return toPage(byPosition(fromArray(args.reverse === true ? runs.toReversed() : runs)), args);
}

function toTest(term: string): (run: BulkRun) => boolean {
  const [, field, value = ""] = /^(status|operation_type):'?(\w+)'?$/.exec(term) ?? [];
  if (field === undefined) throw badArgument(`The stand-in cannot read the search "${term}"`, "STAND_IN_LIMIT");
  return (run) => (field === "status" ? run.status : run.type) === value.toUpperCase();
}

function userError(message: string): UserError {
  return { field: ["id"], message };
}
