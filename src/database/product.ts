import type { SQL } from "bun";
import type { Database } from "./index.ts";
import { writing } from "./index.ts";

/** A product as it is served: finished JSON text of the contract's `product`, and its entity tag. */
export interface StoredProduct {
  readonly document: string;
  readonly tag: string;
}

export interface IdentifiedProduct extends StoredProduct {
  readonly id: bigint;
}

export async function findProduct({ sql }: Database, id: bigint): Promise<StoredProduct | undefined> {
  const [row] = await sql<StoredProduct[]>`SELECT document, tag FROM product WHERE id = ${id}`;
  return row;
}

/**
 * Makes the batches the whole set of products: writes what differs, removes what none of them holds.
 * A batch source that throws leaves everything as it was.
 * @param batches no id twice within a batch; in a later batch the later one wins
 */
export function replaceProducts(
  database: Database,
  batches: AsyncIterable<readonly IdentifiedProduct[]>,
): Promise<{ removed: number }> {
  return writing(database, async (transaction) => {
    const kept = new Set<string>();
    for await (const batch of batches) {
      for (const { id } of batch) kept.add(`${id}`);
      await saveProducts(transaction, batch);
    }
    const stored = await transaction<{ id: string }[]>`SELECT CAST(id AS TEXT) AS id FROM product`;
    const vanished = stored.filter(({ id }) => !kept.has(id)).map(({ id }) => BigInt(id));
    for (let start = 0; start < vanished.length; start += 1000) {
      await transaction`DELETE FROM product WHERE id IN ${transaction(vanished.slice(start, start + 1000))}`;
    }
    return { removed: vanished.length };
  });
}

async function saveProducts(sql: SQL, products: readonly IdentifiedProduct[]): Promise<void> {
  if (products.length === 0) return;
  await sql`
    INSERT INTO product ${sql(products.map(({ id, document, tag }) => ({ id, document, tag })))}
    ON CONFLICT (id) DO UPDATE SET document = excluded.document, tag = excluded.tag
    WHERE product.tag <> excluded.tag`;
}
