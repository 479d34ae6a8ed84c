import { setTimeout as sleep } from "node:timers/promises";
import { findCursor, saveCursor } from "../database/cursor.ts";
import type { Database } from "../database/database.ts";
import { exceptKnownId, knowIdsUpTo } from "../database/known-ids.ts";
import {
  listProductStates,
  markProductStale,
  removeMissing,
  saveProducts,
  toStoredProduct,
} from "../database/product.ts";
import { ServiceError } from "../errors.ts";
import { pluralize } from "../format.ts";
import type { Reporter, Work } from "../jobs/work.ts";
import { type ListedProduct, type Platform, PlatformError, UnusableProductError } from "../platforms/platform.ts";
import { checkSameShop, checkShop, keptReason } from "./guards.ts";
import { keepStoredFields } from "./kept-fields.ts";

/** How far before its cursor a run starts, because changes may become visible out of order. */
const overlapMs = 2 * 60_000;
/** Products read at the same time; the platform's throttle limits the rate. */
const concurrency = 6;
/** Attempts to read a product that keeps changing. */
const maxReadings = 4;

export interface SyncContext {
  readonly database: Database;
  readonly platform: Platform;
  /** The shop that every reading must come from. */
  readonly shopId: string;
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
  /** Share of the stored products, from 0 to 1, that may be removed one by one. */
  readonly maxRemovedShare: number;
}

/**
 * Stores the products that changed on the platform since the last run.
 * @param maxRemovedShare share of the stored products, from 0 to 1, that may be removed one by one
 */
export function catalogSync(source: Platform, maxRemovedShare: number): Work {
  return async ({ database, reporter, signal }) => {
    if (database === undefined) return;
    const platform = keepStoredFields(source, database, reporter);
    const { id: shopId, readAtMs } = await platform.readShop(signal);
    await checkShop(database, platform, shopId);
    const cursor = await findCursor(database, "catalog-sync");
    const sinceMs = cursor === undefined ? undefined : Date.parse(cursor) - overlapMs;
    const context = { database, platform, shopId, reporter, signal, maxRemovedShare };
    let highest = 0n;
    await syncChangedSince(sinceMs, context, async (page, updatedAt) => {
      highest = highestEarlierId(page, readAtMs, highest);
      await saveCursor(database, "catalog-sync", updatedAt);
    });
    await database.inTransaction((transaction) => knowIdsUpTo(transaction, highest, sinceMs === undefined));
  };
}

/**
 * The highest id of products that changed a while ago: a list may have a product that was just
 * created, and not yet one with a lower id.
 * @param listedAtMs by the platform's clock
 */
export function highestEarlierId(products: Iterable<ListedProduct>, listedAtMs: number, lowest = 0n): bigint {
  let highest = lowest;
  for (const { id, updatedAt } of products) {
    if (id > highest && Date.parse(updatedAt) < listedAtMs - overlapMs) highest = id;
  }
  return highest;
}

/**
 * Syncs every product that changed since an instant and is not stored in that state.
 * @param onPage called after each page with its latest change, unless a product could not be read:
 *   the next run must return to that product
 * @throws ServiceError `unavailable` when a product could not be read
 */
async function syncChangedSince(
  sinceMs: number | undefined,
  context: SyncContext,
  onPage: (page: readonly ListedProduct[], updatedAt: string) => Promise<void>,
): Promise<void> {
  const { database, platform, signal } = context;
  let failed = 0;
  for await (const page of platform.listProducts(sinceMs, signal)) {
    failed += await syncProducts(await findUnsynced(database, page), context);
    const last = page.at(-1);
    if (failed === 0 && last !== undefined) await onPage(page, last.updatedAt);
  }
  if (failed === 0) return;
  throw new ServiceError("unavailable", `${pluralize(failed, "product")} could not be read; the next run tries again`);
}

/** The products that are not stored in their listed state. */
export async function findUnsynced(database: Database, page: readonly ListedProduct[]): Promise<ListedProduct[]> {
  const states = await listProductStates(
    database,
    page.map(({ id }) => id),
  );
  return page.filter(({ id, updatedAt }) => {
    const state = states.get(`${id}`);
    return state?.updatedAt !== updatedAt || !state.known;
  });
}

/**
 * Reads products from the platform and stores each one as it arrives. One that no longer exists is
 * removed, one that cannot be read is marked as stale, one that is not settled is read again.
 * @returns how many could not be read
 */
export async function syncProducts(products: readonly ListedProduct[], context: SyncContext): Promise<number> {
  const { platform, reporter, signal } = context;
  const written = new Set<bigint>();
  let failed = 0;
  let pending = products.map(({ id }) => id);
  for (let reading = 1; pending.length > 0; reading++) {
    if (reading > 1) await sleep(platform.settleMs, undefined, { signal });
    const unsettled: bigint[] = [];
    const queue = pending.values();
    const work = async () => {
      for (const id of queue) {
        const outcome = await syncProduct(id, written, context);
        if (outcome === "failed") failed++;
        else if (outcome === "unsettled") unsettled.push(id);
      }
    };
    const workers = Array.from({ length: concurrency }, () =>
      work().catch((error) => {
        // Without further products, the others end with the one that they are reading.
        for (const _ of queue);
        throw error;
      }),
    );
    await Promise.allSettled(workers);
    await Promise.all(workers);
    if (reading === maxReadings && unsettled.length > 0) {
      reporter.note(`products that keep changing, which the next run reads again: ${unsettled.length}`);
      break;
    }
    pending = unsettled;
  }
  return failed;
}

async function syncProduct(
  id: bigint,
  written: Set<bigint>,
  { database, platform, shopId, reporter, signal, maxRemovedShare }: SyncContext,
): Promise<"done" | "unsettled" | "failed"> {
  try {
    const { shopId: readFrom, found } = await platform.readProduct(id, { priority: "sync", signal });
    checkSameShop(platform, shopId, readFrom);
    if (found === undefined) {
      if (!(await removeMissing(database, id, maxRemovedShare))) reporter.note(`product ${id} ${keptReason}`);
      return "done";
    }
    const { product, updatedAt, isSettled } = found;
    const saved = await saveProducts(database, [toStoredProduct(product, updatedAt, isSettled)]);
    if (saved > 0 && !written.has(id)) {
      written.add(id);
      reporter.accept();
    }
    return isSettled ? "done" : "unsettled";
  } catch (error) {
    if (!(error instanceof PlatformError) || error.isGeneral || signal.aborted) throw error;
    if (error instanceof UnusableProductError) {
      await noteUnusable(id, error.message, { database, reporter });
      return "done";
    }
    reporter.noteEach("products that could not be read", `product ${id}: ${error.message}`);
    await markProductStale(database, id);
    return "failed";
  }
}

/** Names a product that cannot be stored. Its stored version, if any, is served as stale. */
export async function noteUnusable(
  id: bigint,
  reason: string,
  { database, reporter }: Pick<SyncContext, "database" | "reporter">,
): Promise<void> {
  reporter.noteEach("products that cannot be stored", `warning: product ${id} ${reason}`);
  await markProductStale(database, id);
  await database.inTransaction((transaction) => exceptKnownId(transaction, id));
}
