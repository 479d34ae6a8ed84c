import { parseJson } from "../base/json.ts";
import type { Product } from "../contract/product.ts";
import { checkLostImages } from "./guards.ts";
import {
  countStoredProducts,
  listDocuments,
  listProductStates,
  type ReadingTimes,
  type StoredProduct,
  saveProducts,
} from "./product.ts";
import { type SyncContext, syncProducts } from "./sync.ts";

/**
 * Stores products that differ from the stored ones.
 * @returns the ids of those with fewer images than before, which are not stored
 */
export async function storeChanged(
  products: readonly StoredProduct[],
  reading: ReadingTimes,
  { database, reporter }: Pick<SyncContext, "database" | "reporter">,
): Promise<bigint[]> {
  const idsOf = (some: readonly StoredProduct[]) => some.map(({ id }) => id);
  const states = await listProductStates(database, idsOf(products));
  const differing = products.filter(({ id, tag, updatedAt }) => {
    const state = states.get(`${id}`);
    return state?.tag !== tag || state.updatedAt !== updatedAt || !state.isSettled;
  });
  const stored = await listDocuments(database, idsOf(differing));
  const isLosing = ({ id, document }: StoredProduct) => {
    const before = stored.get(`${id}`);
    return before !== undefined && countImages(document) < countImages(before);
  };
  const losing = differing.filter(isLosing);
  const changed = differing.filter((product) => !losing.includes(product));
  reporter.accept(await database.inTransaction((transaction) => saveProducts(transaction, changed, reading)));
  return idsOf(losing);
}

const countImages = (document: string) => (parseJson(document) as Pick<Product, "images">).images.length;

/**
 * Reads and stores products that lose images, unless there are too many.
 * @returns how many could not be read
 * @throws ServiceError `invalid_input` when there are too many
 */
export async function syncProductsLosingImages(losing: readonly bigint[], context: SyncContext): Promise<number> {
  checkLostImages(losing.length, await countStoredProducts(context.database), context.maxRemovedShare);
  return await syncProducts(losing, context);
}
