import { parseJson } from "../base/json.ts";
import type { Product } from "../contract/product.ts";
import type { Database } from "../database/database.ts";
import { checkLostImages } from "./guards.ts";
import { countStoredProducts, listDocuments, listProductStates, type StoredProduct } from "./product.ts";
import { type SyncContext, syncProducts } from "./sync.ts";

/**
 * Finds products that differ from the stored ones.
 * @returns separately, the ids of those with fewer images than before
 */
export async function findChanged(
  database: Database,
  products: readonly StoredProduct[],
): Promise<{ changed: StoredProduct[]; losing: bigint[] }> {
  const states = await listProductStates(
    database,
    products.map(({ id }) => id),
  );
  const differing = products.filter(({ id, tag, updatedAt }) => {
    const state = states.get(`${id}`);
    return state?.tag !== tag || state.updatedAt !== updatedAt || !state.isSettled;
  });
  const stored = await listDocuments(
    database,
    differing.map(({ id }) => id),
  );
  const isLosing = ({ id, document }: StoredProduct) => {
    const before = stored.get(`${id}`);
    return before !== undefined && countImages(document) < countImages(before);
  };
  const losing = new Set(differing.filter(isLosing));
  return { changed: differing.filter((product) => !losing.has(product)), losing: [...losing].map(({ id }) => id) };
}

const countImages = (document: string) => (parseJson(document) as Pick<Product, "images">).images.length;

/**
 * Reads and stores products that lose images, unless there are too many.
 * @returns how many could not be read
 * @throws ServiceError `invalid_input` when there are too many
 */
export async function syncLosing(losing: readonly bigint[], context: SyncContext): Promise<number> {
  checkLostImages(losing.length, await countStoredProducts(context.database), context.maxRemovedShare);
  return await syncProducts(losing, context);
}
