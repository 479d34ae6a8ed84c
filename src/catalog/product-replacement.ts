import type { Database } from "../database/database.ts";
import { requireUnderWay } from "../jobs/claim.ts";
import { countStoredProducts, type StoredProduct, toRows, type Way } from "./product.ts";
import { deleteProducts } from "./product-removal.ts";

/**
 * Replaces the whole set of products: writes those that differ, and removes those that no batch
 * holds. If the source of batches throws, nothing changes.
 * @param batches no id twice within a batch; the last batch wins
 * @param mayRemove called before a removal with its size and the number stored; throws to refuse
 * @throws ServiceError `unavailable` when the run's lease expired
 */
export function replaceProducts(
  database: Database,
  run: number,
  batches: AsyncIterable<readonly StoredProduct[]>,
  mayRemove: (removed: number, stored: number) => void,
): Promise<{ removed: number }> {
  return database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    const now = sql.unsafe(engine.now);
    const way: Way = "import";
    const storedBefore = await countStoredProducts(transaction);
    const kept = new Set<string>();
    for await (const batch of batches) {
      for (const { id } of batch) kept.add(`${id}`);
      if (batch.length === 0) continue;
      const rows = toRows(batch).map((row) => ({ ...row, way, read_from: now, read_until: now }));
      await sql`
        INSERT INTO product ${sql(rows)}
        ON CONFLICT (id) DO UPDATE SET document = excluded.document, tag = excluded.tag, updated_at = excluded.updated_at,
          words = excluded.words, visible_from = excluded.visible_from, checked_at = NULL, way = excluded.way,
          read_from = excluded.read_from, read_until = excluded.read_until, asked_at = ''
        WHERE product.tag <> excluded.tag`;
    }
    const stored = await sql<{ id: string }[]>`SELECT CAST(id AS TEXT) AS id FROM product`;
    const missing = stored.filter(({ id }) => !kept.has(id)).map(({ id }) => BigInt(id));
    mayRemove(missing.length, storedBefore);
    await deleteProducts(transaction, missing);
    // Checked last, because another run may have replaced the products since this transaction
    // began.
    await requireUnderWay(transaction, run);
    return { removed: missing.length };
  });
}
