import { inBatches } from "../base/batches.ts";
import { findCursor, saveCursor } from "../database/cursor.ts";
import type { Database } from "../database/database.ts";
import type { ListedProduct } from "../platforms/platform.ts";
import { storeChanged } from "./changed.ts";
import { checkSameShop } from "./guards.ts";
import { type ReadingTimes, type StoredProduct, toStoredProduct } from "./product.ts";
import { findUnsynced, noteUnusable, type SyncContext, syncProducts } from "./sync.ts";

interface Progress {
  /** When the first of its runs started, by the database's clock. */
  readonly startedAt: string;
  readonly lastId: string;
}

/** A statement takes at most 65,535 values. */
const comparedAtOnce = 100;

/** A comparison that was interrupted longer ago starts over. */
const maxResumedMs = 24 * 3_600_000;

/**
 * Reads and stores every product, several per request. Resumes where an interrupted run stopped.
 * @param listed all products of the platform
 * @param startedAt when this run started, by the database's clock
 * @returns how many products could not be read, those that would lose images and were not stored,
 *   and when the oldest reading was made
 */
export async function readPageByPage(
  listed: ReadonlyMap<string, ListedProduct>,
  startedAt: string,
  context: SyncContext,
): Promise<{ failed: number; losing: bigint[]; comparedAt: string }> {
  const { database, platform, shopId, reporter, signal } = context;
  const progress = await findProgress(database, startedAt);
  const comparedAt = progress?.startedAt ?? startedAt;
  const after = progress === undefined ? undefined : BigInt(progress.lastId);
  if (after !== undefined) reporter.note(`continued after product ${after}`);
  const unread = new Map([...listed].filter(([id]) => after === undefined || BigInt(id) > after));
  // Products that could not be read then, or have changed since.
  const earlier = [...listed].filter(([id]) => !unread.has(id)).map(([, product]) => product);
  const losing: bigint[] = [];
  let failed = 0;
  for (const batch of inBatches(earlier, comparedAtOnce)) {
    failed += await syncProducts(await findUnsynced(database, batch), context);
  }
  let beganMs = performance.now();
  for await (const page of platform.readPages(after, signal)) {
    checkSameShop(platform, shopId, page.shopId);
    const reading: ReadingTimes = { way: "bulk", beganMs, endedMs: performance.now(), platformMs: page.readAtMs };
    const stored: StoredProduct[] = [];
    // Large products, and those that changed recently, are read alone.
    const single = [...page.unread];
    for (const read of page.products) {
      if ("unusable" in read) {
        await noteUnusable(read.id, read.unusable, beganMs, context);
        unread.delete(`${read.id}`);
      } else if (read.isSettled) stored.push(toStoredProduct(read.product, read.updatedAt));
      else single.push(BigInt(read.product.id));
    }
    losing.push(...(await storeChanged(stored, reading, context)));
    for (const { id } of stored) unread.delete(`${id}`);
    failed += await readSingly(single, unread, context);
    await saveProgress(database, { startedAt: comparedAt, lastId: `${page.lastId}` });
    beganMs = performance.now();
  }
  // Products missing from the pages, because they were removed meanwhile or not found.
  const missing = Array.from(unread.values(), ({ id }) => id);
  failed += await readSingly(missing, unread, context);
  return { failed, losing, comparedAt };
}

async function readSingly(
  ids: readonly bigint[],
  unread: Map<string, ListedProduct>,
  context: SyncContext,
): Promise<number> {
  for (const id of ids) unread.delete(`${id}`);
  return await syncProducts(ids, context);
}

async function findProgress(database: Database, startedAt: string): Promise<Progress | undefined> {
  const progress = JSON.parse((await findCursor(database, "catalog-pages")) ?? "null") as Progress | null;
  if (progress === null || Date.parse(startedAt) - Date.parse(progress.startedAt) > maxResumedMs) return undefined;
  return progress;
}

const saveProgress = (database: Database, progress: Progress) =>
  saveCursor(database, "catalog-pages", JSON.stringify(progress));

export const forgetProgress = (database: Database) => saveCursor(database, "catalog-pages", "null");
