import { ServiceError } from "../base/errors.ts";
import type { Database, Queryable } from "../database/database.ts";
import { dropGenerationTables } from "../database/generation-tables.ts";
import { findRunUnderWay, hasRunUnderWay } from "../jobs/runs.ts";
import {
  findCurrent,
  generations,
  presentations,
  removeAllVersions,
  removeOldVersions,
  requireCurrent,
} from "./versions.ts";

/**
 * Removes unfinished generations that imports left behind: those of one brand, before its run has
 * begun a generation, or of every brand.
 * @param job the import job: a generation stays while the job has a run for its brand
 */
export async function removeUnfinishedGenerations(database: Database, job: string, ownBrand?: string): Promise<void> {
  const isLeft = (queryable: Queryable) =>
    ownBrand === undefined
      ? queryable.sql`state = 'loading' AND NOT ${hasRunUnderWay(queryable, job, "generation.brand")}`
      : queryable.sql`state = 'loading' AND brand = ${ownBrand}`;
  // Without a transaction, which would wait for an import in progress.
  const left = await database.sql<{ brand: string }[]>`
    SELECT DISTINCT brand FROM generation WHERE ${isLeft(database)}
      OR (state = 'removed' AND ${ownBrand === undefined ? database.sql`TRUE` : database.sql`brand = ${ownBrand}`})`;
  let problem: unknown;
  for (const { brand } of left) {
    try {
      await database.inTransaction(async (transaction) => {
        await transaction.lock({ brand });
        await transaction.sql`UPDATE generation SET state = 'removed' WHERE brand = ${brand} AND ${isLeft(transaction)}`;
      });
      await removeMarkedGenerations(database, brand);
    } catch (error) {
      // One brand with held locks must not block the removal for the others.
      problem ??= error;
    }
  }
  if (problem !== undefined) throw problem;
}

/** Keeps a brand's current generation and the `kept - 1` before it. */
export async function removeOldGenerations(database: Database, brand: string, kept: number): Promise<void> {
  await database.inTransaction(async (transaction) => {
    // So that no rollback makes one of them current in the meantime.
    await transaction.lock({ brand });
    await removeOldVersions(transaction, generations, brand, kept);
  });
  await removeMarkedGenerations(database, brand);
}

export interface RemovedBrand {
  readonly generations: number;
  readonly presentations: number;
}

/**
 * Removes all complete generations of a brand, and its presentations, including the current ones.
 * @param onlyFrom refuses if another generation is now current
 * @throws ServiceError `unavailable` while an import of the brand is running, or `conflict`
 */
export async function removePersonalization(
  database: Database,
  brand: string,
  onlyFrom?: number,
): Promise<RemovedBrand> {
  for (const { job, noun } of [generations, presentations]) {
    const running = await findRunUnderWay(database, job, brand);
    if (running === undefined) continue;
    const subject = noun === "generation" ? "personalization" : noun;
    throw new ServiceError(
      "unavailable",
      `run ${running.id} is importing the ${subject} of ${brand} since ${running.startedAt}; try again when it has finished`,
    );
  }
  const removed = await database.inTransaction(async (transaction) => {
    const { sql } = transaction;
    await transaction.lock({ brand });
    const current = await findCurrent(transaction, generations, brand);
    if (current !== undefined) requireCurrent(generations, brand, current, onlyFrom);
    await sql`DELETE FROM current_generation WHERE brand = ${brand}`;
    return {
      generations: await removeAllVersions(transaction, generations, brand),
      presentations: await removeAllVersions(transaction, presentations, brand),
    };
  });
  await removeMarkedGenerations(database, brand);
  return removed;
}

/**
 * Drops the tables of generations that are marked as removed. Tables in use, for example by a dump,
 * remain for the next call, which also resumes an interrupted one.
 */
export async function removeMarkedGenerations(database: Database, brand: string): Promise<void> {
  const removed = await database.sql<{ id: number }[]>`
    SELECT id FROM generation WHERE state = 'removed' AND brand = ${brand}`;
  for (const { id } of removed) {
    try {
      await database.inTransaction(async (transaction) => {
        // Requests with an older list of generations still use the tables, and would wait behind a
        // removal that waits for a lock.
        await transaction.engine.server?.limitLockWaits(transaction.sql);
        // First, because a loader also locks the row before the tables.
        const { count } = await transaction.sql`DELETE FROM generation WHERE id = ${id}`;
        if (count > 0) await dropGenerationTables(transaction, id);
      });
    } catch (error) {
      if (database.engine.classify(error) !== "locked") throw error;
    }
  }
}
