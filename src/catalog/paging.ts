import { findCursor, saveCursor } from "../database/cursor.ts";
import type { Database } from "../database/database.ts";
import type { ListedProduct } from "../platforms/platform.ts";
import { findChanged } from "./changed.ts";
import { checkSameShop } from "./guards.ts";
import { type ReadingTimes, saveProducts, toStoredProduct } from "./product.ts";
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
  for (let start = 0; start < earlier.length; start += comparedAtOnce) {
    const page = earlier.slice(start, start + comparedAtOnce);
    failed += await syncProducts(await findUnsynced(database, page), context);
  }
  let beganMs = performance.now();
  for await (const page of platform.readPages(after, signal)) {
    checkSameShop(platform, shopId, page.shopId);
    const settled = page.products.filter((read) => "product" in read && read.isSettled);
    const stored = settled.flatMap((read) =>
      "product" in read ? [toStoredProduct(read.product, read.updatedAt, true)] : [],
    );
    const reading: ReadingTimes = { way: "bulk", beganMs, endedMs: performance.now(), platformMs: page.readAtMs };
    const { changed, losing: found } = await findChanged(database, stored);
    losing.push(...found);
    reporter.accept(await database.inTransaction((transaction) => saveProducts(transaction, changed, reading)));
    for (const { id } of stored) unread.delete(`${id}`);
    for (const read of page.products) {
      if (!("unusable" in read)) continue;
      await noteUnusable(read.id, read.unusable, reading.beganMs, context);
      unread.delete(`${read.id}`);
    }
    // Large products and recently changed ones.
    const single = page.products.flatMap((read) =>
      "product" in read && !read.isSettled ? [BigInt(read.product.id)] : [],
    );
    failed += await readSingly([...page.unread, ...single], unread, context);
    await saveProgress(database, { startedAt: comparedAt, lastId: `${page.lastId}` });
    beganMs = performance.now();
  }
  // Products missing from the pages, because they were removed meanwhile or not found.
  failed += await readSingly(
    [...unread.values()].map(({ id }) => id),
    unread,
    context,
  );
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
