import type { Config } from "../config/index.ts";
import { saveCursor } from "../database/cursor.ts";
import { type Database, readNow } from "../database/database.ts";
import { knowIdsUpTo } from "../database/known-ids.ts";
import {
  countHiddenProducts,
  countProducts,
  listProductIds,
  listProductStates,
  removeProducts,
  type StoredProduct,
  saveProducts,
  toStoredProduct,
} from "../database/product.ts";
import { ServiceError } from "../errors.ts";
import { pluralize } from "../format.ts";
import type { Work } from "../jobs/work.ts";
import type { Log } from "../log.ts";
import { type Id, toId } from "../model/product.ts";
import {
  BulkReadError,
  type CatalogSnapshot,
  type ListedProduct,
  type Platform,
  type Shop,
} from "../platforms/platform.ts";
import { checkRemovals, checkSameShop, checkShop } from "./guards.ts";
import { keepStoredFields } from "./kept-fields.ts";
import { forgetProgress, readPageByPage } from "./paging.ts";
import { findUnsynced, highestEarlierId, noteUnusable, type SyncContext, syncProducts } from "./sync.ts";
import { hiddenNotes } from "./visibility.ts";

export interface ReconcileOptions {
  /**
   * Share of the stored products, from 0 to 1, that may be removed; the run fails and changes
   * nothing beyond it.
   */
  readonly maxRemovedShare: number;
  readonly visible: Config["visible"];
}

type ReconcileContext = SyncContext & {
  /** By the database's clock. */
  readonly startedAt: string;
  readonly storedBefore: ReadonlySet<Id>;
  readonly log: Log;
};

/**
 * Compares the whole catalog with the platform: writes products that differ and removes those that
 * no longer exist.
 */
export function catalogReconcile(source: Platform, { maxRemovedShare, visible }: ReconcileOptions, log: Log): Work {
  return async ({ database, signal, reporter }) => {
    if (database === undefined) return;
    const platform = keepStoredFields(source, database, reporter);
    const shop = await platform.readShop(signal);
    await checkShop(database, platform, shop.id);
    const startedAt = await readNow(database);
    const storedBefore = new Set((await listProductIds(database)).map(toId));
    const shopId = shop.id;
    const context = { database, platform, shopId, reporter, signal, maxRemovedShare, startedAt, storedBefore, log };
    await using snapshot = await readCatalog(shop, context);
    const { comparedAt, highestId } =
      snapshot === undefined ? await comparePageByPage(shop, context) : await compareWith(snapshot, context);
    await saveCursor(database, "catalog-reconcile", comparedAt);
    await forgetProgress(database);
    await database.inTransaction((transaction) => knowIdsUpTo(transaction, highestId, true));
    // A comparison of the whole catalog resets the count of single removals.
    await saveCursor(database, "removals", "null");
    const [hidden, total] = [await countHiddenProducts(database), await countProducts(database)];
    for (const note of hiddenNotes(visible, hidden, total)) reporter.note(note);
  };
}

/** Undefined when the platform cannot deliver the whole catalog at once. */
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

/** What is known after a comparison. */
interface Compared {
  /** When the catalog was as it is now stored, by the database's clock. */
  readonly comparedAt: string;
  /** All products up to this id are stored. */
  readonly highestId: bigint;
}

async function compareWith(snapshot: CatalogSnapshot, context: ReconcileContext): Promise<Compared> {
  const { database, platform, shopId, signal, log, reporter } = context;
  checkSameShop(platform, shopId, (await platform.readShop(signal)).id);
  const missing = await findMissing(snapshot.ids, context);
  const changing = await listChangedSince(snapshot.unsettledSinceMs, context);
  const present = new Set(snapshot.ids);
  const startedMs = performance.now();
  await writeChanged(snapshot, new Set(changing.map(({ id }) => id)), context);
  await removeMissingProducts(missing, context);
  const failed = await syncProducts(await findUnsynced(database, changing), context);
  if (failed > 0) {
    throw new ServiceError(
      "unavailable",
      `${pluralize(failed, "product")} could not be read; the next run tries again`,
    );
  }
  const writeMs = Math.round(performance.now() - startedMs);
  log.info({ products: snapshot.ids.size, written: reporter.report.accepted, writeMs }, "catalog compared");
  // One that is changing may be new.
  for (const { id } of changing) present.delete(toId(`${id}`));
  const highestId = present.values().reduce<Id>((highest, id) => (id > highest ? id : highest), 0);
  return { comparedAt: context.startedAt, highestId: BigInt(highestId) };
}

/**
 * Products that changed while the snapshot was taken, which may hold half of a change. They are
 * listed before anything is written, so that none of them is.
 */
async function listChangedSince(sinceMs: number, { platform, signal }: ReconcileContext): Promise<ListedProduct[]> {
  const changed: ListedProduct[] = [];
  for await (const page of platform.listProducts(sinceMs, signal)) changed.push(...page);
  return changed;
}

/** Lists all products before it changes any, so that the removals are known first. */
async function comparePageByPage(shop: Shop, context: ReconcileContext): Promise<Compared> {
  const { platform, signal } = context;
  const listed = new Map<Id, ListedProduct>();
  for await (const page of platform.listProducts(undefined, signal)) {
    for (const product of page) listed.set(toId(`${product.id}`), product);
  }
  const missing = await findMissing(new Set(listed.keys()), context);
  const byId = new Map([...listed.values()].map((product) => [`${product.id}`, product]));
  const { failed, comparedAt } = await readPageByPage(byId, context.startedAt, context);
  if (failed > 0) {
    throw new ServiceError("unavailable", `${failed} of ${pluralize(listed.size, "product")} could not be read`);
  }
  await removeMissingProducts(missing, context);
  return { comparedAt, highestId: highestEarlierId(listed.values(), shop.readAtMs) };
}

/**
 * Stored products that the platform no longer has. Products that were stored since the run started
 * are not among them.
 * @throws ServiceError `invalid_input` when there are too many
 */
async function findMissing(
  present: ReadonlySet<Id>,
  { database, startedAt, maxRemovedShare }: ReconcileContext,
): Promise<bigint[]> {
  const stored = await countProducts(database);
  const missing = (await listProductIds(database, startedAt)).filter((id) => !present.has(toId(id)));
  checkRemovals(missing.length, stored, maxRemovedShare, "raise max_removed_share of [jobs.catalog-reconcile]");
  return missing.map(BigInt);
}

async function removeMissingProducts(
  missing: readonly bigint[],
  { database, reporter }: ReconcileContext,
): Promise<void> {
  await removeProducts(database, missing);
  if (missing.length > 0) {
    reporter.note(`removed ${pluralize(missing.length, "product")} that the platform no longer has`);
  }
}

/**
 * Products that are not settled or still changing are skipped here and read one by one afterward.
 */
async function writeChanged(
  snapshot: CatalogSnapshot,
  changing: ReadonlySet<bigint>,
  { database, reporter, signal, startedAt, storedBefore }: ReconcileContext,
): Promise<void> {
  for await (const products of snapshot.readProducts()) {
    signal.throwIfAborted();
    const stored: StoredProduct[] = [];
    for (const read of products) {
      if ("unusable" in read) {
        await noteUnusable(read.id, read.unusable, { database, reporter });
        continue;
      }
      const { product, updatedAt, isSettled } = read;
      if (isSettled && !changing.has(BigInt(product.id))) stored.push(toStoredProduct(product, updatedAt));
    }
    reporter.accept(await saveProducts(database, await findChanged(database, stored, storedBefore), startedAt));
  }
}

/**
 * The products that differ from the stored ones. One that was stored before but is not now was
 * removed during the run.
 */
async function findChanged(
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
