import type { Database, Queryable } from "./database.ts";
import { removeCurrent } from "./generation-current.ts";
import { dropGenerationTables } from "./generation-tables.ts";

/**
 * Removes unfinished generations that imports left behind, of every brand.
 * @param job the import job: a generation stays while the job has a run for its brand
 * @param ownBrand the brand of the run that calls this, which has not begun a generation yet
 */
export async function removeUnfinishedGenerations(database: Database, job: string, ownBrand?: string): Promise<void> {
  const isLeft = ({ sql, engine }: Queryable) => {
    const isOwn = ownBrand === undefined ? sql`` : sql`brand = ${ownBrand} OR`;
    return sql`state = 'loading' AND (${isOwn} NOT EXISTS (
      SELECT 1 FROM run WHERE run.job = ${job} AND run.brand = generation.brand AND run.finished_at IS NULL
        AND run.lease_until >= ${sql.unsafe(engine.now)}))`;
  };
  // Without a transaction, which would wait for an import in progress.
  const left = await database.sql`SELECT 1 FROM generation WHERE state = 'removed' OR (${isLeft(database)}) LIMIT 1`;
  if (left.length === 0) return;
  await database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await engine.lock(sql, "generations");
    await sql`UPDATE generation SET state = 'removed' WHERE ${isLeft(transaction)}`;
  });
  await removeMarkedGenerations(database);
}

/** Keeps a brand's current generation and the `kept - 1` before it, and removes the others. */
export async function removeOldGenerations(database: Database, brand: string, kept: number): Promise<void> {
  await database.inTransaction(async ({ sql, engine }) => {
    // So that no rollback makes one of them current meanwhile.
    await engine.lock(sql, "generations");
    await sql`
      WITH RECURSIVE kept (id, place) AS (
        SELECT generation, 1 FROM current_generation WHERE brand = ${brand}
        UNION ALL
        SELECT previous, place + 1 FROM kept JOIN generation ON generation.id = kept.id
        WHERE previous IS NOT NULL AND place < ${kept}
      )
      UPDATE generation SET state = 'removed'
      WHERE brand = ${brand} AND state = 'complete' AND id NOT IN (SELECT id FROM kept)`;
  });
  await removeMarkedGenerations(database, brand);
}

/**
 * Removes all complete generations of a brand, the current one too.
 * @returns how many
 */
export async function removeBrandGenerations(database: Database, brand: string): Promise<number> {
  const removed = await database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await engine.lock(sql, "generations");
    await removeCurrent(transaction, brand);
    const { count } = await sql`UPDATE generation SET state = 'removed' WHERE brand = ${brand} AND state = 'complete'`;
    return count as number;
  });
  await removeMarkedGenerations(database, brand);
  return removed;
}

/**
 * Drops the tables of the generations that are marked as removed. The next call continues where one
 * was interrupted.
 * @param brand undefined for every brand
 */
export async function removeMarkedGenerations(database: Database, brand?: string): Promise<void> {
  const { sql } = database;
  const ofBrand = brand === undefined ? sql`` : sql`AND brand = ${brand}`;
  const removed = await sql<{ id: number }[]>`SELECT id FROM generation WHERE state = 'removed' ${ofBrand}`;
  for (const { id } of removed) {
    await database.inTransaction(async (transaction) => {
      // First, because a loader also locks the row before the tables.
      const { count } = await transaction.sql`DELETE FROM generation WHERE id = ${id}`;
      if (count > 0) await dropGenerationTables(transaction, id);
    });
  }
}
