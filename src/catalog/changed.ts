import type { Database } from "../database/database.ts";
import { listProductStates, type StoredProduct } from "../database/product.ts";

/** The products that differ from the stored ones: in content, not only in their time. */
export async function findChanged(database: Database, products: readonly StoredProduct[]): Promise<StoredProduct[]> {
  const states = await listProductStates(
    database,
    products.map(({ id }) => id),
  );
  return products.filter(({ id, tag, updatedAt }) => {
    const state = states.get(`${id}`);
    return state?.tag !== tag || state.updatedAt !== updatedAt || !state.isSettled;
  });
}
