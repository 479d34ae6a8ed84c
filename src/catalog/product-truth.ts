import type { Queryable } from "../database/database.ts";
import { instantOf, joinTruth, type ReadingTimes, unsettled, verifiedAt } from "./product.ts";

/** @returns the newest known time of a change; empty when none is known; undefined for an unknown product */
export async function findNewestUpdate({ sql }: Queryable, id: bigint): Promise<string | undefined> {
  const [row] = await sql<{ newest: string | null }[]>`
    SELECT max(updated_at) AS newest FROM (
      SELECT updated_at FROM product WHERE id = ${id} UNION ALL SELECT updated_at FROM product_news WHERE id = ${id}
    ) AS known`;
  return row?.newest ?? undefined;
}

/** Whether a delivery came so close to a read that its responses may show different states. */
export async function mayLagBehindDelivery(
  queryable: Queryable,
  id: bigint,
  { beganMs }: ReadingTimes,
): Promise<boolean> {
  const { sql } = queryable;
  const rows = await sql`
    SELECT 1 FROM product_news WHERE id = ${id} AND settles_at > ${sql.unsafe(instantOf(queryable, beganMs))}`;
  return rows.length > 0;
}

/** Condition: the last read of a product was unusable, and another would return the same. */
const unusable = "(news.unusable_at IS NOT NULL AND news.settles_at <= news.unusable_at)";

/** Skips products whose last read was unusable if nothing newer is known. */
export async function listUnsettledProducts({ sql }: Queryable): Promise<bigint[]> {
  const rows = await sql<{ id: string }[]>`
    SELECT CAST(product.id AS TEXT) AS id FROM product LEFT JOIN product_news AS news ON news.id = product.id
    WHERE way <> 'import' AND ${sql.unsafe(unsettled)} AND NOT ${sql.unsafe(unusable)}
    UNION ALL
    SELECT CAST(news.id AS TEXT) AS id FROM product_news AS news
    WHERE NOT EXISTS (SELECT 1 FROM product WHERE product.id = news.id)
      AND (gone_at IS NULL OR settles_at > gone_at) AND NOT ${sql.unsafe(unusable)}`;
  return rows.map(({ id }) => BigInt(id));
}

export async function listUnusable({ sql }: Queryable, ids: readonly bigint[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql<{ id: string }[]>`
    SELECT CAST(id AS TEXT) AS id FROM product_news AS news WHERE id IN ${sql(ids)} AND ${sql.unsafe(unusable)}`;
  return new Set(rows.map(({ id }) => id));
}

/** @param beganMs when the read began, as `performance.now()` */
export async function noteUnusableRead(queryable: Queryable, id: bigint, beganMs: number): Promise<void> {
  const { sql, engine } = queryable;
  const row = { id, noted_at: sql.unsafe(engine.now), unusable_at: sql.unsafe(instantOf(queryable, beganMs)) };
  await sql`
    INSERT INTO product_news ${sql([row])} ON CONFLICT (id) DO UPDATE SET unusable_at = excluded.unusable_at`;
}

export async function noteWaiting({ sql, engine }: Queryable, id: bigint, updatedAt: string): Promise<void> {
  const now = sql.unsafe(engine.now);
  await sql`
    INSERT INTO product_news (id, updated_at, noted_at, waiting_since) VALUES (${id}, ${updatedAt}, ${now}, ${now})
    ON CONFLICT (id) DO UPDATE SET
      updated_at = CASE WHEN product_news.updated_at < excluded.updated_at
        THEN excluded.updated_at ELSE product_news.updated_at END,
      noted_at = excluded.noted_at, waiting_since = coalesce(product_news.waiting_since, excluded.waiting_since)`;
}

/** A product that waits longer for consistent responses raises an alert. */
const patienceS = 60;

/** How long news makes the service read a product again if no read confirms it. */
const newsS = 3600;

/** Forgets news that many reads have not confirmed. Call it after comparing the whole catalog. */
export async function forgetOldNews({ sql, engine }: Queryable): Promise<void> {
  const old = sql.unsafe(engine.later(-newsS));
  await sql`
    DELETE FROM product_news WHERE noted_at < ${old} AND settles_at < ${old} AND coalesce(gone_at, '') < ${old}
      AND waiting_since IS NULL AND coalesce(unusable_at, '') < ${old}`;
}

export const verifiedAges = [10, 60, 600, 3600, 86_400] as const;

export interface CatalogTruth {
  readonly products: number;
  /** In the order of `verifiedAges`. */
  readonly verified: readonly number[];
  readonly unsettled: number;
  /** How many have waited too long for consistent responses. */
  readonly waiting: number;
}

export async function readCatalogTruth({ sql, engine }: Queryable): Promise<CatalogTruth> {
  const counts = verifiedAges.map(
    (age, index) =>
      // In a subquery, so that the clock is not read for every product.
      `CAST(coalesce(sum(CASE WHEN verified_at >= (SELECT ${engine.later(-age)}) THEN 1 ELSE 0 END), 0) AS INTEGER) AS age${index}`,
  );
  type Row = { products: number; unsettled: number } & Record<`age${number}`, number>;
  const [row] = await sql<Row[]>`
    SELECT CAST(count(*) AS INTEGER) AS products, CAST(count(*) - count(verified_at) AS INTEGER) AS unsettled,
      ${sql.unsafe(counts.join(", "))}
    FROM (SELECT ${sql.unsafe(verifiedAt)} AS verified_at FROM product ${sql.unsafe(joinTruth)} WHERE way <> 'import')
      AS truth`;
  const [waiting] = await sql<{ products: number }[]>`
    SELECT CAST(count(*) AS INTEGER) AS products FROM product_news
    WHERE waiting_since < ${sql.unsafe(engine.later(-patienceS))}`;
  return {
    products: row?.products ?? 0,
    verified: verifiedAges.map((_, index) => row?.[`age${index}`] ?? 0),
    unsettled: row?.unsettled ?? 0,
    waiting: waiting?.products ?? 0,
  };
}
