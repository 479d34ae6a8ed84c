import type { Config } from "../config/index.ts";
import { saveCursor } from "../database/cursor.ts";
import { type Database, readNow } from "../database/database.ts";
import {
  countHiddenProducts,
  countProducts,
  exceedsShare,
  listProductIds,
  listProductStates,
  removeProducts,
  type StoredProduct,
  saveProducts,
  toStoredProduct,
} from "../database/product.ts";
import { checkShop } from "../database/shop.ts";
import { ServiceError } from "../errors.ts";
import type { Reporter, RunContext, Work } from "../jobs/work.ts";
import type { Log } from "../log.ts";
import { type Id, toId } from "../model/product.ts";
import { BulkRefused, type BulkResult, runBulk } from "../platforms/shopify/bulk.ts";
import type { Request, RequestOptions } from "../platforms/shopify/client.ts";
import { type ListedProduct, listProducts } from "../platforms/shopify/list.ts";
import { type PartitionedResult, partition } from "../platforms/shopify/partition.ts";
import { toProduct } from "../platforms/shopify/product.ts";
import { readShop, settleMs } from "../platforms/shopify/read.ts";
import { createZone } from "../platforms/shopify/time.ts";
import { changedOf as changedOfListed, type SyncContext, syncProducts, toPlatformTime } from "./sync.ts";
import { hiddenNotes } from "./visibility.ts";

const batchSize = 200;

export interface ReconcileOptions {
  /** Share of the stored products, from 0 to 1, that may vanish; beyond it the run fails and changes nothing. */
  readonly maxRemovedShare: number;
  readonly visible: Config["visible"];
}

/** Compares the whole catalog with the platform's: writes what differs, removes what vanished. */
export function catalogReconcile(request: Request, { maxRemovedShare, visible }: ReconcileOptions, log: Log): Work {
  return async (context) => {
    const { database, signal, reporter } = context;
    if (database === undefined) return;
    const options: RequestOptions = { priority: "sync", signal };
    const { shop, askedAtMs } = await readShop(request, options);
    await checkShop(database, shop.id);
    // From here on a product may change while the bulk runs read it.
    const unsettledFrom = toPlatformTime(askedAtMs - settleMs);
    const begunAt = await readNow(database);
    const storedBefore = new Set((await listProductIds(database)).map(toId));
    try {
      const [products, media] = await runBoth(request, options, log);
      const downloadedFromMs = performance.now();
      await using result = await partition(products, media, signal);
      const vanished = await findVanished(database, result.ids, begunAt, maxRemovedShare);
      const writtenFromMs = performance.now();
      const writing = { ...context, begunAt, storedBefore, unsettledFrom };
      await writeChanged(database, result, shop.ianaTimezone, writing);
      await remove(database, vanished, reporter);
      await readChangedSince(unsettledFrom, { ...context, database, request, maxRemovedShare });
      const [downloadMs, writeMs] = [writtenFromMs - downloadedFromMs, performance.now() - writtenFromMs].map(
        Math.round,
      );
      log.info(
        { products: result.ids.size, written: reporter.report.accepted, downloadMs, writeMs },
        "catalog compared",
      );
    } catch (error) {
      if (!(error instanceof BulkRefused)) throw error;
      reporter.note(`${error.message}; every product is read by itself instead`);
      await readEverything(begunAt, { ...context, database, request, maxRemovedShare });
    }
    await saveCursor(database, "catalog-reconcile", begunAt);
    // With the whole catalog compared, removals one by one are counted anew.
    await saveCursor(database, "removals", "null");
    const [hidden, total] = [await countHiddenProducts(database), await countProducts(database)];
    for (const note of hiddenNotes(visible, hidden, total)) reporter.note(note);
  };
}

/** Both bulk runs, side by side; when one ends badly, the other is not left behind. */
async function runBoth(request: Request, options: RequestOptions, log: Log): Promise<[BulkResult, BulkResult]> {
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  const run = (name: "products" | "media") => runBulk(request, name, { ...options, signal }, log);
  const runs: [Promise<BulkResult>, Promise<BulkResult>] = [run("products"), run("media")];
  try {
    return await Promise.all(runs);
  } catch (error) {
    stopping.abort(error);
    await Promise.allSettled(runs);
    throw error;
  }
}

/** Stored products that the platform does not have any more; one that was checked since the run began is none of them. */
async function findVanished(
  database: Database,
  present: ReadonlySet<Id>,
  begunAt: string,
  maxShare: number,
): Promise<bigint[]> {
  const stored = await countProducts(database);
  const vanished = (await listProductIds(database, begunAt)).filter((id) => !present.has(toId(id)));
  if (exceedsShare(vanished.length, stored, maxShare)) {
    const limit = `${Math.round(maxShare * 100)} %`;
    throw new ServiceError(
      "invalid_input",
      `${vanished.length} of ${stored} products would vanish, more than ${limit}: nothing was changed; ` +
        "if that is right, raise max_removed_share of [jobs.catalog-reconcile]",
    );
  }
  return vanished.map(BigInt);
}

type WriteContext = RunContext & {
  readonly begunAt: string;
  readonly storedBefore: ReadonlySet<Id>;
  /** The platform's time from which on a change may be missing in the result, or half there. */
  readonly unsettledFrom: string;
};

async function writeChanged(
  database: Database,
  result: PartitionedResult,
  timeZone: string,
  { reporter, signal, begunAt, storedBefore, unsettledFrom }: WriteContext,
): Promise<void> {
  const toLocal = createZone(timeZone);
  for await (const products of result.products()) {
    const settled = products.filter(({ updatedAt }) => updatedAt < unsettledFrom);
    for (let start = 0; start < settled.length; start += batchSize) {
      signal.throwIfAborted();
      const batch = settled.slice(start, start + batchSize);
      const stored = batch.map((product) => toStoredProduct(toProduct(product, toLocal), product.updatedAt));
      reporter.accept(await saveProducts(database, await changedOf(database, stored, storedBefore), begunAt));
    }
  }
}

/** Those that differ from what is stored; one that was stored and is no more was removed while the bulk runs went on. */
async function changedOf(
  database: Database,
  products: readonly StoredProduct[],
  storedBefore: ReadonlySet<Id>,
): Promise<StoredProduct[]> {
  const states = await listProductStates(
    database,
    products.map(({ id }) => id),
  );
  return products.filter(({ id, tag, updatedAt }) => {
    const state = states.get(`${id}`);
    if (state === undefined) return !storedBefore.has(toId(`${id}`));
    return state.tag !== tag || state.updatedAt !== updatedAt || !state.known;
  });
}

/** Reads the products one by one that changed at the platform while the bulk runs read it. */
async function readChangedSince(since: string, context: SyncContext): Promise<void> {
  const { database, request, signal } = context;
  let failed = 0;
  for await (const page of listProducts(request, since, { priority: "sync", signal })) {
    failed += await syncProducts(await changedOfListed(database, page), context);
  }
  if (failed > 0)
    throw new ServiceError("unavailable", `${failed} products could not be read; the next run tries them again`);
}

async function remove(database: Database, vanished: readonly bigint[], reporter: Reporter): Promise<void> {
  await removeProducts(database, vanished);
  if (vanished.length > 0) reporter.note(`${vanished.length} products are gone from the platform and were removed`);
}

/** The way without bulk runs: all are listed first, so that what would vanish is known before anything is changed. */
async function readEverything(begunAt: string, context: SyncContext): Promise<void> {
  const { database, request, reporter, signal, maxRemovedShare } = context;
  const listed = new Map<Id, ListedProduct>();
  for await (const page of listProducts(request, undefined, { priority: "sync", signal })) {
    for (const product of page) listed.set(toId(`${product.id}`), product);
  }
  const vanished = await findVanished(database, new Set(listed.keys()), begunAt, maxRemovedShare);
  const failed = await syncProducts([...listed.values()], context);
  if (failed > 0) throw new ServiceError("unavailable", `${failed} of ${listed.size} products could not be read`);
  await remove(database, vanished, reporter);
}
