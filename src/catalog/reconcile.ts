import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../base/errors.ts";
import { pluralize } from "../base/format.ts";
import type { Log } from "../base/log.ts";
import { type Id, toId } from "../contract/product-values.ts";
import { saveCursor } from "../database/cursor.ts";
import { readNow } from "../database/database.ts";
import type { Work } from "../jobs/work.ts";
import {
  BulkReadError,
  type CatalogSnapshot,
  type ListedProduct,
  lagMs,
  type Platform,
  type Shop,
} from "../platforms/platform.ts";
import { storeChanged, syncProductsLosingImages } from "./changed.ts";
import { checkSameShop, checkShop, checkUnread, removalRefused } from "./guards.ts";
import { keepStoredFields } from "./kept-fields.ts";
import { knowIdsUpTo } from "./known-ids.ts";
import { forgetProgress, readPageByPage } from "./paging.ts";
import {
  countHiddenProducts,
  countStoredProducts,
  listProductIds,
  listProductStates,
  markProductStale,
  type ReadingTimes,
  type StoredProduct,
  toStoredProduct,
} from "./product.ts";
import { readRemovalLimit, removeProducts } from "./product-removal.ts";
import { forgetOldNews } from "./product-truth.ts";
import {
  findUnsynced,
  highestEarlierId,
  noteListed,
  noteUnusable,
  overlapMs,
  type SyncContext,
  syncProducts,
} from "./sync.ts";
import { hiddenNotes, type Visibility } from "./visibility.ts";

type ReconcileContext = SyncContext & {
  readonly startedAt: string;
  readonly reading: ReadingTimes;
  readonly announced: number;
  readonly log: Log;
};

/** @param maxRemovedShare from 0 to 1; a run that would remove a larger share of products changes nothing */
export function catalogReconcile(source: Platform, maxRemovedShare: number, visible: Visibility, log: Log): Work {
  return async ({ database, signal, reporter }) => {
    if (database === undefined) return;
    const platform = keepStoredFields(source, database, reporter);
    const beganMs = performance.now();
    const startedAt = await readNow(database);
    const shop = await platform.readShop(signal);
    await checkShop(database, platform, shop.id);
    const reading: ReadingTimes = { way: "bulk", beganMs, endedMs: beganMs, platformMs: shop.readAtMs };
    const announced = await platform.countProducts(signal);
    const [tried, changing] = [new Set<bigint>(), new Set<bigint>()];
    const sync = { database, platform, shopId: shop.id, reporter, signal, maxRemovedShare, tried, changing };
    const context = { ...sync, startedAt, reading, announced, log };
    await using snapshot = await readCatalog(shop, context);
    const { comparedAt, highestId } =
      snapshot === undefined ? await comparePageByPage(shop, context) : await compareWith(snapshot, context);
    await saveCursor(database, "catalog-reconcile", comparedAt);
    await forgetProgress(database);
    await database.inTransaction((transaction) => knowIdsUpTo(transaction, highestId, true));
    await forgetOldNews(database);
    const [hidden, total] = [await countHiddenProducts(database), await countStoredProducts(database)];
    for (const note of hiddenNotes(visible, hidden, total)) reporter.note(note);
  };
}

/** @returns undefined when the platform cannot deliver the whole catalog at once */
async function readCatalog(
  shop: Shop,
  { platform, reporter, signal }: ReconcileContext,
): Promise<CatalogSnapshot | undefined> {
  try {
    return await platform.readCatalog(shop, signal);
  } catch (error) {
    if (!(error instanceof BulkReadError)) throw error;
    reporter.note(`${error.message}; reading all products page by page instead`);
    return undefined;
  }
}

interface Compared {
  /** When the platform had the state that is now stored, by the database's clock. */
  readonly comparedAt: string;
  readonly highestId: bigint;
}

async function compareWith(snapshot: CatalogSnapshot, context: ReconcileContext): Promise<Compared> {
  const { database, platform, shopId, signal, log, reporter } = context;
  const { id, readAtMs } = await platform.readShop(signal);
  checkSameShop(platform, shopId, id);
  // After this wait, the list contains every change that the snapshot may hold only in part.
  const waitMs = Math.min(lagMs, snapshot.endedAtMs + lagMs - readAtMs);
  if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  // Products that changed while the snapshot was taken, which may hold only part of a change. Listed
  // before any write, so that none of them is written.
  const listing = platform.listProducts(snapshot.unsettledSinceMs - overlapMs, signal);
  const recent = (await Array.fromAsync(listing)).flat();
  const changing = recent.filter(({ updatedAt }) => Date.parse(updatedAt) >= snapshot.unsettledSinceMs);
  const received = new Set([...snapshot.ids, ...changing.map(({ id }) => toId(`${id}`))]);
  const shortage = await findShortage(received.size, context);
  const missing = shortage === undefined ? await findMissing((id) => received.has(toId(id)), context) : [];
  const startedMs = performance.now();
  const { losing, incomplete } = await writeChanged(snapshot, new Set(changing.map(({ id }) => id)), context);
  await removeMissing(missing, context);
  const unsynced = await syncProducts([...(await findUnsynced(database, changing)), ...incomplete], context);
  const failed = unsynced + (await syncProductsLosingImages(losing, context));
  if (shortage !== undefined) throw shortage;
  checkUnread(failed);
  const writeMs = Math.round(performance.now() - startedMs);
  log.info({ products: snapshot.ids.size, written: reporter.report.accepted, writeMs }, "catalog compared");
  // A recently changed product may be new, and listed before one with a lower id.
  const present = new Set(snapshot.ids);
  for (const { id } of recent) present.delete(toId(`${id}`));
  const highestId = present.values().reduce<Id>((highest, id) => (id > highest ? id : highest), 0);
  return { comparedAt: context.startedAt, highestId: BigInt(highestId) };
}

/** Lists all products before changing any, so that the removals are known first. */
async function comparePageByPage(shop: Shop, context: ReconcileContext): Promise<Compared> {
  const { platform, signal } = context;
  const listed = new Map<string, ListedProduct>();
  for await (const page of platform.listProducts(undefined, signal)) {
    for (const product of page) listed.set(`${product.id}`, product);
    await noteListed(context.database, page);
  }
  const shortage = await findShortage(listed.size, context);
  const missing = shortage === undefined ? await findMissing((id) => listed.has(id), context) : [];
  const { failed: unread, losing, comparedAt } = await readPageByPage(listed, context.startedAt, context);
  // The list determines removals, but does not name its shop.
  checkSameShop(platform, shop.id, (await platform.readShop(signal)).id);
  await removeMissing(missing, context);
  const failed = unread + (await syncProductsLosingImages(losing, context));
  if (shortage !== undefined) throw shortage;
  if (failed > 0) {
    throw new ServiceError(
      "unavailable",
      `${failed} of ${pluralize(listed.size, "product")} could not be read; the next run tries these again`,
    );
  }
  return { comparedAt, highestId: highestEarlierId(listed.values(), shop.readAtMs) };
}

/**
 * @returns the error to throw after all delivered products are written, if the platform delivered
 *   fewer than it announced: then none may be removed
 */
async function findShortage(
  received: number,
  { platform, announced, signal }: ReconcileContext,
): Promise<ServiceError | undefined> {
  if (received >= announced) return undefined;
  // Products may have been deleted meanwhile.
  const remaining = await platform.countProducts(signal);
  if (received >= remaining) return undefined;
  return new ServiceError(
    "unavailable",
    `the platform announced ${pluralize(remaining, "product")}, but delivered ${received}: these are written, and none was removed; the next run tries again`,
  );
}

/**
 * Finds stored products that the platform no longer has. Leaves out those that were read since the
 * run started, or changed so recently that the platform's lists may lag behind.
 * @param isPresent whether the platform has a product
 * @throws ServiceError `invalid_input` when there are too many
 */
async function findMissing(
  isPresent: (id: string) => boolean,
  { database, startedAt, reading, maxRemovedShare }: ReconcileContext,
): Promise<bigint[]> {
  const missing = (await listProductIds(database, startedAt)).filter((id) => !isPresent(id)).map(BigInt);
  const limit = await readRemovalLimit(database, maxRemovedShare);
  if (missing.length > limit.allowed) throw removalRefused(missing.length, limit, maxRemovedShare);
  const states = await listProductStates(database, missing);
  const mayLag = (id: bigint) => Date.parse(states.get(`${id}`)?.updatedAt ?? "") + lagMs > reading.platformMs;
  // The next run of catalog-sync reads these one by one.
  for (const id of missing.filter(mayLag)) await markProductStale(database, id);
  return missing.filter((id) => !mayLag(id));
}

async function removeMissing(
  missing: readonly bigint[],
  { database, reporter, maxRemovedShare, reading }: ReconcileContext,
): Promise<void> {
  const removed = await removeProducts(database, missing, maxRemovedShare, reading);
  if (typeof removed !== "number") throw removalRefused(missing.length, removed, maxRemovedShare);
  if (removed > 0) reporter.note(`removed ${pluralize(removed, "product")} that the platform no longer has`);
}

/**
 * Skips products that are not settled or still changing; they are read one by one afterward.
 * @returns the skipped products that would lose images, and those without variants, whose result is
 *   incomplete
 */
async function writeChanged(
  snapshot: CatalogSnapshot,
  changing: ReadonlySet<bigint>,
  { database, reporter, signal, reading }: ReconcileContext,
): Promise<{ losing: bigint[]; incomplete: bigint[] }> {
  const [losing, incomplete]: [bigint[], bigint[]] = [[], []];
  for await (const products of snapshot.readProducts()) {
    signal.throwIfAborted();
    const stored: StoredProduct[] = [];
    for (const read of products) {
      if ("unusable" in read) {
        await noteUnusable(read.id, read.unusable, reading.beganMs, { database, reporter });
        continue;
      }
      const { product, updatedAt, isSettled } = read;
      const id = BigInt(product.id);
      if (!isSettled || changing.has(id)) continue;
      if (product.variants.length === 0) incomplete.push(id);
      else stored.push(toStoredProduct(product, updatedAt));
    }
    const ended: ReadingTimes = { ...reading, endedMs: performance.now() };
    losing.push(...(await storeChanged(stored, ended, { database, reporter })));
  }
  return { losing, incomplete };
}
