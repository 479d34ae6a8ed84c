import { toJson } from "../base/json.ts";
import type { Product } from "../contract/product.ts";
import type { Queryable } from "../database/database.ts";
import { lagMs } from "../platforms/platform.ts";
import { toWords } from "./search.ts";
import { visibleFromOf } from "./visibility.ts";

export interface FoundProduct {
  /** The finished JSON of the contract's `product`, in UTF-8. */
  readonly document: Uint8Array;
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
  readonly words: string;
  readonly visibleFrom: string | null;
  /** Whether it counts as the platform's current state. Otherwise it must be read again. */
  readonly isSettled: boolean;
}

/** Derives once what every read would otherwise repeat. */
export function toStoredProduct(product: Product, updatedAt = "", isSettled = true): StoredProduct {
  const document = toJson(product);
  const tag = Bun.CryptoHasher.hash("sha256", document, "base64url").slice(0, 22);
  const visibleFrom = visibleFromOf(product);
  return { id: BigInt(product.id), document, tag, updatedAt, words: toWords(product), visibleFrom, isSettled };
}

/** A comparison of the whole catalog counts as a check of every settled product. */
export async function findProduct({ read, engine }: Queryable, id: bigint): Promise<FoundProduct | undefined> {
  const [row] = await read<FoundProduct>(
    `SELECT ${engine.toBytes("document")} AS document, tag, visible_from AS "visibleFrom", ${verifiedAt} AS "checkedAt"
    FROM product ${joinTruth} WHERE product.id = $1`,
    [id],
  );
  return row;
}

/**
 * The platform gives a handle to one product at a time, but stored products were read at different
 * times. If several have it, the one that changed last wins.
 */
export async function findStoredProductId({ read, engine }: Queryable, handle: string): Promise<bigint | undefined> {
  const [row] = await read<{ id: string }>(
    `SELECT CAST(id AS TEXT) AS id FROM product WHERE ${engine.handleOf("document")} = $1
    ORDER BY updated_at DESC, product.id DESC LIMIT 1`,
    [JSON.stringify(handle).slice(1, -1)],
  );
  return row && BigInt(row.id);
}

/**
 * SQL condition: a product, joined with its news, is not settled. It is derived, so that reads and
 * deliveries may come in any order.
 */
export const unsettled = `(product.checked_at IS NULL OR news.updated_at > product.updated_at
  OR news.settles_at > product.checked_at OR news.gone_at > product.read_from)`;

export const joinTruth = `LEFT JOIN product_news AS news ON news.id = product.id
  LEFT JOIN cursor ON cursor.name = 'catalog-reconcile'`;

/** SQL expression for the last time a product matched the platform; null when it may differ. */
export const verifiedAt = `CASE WHEN ${unsettled} THEN NULL
  WHEN product.checked_at < cursor.value THEN cursor.value ELSE product.checked_at END`;

export type Way = "live" | "sync" | "bulk" | "push" | "import";

export interface ReadingTimes {
  readonly way: Way;
  /** When the read began and ended, as `performance.now()`: the store converts it to its clock. */
  readonly beganMs: number;
  readonly endedMs: number;
  /** When it began, by the platform's clock: milliseconds since 1970. */
  readonly platformMs: number;
}

/** SQL expression for a `performance.now()` on the store's clock. */
export const instantOf = ({ engine }: Queryable, atMs: number, laterS = 0) =>
  engine.later(`(${((atMs - performance.now()) / 1000 + laterS).toFixed(3)})`);

const lagS = lagMs / 1000;

/**
 * If one read began this much later than another, it is newer even if its `updatedAt` is earlier:
 * the platform's clock was set back. Reads lag by less.
 */
const laterS = 60;

/**
 * Saves products as read from the platform. A stored product stays if its `updatedAt` is later. The
 * platform does not date every change: if both are equal, the read that began later wins, unless
 * only the other is settled. After {@link laterS}, the later read always wins. Triggers record the
 * changes, see `triggers` in the schema of the engine.
 * @returns how many were written
 */
export async function saveProducts(
  queryable: Queryable,
  products: readonly StoredProduct[],
  reading: ReadingTimes,
): Promise<number> {
  const { sql } = queryable;
  const ids = products.map(({ id }) => id);
  const news = await listNews(queryable, ids, reading);
  const present = products.filter(({ id }) => news.get(`${id}`) !== "gone");
  if (present.length === 0) return 0;
  const from = sql.unsafe(instantOf(queryable, reading.beganMs));
  const rows = toRows(present).map((row, index) => ({
    ...row,
    checked_at: present[index]?.isSettled ? from : null,
    way: reading.way,
    read_from: from,
    read_until: sql.unsafe(instantOf(queryable, reading.endedMs)),
    asked_at: new Date(reading.platformMs).toISOString(),
  }));
  const written = await sql`
    INSERT INTO product ${sql(rows)}
    ON CONFLICT (id) DO UPDATE SET
      document = excluded.document, tag = excluded.tag, updated_at = excluded.updated_at, checked_at = excluded.checked_at,
      words = excluded.words, visible_from = excluded.visible_from,
      way = excluded.way, read_from = excluded.read_from, read_until = excluded.read_until, asked_at = excluded.asked_at
    WHERE product.updated_at < excluded.updated_at
      OR (product.updated_at = excluded.updated_at AND product.read_from <= excluded.read_from
        AND (excluded.checked_at IS NOT NULL OR product.checked_at IS NULL))
      OR product.read_from < ${sql.unsafe(instantOf(queryable, reading.beganMs, -laterS))}
    RETURNING 1`;
  if (news.size > 0) await forgetNews(queryable, ids);
  return written.length;
}

/** A product that a read found gone stays gone while other reads may lag behind. */
async function listNews(
  queryable: Queryable,
  ids: readonly bigint[],
  { beganMs }: ReadingTimes,
): Promise<Map<string, "gone" | "present">> {
  if (ids.length === 0) return new Map();
  const { sql } = queryable;
  const rows = await sql<{ id: string; isGone: number }[]>`
    SELECT CAST(id AS TEXT) AS id,
      CASE WHEN gone_at > ${sql.unsafe(instantOf(queryable, beganMs, -lagS))} THEN 1 ELSE 0 END AS "isGone"
    FROM product_news WHERE id IN ${sql(ids)}`;
  return new Map(rows.map(({ id, isGone }) => [id, isGone === 1 ? "gone" : "present"]));
}

async function forgetNews({ sql }: Queryable, ids: readonly bigint[]): Promise<void> {
  await sql`
    UPDATE product_news SET unusable_at = NULL
    WHERE unusable_at IS NOT NULL AND id IN (SELECT id FROM product WHERE id IN ${sql(ids)}
      AND product.read_from > product_news.unusable_at)`;
  await sql`
    UPDATE product_news SET waiting_since = NULL
    WHERE waiting_since IS NOT NULL AND id IN (SELECT id FROM product WHERE id IN ${sql(ids)}
      AND product.updated_at >= product_news.updated_at)`;
  await sql`
    DELETE FROM product_news WHERE id IN ${sql(ids)} AND EXISTS (
      SELECT 1 FROM product WHERE product.id = product_news.id AND product.checked_at >= product_news.settles_at
        AND product.updated_at >= product_news.updated_at
        AND product.read_from >= coalesce(product_news.gone_at, '') AND product_news.unusable_at IS NULL)`;
}

export interface ProductNews {
  readonly id: bigint;
  /** The platform's time of the last change, if known: ISO 8601 in UTC, in whole seconds. */
  readonly updatedAt?: string;
}

/**
 * Records news that the platform delivered, repeatedly and in any order. A product settles only
 * when it is read late enough that the read cannot lag behind.
 */
export function noteDelivery(database: Queryable, products: readonly ProductNews[]): Promise<void> {
  return noteNews(database, products, database.engine.later(lagS));
}

/** Records when products last changed, according to a list or a read. */
export function noteUpdates(database: Queryable, products: readonly ProductNews[]): Promise<void> {
  return noteNews(database, products, "''");
}

/** @param settlesAt expression for the instant before which no read is settled */
async function noteNews({ sql, engine }: Queryable, products: readonly ProductNews[], settlesAt: string) {
  const newest = new Map<bigint, string>();
  for (const { id, updatedAt = "" } of products) {
    if (updatedAt >= (newest.get(id) ?? "")) newest.set(id, updatedAt);
  }
  if (newest.size === 0) return;
  // In a fixed order, so that two processes do not deadlock on each other's rows.
  const rows = [...newest]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, updatedAt]) => ({
      id,
      updated_at: updatedAt,
      noted_at: sql.unsafe(engine.now),
      settles_at: sql.unsafe(settlesAt),
    }));
  await sql`
    INSERT INTO product_news ${sql(rows)}
    ON CONFLICT (id) DO UPDATE SET
      updated_at = CASE WHEN product_news.updated_at < excluded.updated_at
        THEN excluded.updated_at ELSE product_news.updated_at END,
      noted_at = excluded.noted_at,
      unusable_at = CASE WHEN product_news.updated_at < excluded.updated_at THEN NULL ELSE product_news.unusable_at END,
      settles_at = CASE WHEN product_news.settles_at < excluded.settles_at
        THEN excluded.settles_at ELSE product_news.settles_at END`;
}

export async function markProductStale({ sql }: Queryable, id: bigint): Promise<void> {
  await sql`UPDATE product SET checked_at = NULL WHERE id = ${id}`;
}

export async function listVisibleProducts({ read, engine }: Queryable, limit: number): Promise<string[]> {
  const rows = await read<{ document: string }>(
    `SELECT document FROM product WHERE visible_from <= ${engine.now} ORDER BY id LIMIT $1`,
    [limit],
  );
  return rows.map(({ document }) => document);
}

export async function listDocuments({ sql }: Queryable, ids: readonly bigint[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql<{ id: string; document: string }[]>`
    SELECT CAST(id AS TEXT) AS id, document FROM product WHERE id IN ${sql(ids)}`;
  return new Map(rows.map(({ id, document }) => [id, document]));
}

export interface ProductState {
  readonly tag: string;
  readonly way: Way | "";
  /** When its read began and ended, ISO 8601; empty if unknown. */
  readonly readFrom: string;
  readonly readUntil: string;
  /** The platform's time of the last change; empty if imported. */
  readonly updatedAt: string;
  /** When its read began, by the platform's clock; empty if not read from a platform. */
  readonly askedAt: string;
  readonly isSettled: boolean;
}

export async function listProductStates(
  { sql }: Queryable,
  ids: readonly bigint[],
): Promise<Map<string, ProductState>> {
  if (ids.length === 0) return new Map();
  const rows = await sql<(Omit<ProductState, "isSettled"> & { id: string; isSettled: number })[]>`
    SELECT CAST(product.id AS TEXT) AS id, tag, way, read_from AS "readFrom", read_until AS "readUntil",
      product.updated_at AS "updatedAt", asked_at AS "askedAt",
      CASE WHEN ${sql.unsafe(unsettled)} THEN 0 ELSE 1 END AS "isSettled"
    FROM product LEFT JOIN product_news AS news ON news.id = product.id WHERE product.id IN ${sql(ids)}`;
  return new Map(rows.map(({ id, isSettled, ...state }) => [id, { ...state, isSettled: isSettled === 1 }]));
}

export async function findProductState(queryable: Queryable, id: bigint): Promise<ProductState | undefined> {
  return (await listProductStates(queryable, [id])).get(`${id}`);
}

export async function countStoredProducts({ sql }: Queryable): Promise<number> {
  const [row] = await sql<{ products: number }[]>`SELECT CAST(count(*) AS INTEGER) AS products FROM product`;
  return row?.products ?? 0;
}

/** Reads the clock once, not for each product. */
export async function countHiddenProducts({ sql, engine }: Queryable): Promise<number> {
  const [row] = await sql<{ products: number }[]>`
    SELECT CAST((SELECT count(*) FROM product WHERE visible_from IS NULL) + (SELECT count(*) FROM product
      WHERE visible_from > (SELECT ${sql.unsafe(engine.now)})) AS INTEGER) AS products`;
  return row?.products ?? 0;
}

/** In text order, later than any timestamp. */
const endOfTime = "9999-12-31T23:59:59.999Z";

/** Lists all ids, or those that were last read before an instant. */
export async function listProductIds({ sql }: Queryable, readBefore = endOfTime): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    SELECT CAST(id AS TEXT) AS id FROM product WHERE read_from < ${readBefore}`;
  return rows.map(({ id }) => id);
}

export function toRows(products: readonly StoredProduct[]) {
  return products.map(({ id, document, tag, updatedAt, words, visibleFrom }) => ({
    id,
    document,
    tag,
    updated_at: updatedAt,
    words,
    visible_from: visibleFrom,
  }));
}
