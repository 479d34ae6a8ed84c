import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../log.ts";
import type { Request, RequestOptions } from "./client.ts";
import { bulkQueries } from "./queries.ts";
import { PlatformError } from "./retry.ts";

/** The platform does not do this bulk run: there is another way to read everything. */
export class BulkRefused extends Error {}

/** The finished result of a bulk run. */
export interface BulkResult {
  /** Null when nothing matched. */
  readonly url: string | null;
  readonly bytes: number;
  readonly objects: number;
}

interface Operation {
  readonly id: string;
  readonly status: string;
  readonly errorCode?: string | null;
  readonly objectCount?: string;
  readonly fileSize?: string | null;
  readonly url?: string | null;
}

interface RunAnswer {
  readonly bulkOperationRunQuery: {
    readonly bulkOperation: Operation | null;
    readonly userErrors: readonly { readonly code: string | null; readonly message: string }[];
  };
}

const firstPollMs = 250;
const longestPollMs = 10_000;
/** How often a place among the platform's concurrent runs is asked for. */
const maxPlaces = 10;
const unfinished = new Set(["CREATED", "RUNNING", "CANCELING"]);

/**
 * Runs one of the bulk queries to its end.
 * @throws BulkRefused when the platform refuses it or it fails there; PlatformError when the platform cannot be asked
 */
export async function runBulk(
  request: Request,
  name: keyof typeof bulkQueries,
  options: RequestOptions,
  log: Log,
): Promise<BulkResult> {
  const { id } = await startBulk(request, bulkQueries[name], options);
  try {
    for (let pollMs = firstPollMs; ; pollMs = Math.min(longestPollMs, pollMs * 1.5)) {
      await sleep(pollMs, undefined, { signal: options.signal });
      const { bulkOperation } = await request<{ bulkOperation: Operation | null }>("BulkOperation", { id }, options);
      const { status = "GONE", errorCode, url = null, fileSize, objectCount } = bulkOperation ?? {};
      if (status === "COMPLETED") return { url, bytes: Number(fileSize ?? 0), objects: Number(objectCount ?? 0) };
      if (!unfinished.has(status))
        throw new BulkRefused(`the bulk run of ${name} ended as ${status} ${errorCode ?? ""}`.trim());
      log.debug({ bulk: name, status, objectCount }, "bulk run under way");
    }
  } catch (error) {
    // Nobody waits for it any more: leave the place to others.
    if (!(error instanceof BulkRefused)) await cancelBulk(request, id, options);
    throw error;
  }
}

async function startBulk(request: Request, query: string, options: RequestOptions): Promise<Operation> {
  for (let place = 1; ; place++) {
    const { bulkOperationRunQuery } = await request<RunAnswer>("BulkRun", { query }, options).catch((error) => {
      if (error instanceof PlatformError && error.failure.kind === "graphql") throw new BulkRefused(error.message);
      throw error;
    });
    const { bulkOperation, userErrors } = bulkOperationRunQuery;
    if (bulkOperation !== null && userErrors.length === 0) return bulkOperation;
    const [error] = userErrors;
    if (error?.code !== "OPERATION_IN_PROGRESS" || place === maxPlaces) {
      throw new BulkRefused(`the platform refuses the bulk run: ${error?.message ?? "it says not why"}`);
    }
    await sleep(longestPollMs, undefined, { signal: options.signal });
  }
}

async function cancelBulk(request: Request, id: string, { priority }: RequestOptions): Promise<void> {
  const signal = AbortSignal.timeout(5000);
  await request("BulkCancel", { id }, { priority, signal }).catch(() => undefined);
}
