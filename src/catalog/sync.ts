import { setTimeout as sleep } from "node:timers/promises";
import { findCursor, saveCursor } from "../database/cursor.ts";
import type { Database } from "../database/database.ts";
import {
  listProductStates,
  markProductStale,
  removeMissing,
  saveProducts,
  toStoredProduct,
} from "../database/product.ts";
import { checkShop } from "../database/shop.ts";
import { ServiceError } from "../errors.ts";
import type { Reporter, Work } from "../jobs/work.ts";
import type { Request } from "../platforms/shopify/client.ts";
import { type ListedProduct, listProducts } from "../platforms/shopify/list.ts";
import { readProduct, readShop, settleMs } from "../platforms/shopify/read.ts";
import { PlatformError } from "../platforms/shopify/retry.ts";

/** How far behind the mark a run looks again: changes may become visible out of order. */
const overlapMs = 2 * 60_000;
/** Products read at once; the throttle decides how fast. */
const concurrency = 6;

/** How often a product is read that keeps changing. */
const mostReadings = 4;

/**
 * Brings in the products that changed at the platform since the last run.
 * @param maxRemovedShare share of the stored products, from 0 to 1, that may be removed one by one
 */
export function catalogSync(request: Request, maxRemovedShare: number): Work {
  return async ({ database, reporter, signal }) => {
    if (database === undefined) return;
    const { shop } = await readShop(request, { priority: "sync", signal });
    await checkShop(database, shop.id);
    const bringing = { database, request, reporter, signal, maxRemovedShare };
    const mark = await findCursor(database, "catalog-sync");
    const since = mark === undefined ? undefined : toPlatformTime(Date.parse(mark) - overlapMs);
    let failed = 0;
    for await (const page of listProducts(request, since, { priority: "sync", signal })) {
      failed += await syncProducts(await changedOf(database, page), bringing);
      // Behind a product that could not be read the mark stays, so that the next run comes back to it.
      const last = page.at(-1);
      if (failed === 0 && last !== undefined) await saveCursor(database, "catalog-sync", last.updatedAt);
    }
    if (failed > 0)
      throw new ServiceError("unavailable", `${failed} products could not be read; the next run tries them again`);
  };
}

export const toPlatformTime = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Those that are not stored in the listed state. */
export async function changedOf(database: Database, page: readonly ListedProduct[]): Promise<ListedProduct[]> {
  const states = await listProductStates(
    database,
    page.map(({ id }) => id),
  );
  return page.filter(({ id, updatedAt }) => {
    const state = states.get(`${id}`);
    return state?.updatedAt !== updatedAt || !state.known;
  });
}

export interface SyncContext {
  readonly database: Database;
  readonly request: Request;
  readonly reporter: Reporter;
  readonly signal: AbortSignal;
  /** Share of the stored products, from 0 to 1, that may be removed one by one. */
  readonly maxRemovedShare: number;
}

/**
 * Reads products at the platform and stores each as it comes; one that is gone is removed, one that cannot be read is marked as stale. A
 * product that changed a moment ago is read again when it has settled.
 * @returns how many could not be read
 */
export async function syncProducts(products: readonly ListedProduct[], context: SyncContext): Promise<number> {
  const written = new Set<bigint>();
  let failed = 0;
  let pending = products.map(({ id }) => id);
  for (let reading = 1; pending.length > 0; reading++) {
    if (reading > 1) await sleep(settleMs, undefined, { signal: context.signal });
    const unsettled: bigint[] = [];
    const queue = pending.values();
    const work = async () => {
      for (const id of queue) {
        const outcome = await syncProduct(id, written, context);
        if (outcome === "failed") failed++;
        else if (outcome === "unsettled") unsettled.push(id);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    if (reading === mostReadings && unsettled.length > 0) {
      context.reporter.note(`products that keep changing, which the next run reads again: ${unsettled.length}`);
      break;
    }
    pending = unsettled;
  }
  return failed;
}

async function syncProduct(
  id: bigint,
  written: Set<bigint>,
  { database, request, reporter, signal, maxRemovedShare }: SyncContext,
): Promise<"done" | "unsettled" | "failed"> {
  try {
    const { found } = await readProduct(request, id, { priority: "sync", signal });
    if (found === undefined) {
      if (!(await removeMissing(database, id, maxRemovedShare))) reporter.note(keptNote(id));
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
    if (!(error instanceof PlatformError) || signal.aborted) throw error;
    reporter.note(`product ${id}: ${error.message}`);
    await markProductStale(database, id);
    return "failed";
  }
}

const keptNote = (id: bigint) =>
  `product ${id} is gone from the platform, but too many have been removed one by one: it stays until catalog-reconcile has compared all`;
