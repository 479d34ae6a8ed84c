import type { Log } from "../../../log.ts";
import type { CatalogSnapshot, PlatformProduct, Shop } from "../../platform.ts";
import type { RequestOptions, SendRequest } from "../client.ts";
import { localTimeFormatter } from "../local-time.ts";
import { toProduct } from "../mapping.ts";
import type { CompleteProduct } from "../queries.ts";
import { settleMs } from "../read-product.ts";
import { downloadBulkResults } from "./download.ts";
import { type BulkResult, runBulkOperation } from "./operation.ts";
import type { BulkPartitions } from "./partitions.ts";

const batchSize = 200;

/** Reads the whole catalog with two bulk operations; see `Platform.readCatalog`. */
export async function readCatalog(
  request: SendRequest,
  { timeZone, readAtMs }: Shop,
  options: RequestOptions,
  log: Log,
): Promise<CatalogSnapshot> {
  const [products, media] = await runBulkOperations(request, options, log);
  const startedMs = performance.now();
  const partitions = await downloadBulkResults(products, media, options.signal);
  log.info(
    { products: partitions.ids.size, downloadMs: Math.round(performance.now() - startedMs) },
    "bulk results downloaded",
  );
  // In whole seconds, as `updatedAt` is.
  const unsettledSinceMs = Math.floor((readAtMs - settleMs) / 1000) * 1000;
  return {
    ids: partitions.ids,
    unsettledSinceMs,
    readProducts: () => readProducts(partitions, timeZone, unsettledSinceMs),
    [Symbol.asyncDispose]: () => partitions[Symbol.asyncDispose](),
  };
}

/** Runs both operations at the same time; when one fails, the other is canceled. */
async function runBulkOperations(
  request: SendRequest,
  options: RequestOptions,
  log: Log,
): Promise<[BulkResult, BulkResult]> {
  const canceling = new AbortController();
  const signal = AbortSignal.any([options.signal, canceling.signal]);
  const run = (name: "products" | "media") => runBulkOperation(request, name, { ...options, signal }, log);
  const operations: [Promise<BulkResult>, Promise<BulkResult>] = [run("products"), run("media")];
  try {
    return await Promise.all(operations);
  } catch (error) {
    canceling.abort(error);
    await Promise.allSettled(operations);
    throw error;
  }
}

async function* readProducts(
  partitions: BulkPartitions,
  timeZone: string,
  unsettledSinceMs: number,
): AsyncGenerator<Iterable<PlatformProduct>> {
  const toLocal = localTimeFormatter(timeZone);
  const toPlatformProduct = (product: CompleteProduct): PlatformProduct => ({
    product: toProduct(product, toLocal),
    updatedAt: product.updatedAt,
    isSettled: Date.parse(product.updatedAt) < unsettledSinceMs,
  });
  for await (const products of partitions.readProducts()) {
    for (let start = 0; start < products.length; start += batchSize) {
      // Mapped lazily, so that only one product at a time is in memory in both forms.
      yield products
        .slice(start, start + batchSize)
        .values()
        .map(toPlatformProduct);
    }
  }
}
