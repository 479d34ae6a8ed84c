import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../../base/log.ts";
import { BulkReadError } from "../../platform.ts";
import type { RequestOptions, SendRequest } from "../client.ts";
import { bulkQueries } from "../queries.ts";
import { ShopifyError } from "../retry.ts";

export interface BulkFile {
  /** Null when nothing matched. */
  readonly url: string | null;
  readonly bytes: number;
  readonly objects: number;
}

export interface BulkResult extends BulkFile {
  /** By the platform's clock; infinity when Shopify does not say when the operation ended. */
  readonly endedAtMs: number;
}

/** Shopify accepted the operation and did not complete it. */
export class BulkFailedError extends BulkReadError {}

const firstPollMs = 250;
const maxPollMs = 10_000;
/** Attempts to start while Shopify runs as many bulk operations as it allows. */
const maxStarts = 10;
/** After this time, a run still has enough of its hour to read page by page. */
const maxStuckMs = 20 * 60_000;
const unfinished = new Set(["CREATED", "RUNNING", "CANCELING"]);

/**
 * Runs one of the bulk queries to completion.
 * @throws BulkReadError when Shopify refuses the operation, or it makes no progress;
 *   BulkFailedError when it fails there; ShopifyError when a request fails
 */
export async function runBulkOperation(
  request: SendRequest,
  name: keyof typeof bulkQueries,
  options: RequestOptions,
  log: Log,
  query = bulkQueries[name],
  stuckMs = maxStuckMs,
): Promise<BulkResult> {
  const id = await startOperation(request, query, options);
  let progress = "";
  let progressAtMs = performance.now();
  try {
    for (let pollMs = firstPollMs; ; pollMs = Math.min(maxPollMs, pollMs * 1.5)) {
      await sleep(pollMs, undefined, { signal: options.signal });
      const { bulkOperation } = await request("BulkOperation", { id }, options);
      const { status = "GONE", errorCode, completedAt, url = null, fileSize, objectCount } = bulkOperation ?? {};
      if (status === "COMPLETED") {
        // Shopify's time has whole seconds.
        const endedAtMs = completedAt == null ? Number.POSITIVE_INFINITY : Date.parse(completedAt) + 1000;
        return { url, bytes: Number(fileSize ?? 0), objects: Number(objectCount ?? 0), endedAtMs };
      }
      if (!unfinished.has(status))
        throw new BulkFailedError(`the bulk operation for ${name} ended as ${status} ${errorCode ?? ""}`.trim());
      log.debug({ bulk: name, status, objectCount }, "bulk operation running");
      if (progress !== `${status} ${objectCount}`) {
        progress = `${status} ${objectCount}`;
        progressAtMs = performance.now();
      } else if (performance.now() - progressAtMs > stuckMs) {
        const minutes = Math.round(stuckMs / 60_000);
        throw new BulkReadError(`the bulk operation for ${name} was ${status} for ${minutes} minutes without progress`);
      }
    }
  } catch (error) {
    // An abandoned operation would block other bulk operations of the shop.
    if (!(error instanceof BulkFailedError)) await cancelOperation(request, id, options);
    throw error;
  }
}

/** @returns the operation's identifier */
async function startOperation(request: SendRequest, query: string, options: RequestOptions): Promise<string> {
  for (let start = 1; ; start++) {
    const { bulkOperationRunQuery } = await request("BulkRun", { query }, options).catch((error) => {
      if (error instanceof ShopifyError && error.failure.kind === "graphql") throw new BulkReadError(error.message);
      throw error;
    });
    const { bulkOperation = null, userErrors = [] } = bulkOperationRunQuery ?? {};
    if (bulkOperation !== null && userErrors.length === 0) return bulkOperation.id;
    const [error] = userErrors;
    if (error?.code !== "OPERATION_IN_PROGRESS" || start === maxStarts) {
      throw new BulkReadError(`Shopify refused the bulk operation: ${error?.message ?? "no reason given"}`);
    }
    await sleep(maxPollMs, undefined, { signal: options.signal });
  }
}

async function cancelOperation(request: SendRequest, id: string, { priority }: RequestOptions): Promise<void> {
  const signal = AbortSignal.timeout(5000);
  await request("BulkCancel", { id }, { priority, signal }).catch(() => undefined);
}
