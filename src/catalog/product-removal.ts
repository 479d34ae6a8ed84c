import type { SQL } from "bun";
import { inBatches } from "../base/batches.ts";
import type { Database, Queryable, Transaction } from "../database/database.ts";
import { countStoredProducts, instantOf, type ReadingTimes } from "./product.ts";

/** Removals by all processes and jobs count for this long. */
const windowS = 24 * 3600;

const perStatement = 1000;

/** This many may always be removed, because a share of a small catalog means little. */
const minRemovals = 5;

export interface RemovalLimit {
  readonly stored: number;
  readonly recent: number;
  readonly allowed: number;
}

/** @param maxShare share of the products, from 0 to 1, that may be removed within 24 hours; 0 keeps all */
export async function readRemovalLimit(queryable: Queryable, maxShare: number): Promise<RemovalLimit> {
  const { sql, engine } = queryable;
  const [row] = await sql<{ products: number }[]>`
    SELECT CAST(coalesce(sum(products), 0) AS INTEGER) AS products FROM product_removal
    WHERE removed_at > ${sql.unsafe(engine.later(-windowS))}`;
  const recent = row?.products ?? 0;
  const stored = await countStoredProducts(queryable);
  const limit = maxShare === 0 ? 0 : Math.max(minRemovals, Math.floor((stored + recent) * maxShare));
  return { stored, recent, allowed: Math.max(0, limit - recent) };
}

/**
 * Removes products that the platform no longer has: all or, beyond the limit, none. Keeps those that
 * another read has found since.
 * @returns how many were removed, or the limit that they exceed
 */
export async function removeProducts(
  database: Database,
  ids: readonly bigint[],
  maxShare: number,
  reading: Pick<ReadingTimes, "beganMs">,
): Promise<number | RemovalLimit> {
  try {
    return await database.inTransaction((transaction) => removeWithin(transaction, ids, maxShare, reading));
  } catch (error) {
    if (error instanceof RemovalRefused) return error.limit;
    throw error;
  }
}

/** Thrown to roll back the transaction. */
class RemovalRefused extends Error {
  readonly limit: RemovalLimit;

  constructor(limit: RemovalLimit) {
    super();
    this.limit = limit;
  }
}

async function removeWithin(
  transaction: Transaction,
  ids: readonly bigint[],
  maxShare: number,
  { beganMs }: Pick<ReadingTimes, "beganMs">,
): Promise<number> {
  const { sql, engine } = transaction;
  // One removal at a time, so that each is counted.
  await transaction.lock("changes");
  const limit = await readRemovalLimit(transaction, maxShare);
  const began = sql.unsafe(instantOf(transaction, beganMs));
  const removed = await deleteProducts(transaction, ids, sql`AND read_from <= ${began}`);
  if (removed.length > limit.allowed) throw new RemovalRefused(limit);
  if (removed.length > 0) {
    await sql`INSERT INTO product_removal (removed_at, products) VALUES (${sql.unsafe(engine.now)}, ${removed.length})`;
    await sql`DELETE FROM product_removal WHERE removed_at < ${sql.unsafe(engine.later(-windowS))}`;
  }
  await noteGone(transaction, ids, removed, began);
  return removed.length;
}

/** Clients can request any id, so unknown products are not recorded. */
async function noteGone(
  { sql, engine }: Transaction,
  ids: readonly bigint[],
  removed: readonly bigint[],
  began: SQL.Query<unknown>,
): Promise<void> {
  for (const batch of inBatches(ids, perStatement)) {
    await sql`
      UPDATE product_news SET waiting_since = NULL, gone_at = CASE WHEN gone_at > ${began} THEN gone_at ELSE ${began} END
      WHERE id IN ${sql(batch)} AND NOT EXISTS (SELECT 1 FROM product WHERE product.id = product_news.id)`;
  }
  for (const batch of inBatches(removed, perStatement)) {
    const rows = batch.map((id) => ({ id, noted_at: sql.unsafe(engine.now), gone_at: began }));
    await sql`INSERT INTO product_news ${sql(rows)} ON CONFLICT (id) DO NOTHING`;
  }
}

/** @returns the ids of the removed products */
export async function deleteProducts(
  { sql }: Queryable,
  ids: readonly bigint[],
  condition: SQL.Query<unknown> = sql``,
): Promise<bigint[]> {
  const removed: bigint[] = [];
  for (const batch of inBatches(ids, perStatement)) {
    const rows = await sql<{ id: string }[]>`
      DELETE FROM product WHERE id IN ${sql(batch)} ${condition} RETURNING CAST(id AS TEXT) AS id`;
    for (const { id } of rows) removed.push(BigInt(id));
  }
  return removed;
}
