import { toJson } from "../json.ts";
import { type Product, visibleFromOf } from "../model/product.ts";
import { findCursor, saveCursor } from "./cursor.ts";
import { type Database, type Queryable, readNow, type Transaction } from "./database.ts";
import { requireUnderWay } from "./lease.ts";
import { toWords } from "./search.ts";

/** A product as it is served. */
export interface FoundProduct {
  /** The finished JSON of the contract's `product`, in UTF-8. */
  readonly document: Uint8Array;
  /** The entity tag of the document. */
  readonly tag: string;
  /** When it last matched the platform, ISO 8601; null when it may differ. */
  readonly checkedAt: string | null;
  /** When shoppers may see it, ISO 8601 in UTC; null when they may not. */
  readonly visibleFrom: string | null;
}

export interface StoredProduct {
  readonly id: bigint;
  readonly document: string;
  readonly tag: string;
  /** The platform's timestamp of its last change; empty when another source provided it. */
  readonly updatedAt: string;
  /** Words that search matches, made by `toWords`. */
  readonly words: string;
  /** When shoppers may see it, ISO 8601 in UTC; null when they may not. */
  readonly visibleFrom: string | null;
  /** Whether it counts as the platform's current state. Otherwise it must be read again. */
  readonly isSettled: boolean;
}

/** Does the work once that every read would repeat. */
export function toStoredProduct(product: Product, updatedAt = "", isSettled = true): StoredProduct {
  const document = toJson(product);
  const tag = Bun.CryptoHasher.hash("sha256", document, "base64url").slice(0, 22);
  const visibleFrom = visibleFromOf(product);
  return { id: BigInt(product.id), document, tag, updatedAt, words: toWords(product), visibleFrom, isSettled };
}

/** Finds one product. A comparison of the whole catalog counts as a check of each product. */
export async function findProduct({ read, engine }: Queryable, id: bigint): Promise<FoundProduct | undefined> {
  const [row] = await read<FoundProduct>(
    `SELECT ${engine.toBytes("document")} AS document, tag, visible_from AS "visibleFrom",
      CASE WHEN checked_at < cursor.value THEN cursor.value ELSE checked_at END AS "checkedAt"
    FROM product LEFT JOIN cursor ON cursor.name = 'catalog-reconcile'
    WHERE id = $1`,
    [id],
  );
  return row;
}

/**
 * Makes the batches the whole set of products: writes those that differ, removes those that no
 * batch holds. A batch source that throws changes nothing.
 * @param batches no id twice within a batch; the batch that comes last wins
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
    const { sql } = transaction;
    const storedBefore = await countProducts(transaction);
    const kept = new Set<string>();
    for await (const batch of batches) {
      for (const { id } of batch) kept.add(`${id}`);
      if (batch.length === 0) continue;
      await sql`
        INSERT INTO product ${sql(toRows(batch))}
        ON CONFLICT (id) DO UPDATE SET document = excluded.document, tag = excluded.tag, updated_at = excluded.updated_at,
          words = excluded.words, visible_from = excluded.visible_from
        WHERE product.tag <> excluded.tag`;
    }
    const stored = await sql<{ id: string }[]>`SELECT CAST(id AS TEXT) AS id FROM product`;
    const missing = stored.filter(({ id }) => !kept.has(id)).map(({ id }) => BigInt(id));
    mayRemove(missing.length, storedBefore);
    await removeProducts(transaction, missing);
    // Last, because another run may have replaced the products after this transaction began.
    await requireUnderWay(transaction, run);
    return { removed: missing.length };
  });
}

/** Later than any timestamp, in text order. */
const endOfTime = "9999-12-31T23:59:59.999Z";

/**
 * Saves products as the platform returned them. A stored product stays when its `updatedAt` is
 * later, or when it is settled and the new one has the same `updatedAt` but isn't settled.
 * @param asOf when the platform's state was taken. The platform does not date every change, so of
 *   two states with the same `updatedAt`, one that was stored after `asOf` stays.
 * @returns how many were written
 */
export async function saveProducts(
  { sql, engine }: Queryable,
  products: readonly StoredProduct[],
  asOf = endOfTime,
): Promise<number> {
  if (products.length === 0) return 0;
  const rows = toRows(products).map((row, index) => ({
    ...row,
    checked_at: products[index]?.isSettled ? sql.unsafe(engine.now) : null,
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

const removedPerStatement = 1000;

export async function removeProducts({ sql }: Queryable, ids: readonly bigint[]): Promise<void> {
  for (let start = 0; start < ids.length; start += removedPerStatement) {
    await sql`DELETE FROM product WHERE id IN ${sql(ids.slice(start, start + removedPerStatement))}`;
  }
}

/** With fewer stored products, a share means little. */
const minStoredForShare = 20;

/** Whether a removal is so large that it may come from a mistake at the platform. */
export const exceedsShare = (removed: number, stored: number, maxShare: number): boolean =>
  stored >= minStoredForShare && removed > stored * maxShare;

/** Removals one by one are counted this long, or until the next comparison of the whole catalog. */
const removalWindowMs = 24 * 3_600_000;

/**
 * Removes one product that the platform no longer has. When too many were removed this way, the
 * product stays and is marked stale.
 * @param maxShare share of the stored products, from 0 to 1, that may be removed one by one
 * @returns whether it was removed
 */
export async function removeMissing(database: Database, id: bigint, maxShare: number): Promise<boolean> {
  const isRemoved = await database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    // One removal at a time, so that each is counted.
    await engine.lock(sql, "changes");
    const recent = await findRecentRemovals(transaction);
    const stored = await countProducts(transaction);
    if (exceedsShare(recent.count + 1, stored + recent.count, maxShare)) return false;
    const removed = await sql`DELETE FROM product WHERE id = ${id} RETURNING 1`;
    const count = recent.count + removed.length;
    await saveCursor(transaction, "removals", JSON.stringify({ since: recent.since, count }));
    return true;
  });
  if (!isRemoved) await markProductStale(database, id);
  return isRemoved;
}

async function findRecentRemovals(transaction: Transaction): Promise<{ since: string; count: number }> {
  const now = await readNow(transaction);
  const cursor = await findCursor(transaction, "removals");
  const removals = JSON.parse(cursor ?? "null") as { since: string; count: number } | null;
  const isRecent = removals !== null && Date.parse(now) - Date.parse(removals.since) < removalWindowMs;
  return isRecent ? removals : { since: now, count: 0 };
}

/** Notes that the platform has a later state of the product, which must be read again. */
export async function markProductStale({ sql }: Queryable, id: bigint): Promise<void> {
  await sql`UPDATE product SET checked_at = NULL WHERE id = ${id}`;
}

/** The documents of the products with the lowest ids. */
export async function listFirstProducts({ read }: Queryable, limit: number): Promise<string[]> {
  const rows = await read<{ document: string }>("SELECT document FROM product ORDER BY id LIMIT $1", [limit]);
  return rows.map(({ document }) => document);
}

/** The documents of some products, by id. */
export async function listDocuments({ sql }: Queryable, ids: readonly bigint[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql<{ id: string; document: string }[]>`
    SELECT CAST(id AS TEXT) AS id, document FROM product WHERE id IN ${sql(ids)}`;
  return new Map(rows.map(({ id, document }) => [id, document]));
}

/** The state of some products, by id: enough to find those that changed. */
export async function listProductStates(
  { sql }: Queryable,
  ids: readonly bigint[],
): Promise<Map<string, { readonly tag: string; readonly updatedAt: string; readonly known: boolean }>> {
  if (ids.length === 0) return new Map();
  type Row = { id: string; tag: string; updatedAt: string; checkedAt: string | null };
  const rows = await sql<Row[]>`
    SELECT CAST(id AS TEXT) AS id, tag, updated_at AS "updatedAt", checked_at AS "checkedAt"
    FROM product WHERE id IN ${sql(ids)}`;
  return new Map(rows.map(({ id, tag, updatedAt, checkedAt }) => [id, { tag, updatedAt, known: checkedAt !== null }]));
}

export async function countProducts({ sql }: Queryable): Promise<number> {
  const [row] = await sql<{ products: number }[]>`SELECT CAST(count(*) AS INTEGER) AS products FROM product`;
  return row?.products ?? 0;
}

/** How many of the stored products shoppers may not see. */
export async function countHiddenProducts({ sql, engine }: Queryable): Promise<number> {
  const [row] = await sql<{ products: number }[]>`
    SELECT CAST(count(*) AS INTEGER) AS products FROM product
    WHERE visible_from IS NULL OR visible_from > ${sql.unsafe(engine.now)}`;
  return row?.products ?? 0;
}

/** The ids of all products, or of those that were last checked before an instant. */
export async function listProductIds({ sql }: Queryable, checkedBefore = endOfTime): Promise<string[]> {
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
