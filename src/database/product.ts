import type { SQL } from "bun";
import { toJson } from "../json.ts";
import { type Product, visibleFromOf } from "../model/product.ts";
import { findCursor, saveCursor } from "./cursor.ts";
import type { Database } from "./database.ts";
import { readNow, writing } from "./database.ts";
import { toWords } from "./search.ts";

/** A product as it is served: finished JSON text of the contract's `product`, as bytes in UTF-8, and its entity tag. */
export interface FoundProduct {
  readonly document: Uint8Array;
  readonly tag: string;
  /** When it was last known to be the platform's state, ISO 8601; null when it may not be. */
  readonly checkedAt: string | null;
  /** From when on shoppers may see it, ISO 8601 in UTC; null when they may not. */
  readonly visibleFrom: string | null;
}

export interface StoredProduct {
  readonly id: bigint;
  readonly document: string;
  readonly tag: string;
  /** The platform's own timestamp of its last change; empty when it came from elsewhere. */
  readonly updatedAt: string;
  /** What a search goes by. */
  readonly words: string;
  /** From when on shoppers may see it, ISO 8601 in UTC; null when they may not. */
  readonly visibleFrom: string | null;
  /** Whether it counts as the platform's current state; one that does not is to be read again. */
  readonly isSettled: boolean;
}

/** The finished form of a product: what a reader would repeat is done here once. */
export function toStoredProduct(product: Product, updatedAt = "", isSettled = true): StoredProduct {
  const document = toJson(product);
  const tag = Bun.CryptoHasher.hash("sha256", document, "base64url").slice(0, 22);
  const visibleFrom = visibleFromOf(product);
  return { id: BigInt(product.id), document, tag, updatedAt, words: toWords(product), visibleFrom, isSettled };
}

/** One product. A comparison of the whole catalog counts as a check of each product in it. */
export async function findProduct({ read, dialect }: Database, id: bigint): Promise<FoundProduct | undefined> {
  const [row] = await read<FoundProduct>(
    `SELECT ${dialect.bytesOf("document")} AS document, tag, visible_from AS "visibleFrom", CASE WHEN checked_at < mark.value THEN mark.value ELSE checked_at END AS "checkedAt"
    FROM product LEFT JOIN mark ON mark.name = 'catalog-reconcile'
    WHERE id = $1`,
    [id],
  );
  return row;
}

/**
 * Makes the batches the whole set of products: writes what differs, removes what none of them holds.
 * A batch source that throws leaves everything as it was.
 * @param batches no id twice within a batch; in a later batch the later one wins
 * @param mayRemove asked with how many of the stored products would be removed, before they are; it throws when that is too many
 */
export function replaceProducts(
  database: Database,
  batches: AsyncIterable<readonly StoredProduct[]>,
  mayRemove: (removed: number, stored: number) => void,
): Promise<{ removed: number }> {
  return writing(database, async (transaction) => {
    const [before] = await transaction<
      { products: number }[]
    >`SELECT CAST(count(*) AS INTEGER) AS products FROM product`;
    const kept = new Set<string>();
    for await (const batch of batches) {
      for (const { id } of batch) kept.add(`${id}`);
      if (batch.length === 0) continue;
      await transaction`
        INSERT INTO product ${transaction(toRows(batch))}
        ON CONFLICT (id) DO UPDATE SET document = excluded.document, tag = excluded.tag, updated_at = excluded.updated_at,
          words = excluded.words, visible_from = excluded.visible_from
        WHERE product.tag <> excluded.tag`;
    }
    const stored = await transaction<{ id: string }[]>`SELECT CAST(id AS TEXT) AS id FROM product`;
    const vanished = stored.filter(({ id }) => !kept.has(id)).map(({ id }) => BigInt(id));
    mayRemove(vanished.length, before?.products ?? 0);
    await deleteProducts(transaction, vanished);
    return { removed: vanished.length };
  });
}

/** Later than every instant, by whatever rules text is compared. */
const everyInstant = "9999-12-31T23:59:59.999Z";

/**
 * Writes products as the platform gave them; one that is stored in a later state of the platform's stays as it is, and so does a settled one
 * when only an unsettled reading of the same `updatedAt` comes.
 * @param asOf when the platform's state was taken: the platform does not date every change, so of two states of the same
 *   date the one that was stored since then stays
 * @returns how many were written
 */
export async function saveProducts(
  { sql, dialect }: Database,
  products: readonly StoredProduct[],
  asOf = everyInstant,
): Promise<number> {
  if (products.length === 0) return 0;
  const rows = toRows(products).map((row, index) => ({
    ...row,
    checked_at: products[index]?.isSettled ? sql.unsafe(dialect.now) : null,
  }));
  const written = await sql`
    INSERT INTO product ${sql(rows)}
    ON CONFLICT (id) DO UPDATE SET
      document = excluded.document, tag = excluded.tag, updated_at = excluded.updated_at, checked_at = excluded.checked_at,
      words = excluded.words, visible_from = excluded.visible_from
    WHERE product.updated_at < excluded.updated_at
      OR (product.updated_at = excluded.updated_at AND CASE WHEN excluded.checked_at IS NULL
        THEN product.checked_at IS NULL ELSE COALESCE(product.checked_at, '') < ${asOf} END)
    RETURNING 1`;
  return written.length;
}

export async function removeProducts({ sql }: Database, ids: readonly bigint[]): Promise<void> {
  await deleteProducts(sql, ids);
}

/** With fewer stored products than these a share says nothing. */
const fewestForShare = 20;

/** Whether removing so many of the stored products is more than a mistake at the platform's end should be able to do. */
export const exceedsShare = (removed: number, stored: number, maxShare: number): boolean =>
  stored >= fewestForShare && removed > stored * maxShare;

/** Removals one by one are counted for so long, or until the next comparison with the whole catalog. */
const removalsWindowMs = 24 * 3_600_000;

/**
 * Removes one product that the platform does not have any more, unless too many have been removed that way: then it stays, marked to be
 * read again.
 * @param maxShare share of the stored products, from 0 to 1, that may be removed one by one
 * @returns whether it was removed
 */
export async function removeMissing(database: Database, id: bigint, maxShare: number): Promise<boolean> {
  const isRemoved = await writing(database, async (sql) => {
    // One removal at a time, so that each is counted.
    await sql.unsafe(database.dialect.lockChanges);
    const now = await readNow({ ...database, sql });
    const recent = await findRecentRemovals(sql, now);
    const [row] = await sql<{ products: number }[]>`SELECT CAST(count(*) AS INTEGER) AS products FROM product`;
    if (exceedsShare(recent.count + 1, (row?.products ?? 0) + recent.count, maxShare)) return false;
    const removed = await sql`DELETE FROM product WHERE id = ${id} RETURNING 1`;
    const count = recent.count + removed.length;
    await saveCursor({ sql }, "removals", JSON.stringify({ since: recent.since, count }));
    return true;
  });
  if (!isRemoved) await markProductStale(database, id);
  return isRemoved;
}

async function findRecentRemovals(sql: SQL, now: string): Promise<{ since: string; count: number }> {
  const kept = JSON.parse((await findCursor({ sql }, "removals")) ?? "null") as { since: string; count: number } | null;
  const isRecent = kept !== null && Date.parse(now) - Date.parse(kept.since) < removalsWindowMs;
  return isRecent ? kept : { since: now, count: 0 };
}

/** Notes that the platform has a later state of a product than the one stored: it is to be read again. */
export async function markProductStale({ sql }: Database, id: bigint): Promise<void> {
  await sql`UPDATE product SET checked_at = NULL WHERE id = ${id}`;
}

/** Documents of some products, the lowest identifiers first. */
export async function listFirstProducts({ read }: Database, most: number): Promise<string[]> {
  const rows = await read<{ document: string }>("SELECT document FROM product ORDER BY id LIMIT $1", [most]);
  return rows.map(({ document }) => document);
}

/** What is stored of some products, by identifier: enough to tell which of them have changed. */
export async function listProductStates(
  { sql }: Database,
  ids: readonly bigint[],
): Promise<Map<string, { readonly tag: string; readonly updatedAt: string; readonly known: boolean }>> {
  if (ids.length === 0) return new Map();
  type Row = { id: string; tag: string; updatedAt: string; checkedAt: string | null };
  const rows = await sql<Row[]>`
    SELECT CAST(id AS TEXT) AS id, tag, updated_at AS ${sql("updatedAt")}, checked_at AS ${sql("checkedAt")}
    FROM product WHERE id IN ${sql(ids)}`;
  return new Map(rows.map(({ id, tag, updatedAt, checkedAt }) => [id, { tag, updatedAt, known: checkedAt !== null }]));
}

export async function countProducts({ sql }: Database): Promise<number> {
  const [row] = await sql<{ products: number }[]>`SELECT CAST(count(*) AS INTEGER) AS products FROM product`;
  return row?.products ?? 0;
}

/** How many of the stored products shoppers may not see. */
export async function countHiddenProducts({ sql, dialect }: Database): Promise<number> {
  const [row] = await sql<{ products: number }[]>`
    SELECT CAST(count(*) AS INTEGER) AS products FROM product
    WHERE visible_from IS NULL OR visible_from > ${sql.unsafe(dialect.now)}`;
  return row?.products ?? 0;
}

/** Every stored identifier, or those that were last checked before an instant. */
export async function listProductIds({ sql }: Database, checkedBefore = everyInstant): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    SELECT CAST(id AS TEXT) AS id FROM product WHERE checked_at IS NULL OR checked_at < ${checkedBefore}`;
  return rows.map(({ id }) => id);
}

function toRows(products: readonly StoredProduct[]) {
  return products.map(({ id, document, tag, updatedAt, words, visibleFrom }) => ({
    id,
    document,
    tag,
    updated_at: updatedAt,
    words,
    visible_from: visibleFrom,
  }));
}

async function deleteProducts(sql: SQL, ids: readonly bigint[]): Promise<void> {
  for (let start = 0; start < ids.length; start += 1000) {
    await sql`DELETE FROM product WHERE id IN ${sql(ids.slice(start, start + 1000))}`;
  }
}

/** Notes of the products that were stored before this was kept from when on shoppers may see them. */
export async function fillVisibility(sql: SQL): Promise<void> {
  for (let after = 0n; ; ) {
    const rows = await sql<{ id: string; document: string }[]>`
      SELECT CAST(id AS TEXT) AS id, document FROM product WHERE id > ${after} ORDER BY id LIMIT 200`;
    if (rows.length === 0) return;
    for (const { id, document } of rows) {
      after = BigInt(id);
      await sql`UPDATE product SET visible_from = ${visibleFromOf(JSON.parse(document))} WHERE id = ${after}`;
    }
  }
}
