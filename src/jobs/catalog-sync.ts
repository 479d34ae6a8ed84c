import type { Database } from "../database/database.ts";
import { findMark, saveMark } from "../database/mark.ts";
import { listProductStates, markProductStale, removeProducts, saveProducts, toStored } from "../database/product.ts";
import { ServiceError } from "../errors.ts";
import type { Request } from "../shopify/client.ts";
import { type ListedProduct, listProducts } from "../shopify/list.ts";
import { readProduct } from "../shopify/read.ts";
import { PlatformError } from "../shopify/retry.ts";
import type { Reporter, Work } from "./work.ts";

/** How far behind the mark a run looks again: changes may become visible out of order. */
const overlapMs = 2 * 60_000;
/** Products read at once; the throttle decides how fast. */
const concurrency = 6;

/** Brings in the products that changed at the platform since the last run. */
export function catalogSync(request: Request): Work {
  return async ({ database, reporter, signal }) => {
    if (database === undefined) return;
    const mark = await findMark(database, "catalog-sync");
    const since = mark === undefined ? undefined : toPlatformTime(Date.parse(mark) - overlapMs);
    let failed = 0;
    for await (const page of listProducts(request, since, { priority: "sync", signal })) {
      failed += await bringIn(database, request, await changedOf(database, page), reporter, signal);
      // Behind a product that could not be read the mark stays, so that the next run comes back to it.
      const last = page.at(-1);
      if (failed === 0 && last !== undefined) await saveMark(database, "catalog-sync", last.updatedAt);
    }
    if (failed > 0)
      throw new ServiceError("unavailable", `${failed} products could not be read; the next run tries them again`);
  };
}

const toPlatformTime = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

async function changedOf(database: Database, page: readonly ListedProduct[]): Promise<ListedProduct[]> {
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
 * Reads products at the platform and stores each as it comes; one that is gone is removed, one that cannot be read is marked as stale.
 * @returns how many could not be read
 */
export async function bringIn(
  database: Database,
  request: Request,
  products: readonly ListedProduct[],
  reporter: Reporter,
  signal: AbortSignal,
): Promise<number> {
  let failed = 0;
  const queue = products.values();
  const work = async () => {
    for (const { id } of queue) {
      try {
        const read = await readProduct(request, id, { priority: "sync", signal });
        if (read === undefined) await removeProducts(database, [id]);
        else reporter.accept(await saveProducts(database, [toStored(read.product, read.updatedAt)]));
      } catch (error) {
        if (!(error instanceof PlatformError) || signal.aborted) throw error;
        failed++;
        reporter.note(`product ${id}: ${error.message}`);
        await markProductStale(database, id);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return failed;
}
