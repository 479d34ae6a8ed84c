import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../base/time.ts";
import { findCursor, saveCursor } from "../database/cursor.ts";
import type { Database } from "../database/database.ts";
import type { Reporter, Work } from "../jobs/work.ts";
import { type ListedProduct, type Platform, PlatformError, UnusableProductError } from "../platforms/platform.ts";
import { checkShop, checkUnread, keptReason } from "./guards.ts";
import { keepStoredFields } from "./kept-fields.ts";
import { exceptKnownId, knowIdsUpTo } from "./known-ids.ts";
import { listProductStates, markProductStale, noteUpdates, type ProductState } from "./product.ts";
import { listUnsettledProducts, listUnusable, noteUnusableRead } from "./product-truth.ts";
import { type Refreshed, refreshProduct } from "./refresh.ts";

/**
 * A run starts this long before its cursor: changes may become visible out of order, and a platform
 * may date a change before all of its parts are done.
 */
export const overlapMs = 2 * 60_000;
/** A deletion may be listed late, and a list of deletions is short. */
const deletionsOverlapMs = 10 * 60_000;
/** Products read at the same time; the platform's throttle limits the rate. */
const concurrency = 6;
/** Attempts to read a product that keeps changing; the wait doubles after each. */
const maxReadings = 4;

export interface SyncContext {
  readonly database: Database;
  readonly platform: Platform;
  /** The shop that every reading must come from. */
  readonly shopId: string;
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
  /** Share of the stored products, from 0 to 1, that may be removed within 24 hours. */
  readonly maxRemovedShare: number;
  readonly tried: Set<bigint>;
  /** Products whose responses were inconsistent. */
  readonly changing: Set<bigint>;
}

/** @param maxRemovedShare share of the stored products, from 0 to 1, that may be removed within 24 hours */
export function catalogSync(source: Platform, maxRemovedShare: number): Work {
  return async ({ database, reporter, signal }) => {
    if (database === undefined) return;
    const platform = keepStoredFields(source, database, reporter);
    const { id: shopId, readAtMs } = await platform.readShop(signal);
    await checkShop(database, platform, shopId);
    const [tried, changing] = [new Set<bigint>(), new Set<bigint>()];
    const context = { database, platform, shopId, reporter, signal, maxRemovedShare, tried, changing };
    let failed = await syncDeletions(readAtMs, context);
    failed += await syncChanges(readAtMs, context);
    const untried = (await listUnsettledProducts(database)).filter((id) => !tried.has(id));
    failed += await syncProducts(untried, context);
    for (const id of changing) reporter.note(`product ${id} is not stored, because it changes while it is read`);
    checkUnread(failed);
  };
}

/** @returns how many products could not be read */
async function syncDeletions(nowMs: number, context: SyncContext): Promise<number> {
  const { database, platform, reporter, signal } = context;
  const cursor = await findCursor(database, "catalog-deletions");
  if (cursor === undefined) {
    // On the first run, nothing is stored that could have been deleted earlier.
    await saveCursor(database, "catalog-deletions", new Date(nowMs).toISOString());
    return 0;
  }
  try {
    let failed = 0;
    for await (const page of platform.listDeletions(Date.parse(cursor) - deletionsOverlapMs, signal)) {
      const ids = page.map(({ id }) => id);
      const states = await listProductStates(database, ids);
      const stored = ids.filter((id) => states.has(`${id}`));
      // A deletion only triggers a read, which shows whether the product is gone.
      failed += await syncProducts(stored, context);
      const last = page.at(-1)?.deletedAt ?? cursor;
      if (failed === 0 && last > cursor) await saveCursor(database, "catalog-deletions", last);
    }
    return failed;
  } catch (error) {
    if (!(error instanceof PlatformError) || signal.aborted) throw error;
    reporter.note(`deletions cannot be read, so catalog-reconcile removes deleted products: ${error.message}`);
    return 0;
  }
}

/**
 * The highest id of products that changed a while ago: a new product may be listed before one with
 * a lower id.
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
 * Syncs every product that changed since the cursor and is not stored in that state. After each
 * page the cursor advances to its latest change, unless a product could not be read.
 * @param startedAtMs when the run started, by the platform's clock
 * @returns how many products could not be read
 */
async function syncChanges(startedAtMs: number, context: SyncContext): Promise<number> {
  const { database, platform, signal } = context;
  const cursor = await findCursor(database, "catalog-sync");
  // The platform's clock may have been set back since.
  const sinceMs = cursor === undefined ? undefined : Math.min(Date.parse(cursor), startedAtMs) - overlapMs;
  const startedAt = new Date(startedAtMs).toISOString();
  let failed = 0;
  let highest = 0n;
  for await (const page of platform.listProducts(sinceMs, signal)) {
    failed += await syncProducts(await findUnsynced(database, page), context);
    const last = page.at(-1);
    if (failed > 0 || last === undefined) continue;
    highest = highestEarlierId(page, startedAtMs, highest);
    // A product with a future date must not hide the changes until then.
    await saveCursor(database, "catalog-sync", last.updatedAt < startedAt ? last.updatedAt : startedAt);
  }
  if (failed === 0) {
    await database.inTransaction((transaction) => knowIdsUpTo(transaction, highest, sinceMs === undefined));
  }
  return failed;
}

export async function findUnsynced(database: Database, page: readonly ListedProduct[]): Promise<bigint[]> {
  const states = await noteListed(database, page);
  const ids = page
    .filter(({ id, updatedAt }) => isNews(updatedAt, states.get(`${id}`)) || mayHaveChanged(states.get(`${id}`)))
    .map(({ id }) => id);
  const unusable = await listUnusable(database, ids);
  return ids.filter((id) => !unusable.has(`${id}`));
}

/** Records the times of changes. @returns the stored states */
export async function noteListed(
  database: Database,
  page: readonly ListedProduct[],
): Promise<Map<string, ProductState>> {
  const ids = page.map(({ id }) => id);
  const states = await listProductStates(database, ids);
  const news = page.filter(({ id, updatedAt }) => isNews(updatedAt, states.get(`${id}`)));
  await noteUpdates(database, news);
  return states;
}

const isNews = (updatedAt: string, state: ProductState | undefined) => updatedAt !== state?.updatedAt;

/** Whether a product may have changed since it was read, though its `updatedAt` did not. */
function mayHaveChanged(state: ProductState | undefined): boolean {
  if (state === undefined || !state.isSettled) return true;
  return Date.parse(state.askedAt) < Date.parse(state.updatedAt) + overlapMs;
}

/**
 * Reads products from the platform and stores each as it arrives. Removes one that no longer
 * exists, marks one that cannot be read as stale, and reads an unsettled one again.
 * @returns how many could not be read
 */
export async function syncProducts(products: readonly bigint[], context: SyncContext): Promise<number> {
  const { platform, reporter, signal, tried } = context;
  const written = new Set<bigint>();
  for (const id of products) tried.add(id);
  let failed = 0;
  let pending = products;
  for (let reading = 1; pending.length > 0; reading++) {
    if (reading > 1) await sleep(backoff(reading - 1, platform.rereadMs), undefined, { signal });
    const unsettled: bigint[] = [];
    const queue = pending.values();
    const work = async () => {
      for (const id of queue) {
        const refreshed = await syncProduct(id, context);
        if (refreshed === "failed") failed++;
        if (refreshed === "failed" || refreshed === "unusable") continue;
        if (!refreshed.isSettled) unsettled.push(id);
        if (refreshed.outcome === "stored" && !written.has(id)) {
          written.add(id);
          reporter.accept();
        }
      }
    };
    const workers = Array.from({ length: concurrency }, () =>
      work().catch((error) => {
        // Draining the queue lets the other readers stop after their current product.
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

async function syncProduct(id: bigint, context: SyncContext): Promise<Refreshed | "failed" | "unusable"> {
  const { database, reporter, signal } = context;
  const beganMs = performance.now();
  try {
    const refreshed = await refreshProduct(id, { priority: "sync", signal }, context);
    if (refreshed.outcome === "kept") reporter.note(`product ${id} ${keptReason}`);
    if (refreshed.outcome === "changing") context.changing.add(id);
    else context.changing.delete(id);
    return refreshed;
  } catch (error) {
    if (!(error instanceof PlatformError) || error.isGeneral || signal.aborted) throw error;
    if (error instanceof UnusableProductError) {
      await noteUnusable(id, error.message, beganMs, { database, reporter });
      return "unusable";
    }
    reporter.noteEach("products that could not be read", `product ${id}: ${error.message}`);
    await markProductStale(database, id);
    return "failed";
  }
}

export async function noteUnusable(
  id: bigint,
  reason: string,
  beganMs: number,
  { database, reporter }: Pick<SyncContext, "database" | "reporter">,
): Promise<void> {
  reporter.noteEach("products that cannot be stored", `warning: product ${id} ${reason}`);
  await markUnusable(id, beganMs, database);
}

/**
 * Serves the stored version, if any, as stale. The product is read again when newer news arrives, and
 * by every catalog-reconcile.
 */
export async function markUnusable(id: bigint, beganMs: number, database: Database): Promise<void> {
  await database.inTransaction(async (transaction) => {
    await markProductStale(transaction, id);
    await noteUnusableRead(transaction, id, beganMs);
    await exceptKnownId(transaction, id);
  });
}
