import { inBatches } from "../../../base/batches.ts";
import type { Log } from "../../../base/log.ts";
import type { CatalogSnapshot, PlatformProduct, Shop, UnusableProduct } from "../../platform.ts";
import type { RequestOptions, SendRequest } from "../client.ts";
import type { CompleteProduct } from "../complete-product.ts";
import type { Documents } from "../documents.ts";
import { convert, type ShopUnits, settleMs, unitsOf } from "../mapping.ts";
import type { DocumentSet } from "../queries.ts";
import { findRefusedFields } from "../read-page.ts";
import { completeProduct } from "../responses.ts";
import { type DownloadOptions, downloadBulkResults } from "./download.ts";
import { BulkFailedError, type BulkResult, runBulkOperation } from "./operation.ts";
import type { BulkPartitions } from "./partitions.ts";

const batchSize = 200;

interface Context {
  readonly documents: Documents;
  readonly log: Log;
  readonly download?: DownloadOptions;
}

/** Reads the whole catalog with two bulk operations; see `Platform.readCatalog`. */
export async function readCatalog(
  request: SendRequest,
  { timeZone, weightUnit, readAtMs }: Shop,
  options: RequestOptions,
  { documents, log, download }: Context,
): Promise<CatalogSnapshot> {
  await findRefusedFields(request, options);
  const sent = documents.current;
  const [products, media] = await runBulkOperations(request, options, sent, log);
  const startedMs = performance.now();
  const partitions = await downloadBulkResults(products, media, options.signal, download);
  log.info(
    { products: partitions.ids.size, downloadMs: Math.round(performance.now() - startedMs) },
    "bulk results downloaded",
  );
  // A product's parts are read one after another. Whole seconds, like `updatedAt`.
  const unsettledSinceMs = Math.floor((readAtMs - settleMs) / 1000) * 1000;
  return {
    ids: partitions.ids,
    unsettledSinceMs,
    endedAtMs: Math.max(products.endedAtMs, media.endedAtMs),
    readProducts: () => readProducts(partitions, unitsOf(timeZone, weightUnit, readAtMs), unsettledSinceMs, sent),
    [Symbol.asyncDispose]: () => partitions[Symbol.asyncDispose](),
  };
}

/** Runs both operations at the same time; when one fails, the other is canceled. */
async function runBulkOperations(
  request: SendRequest,
  options: RequestOptions,
  { bulkQueries }: DocumentSet,
  log: Log,
): Promise<[BulkResult, BulkResult]> {
  const canceling = new AbortController();
  const signal = AbortSignal.any([options.signal, canceling.signal]);
  const run = (name: keyof typeof bulkQueries) =>
    runTwice(name, () => runBulkOperation(request, name, { ...options, signal }, log, bulkQueries[name]), log);
  const operations: [Promise<BulkResult>, Promise<BulkResult>] = [run("products"), run("media")];
  try {
    return await Promise.all(operations);
  } catch (error) {
    canceling.abort(error);
    await Promise.allSettled(operations);
    throw error;
  }
}

/** Runs a bulk operation again, once, when it failed at Shopify. */
async function runTwice(name: string, run: () => Promise<BulkResult>, log: Log): Promise<BulkResult> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof BulkFailedError)) throw error;
    log.warn({ bulk: name, err: error }, "a bulk operation failed and is started again");
    return await run();
  }
}

async function* readProducts(
  partitions: BulkPartitions,
  units: ShopUnits,
  unsettledSinceMs: number,
  sent: DocumentSet,
): AsyncGenerator<Iterable<PlatformProduct | UnusableProduct>> {
  const toPlatformProduct = (product: CompleteProduct): PlatformProduct | UnusableProduct => {
    const path = completeProduct(product);
    if (path !== undefined)
      return {
        id: BigInt(product.id.split("/").at(-1) ?? ""),
        unusable: `cannot be read: it has no valid ${path.slice(1)}`,
      };
    const converted = convert(product, units, sent);
    const isSettled = Date.parse(product.updatedAt) < unsettledSinceMs;
    return "unusable" in converted ? converted : { ...converted, isSettled };
  };
  for await (const products of partitions.readProducts()) {
    // Mapped lazily, so that only one product at a time is in memory in both forms.
    for (const batch of inBatches(products, batchSize)) yield batch.values().map(toPlatformProduct);
  }
}
