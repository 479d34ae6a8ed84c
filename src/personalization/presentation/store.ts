import { recordPersonalizationChange } from "../../database/change.ts";
import type { Database, Queryable, Transaction } from "../../database/database.ts";
import { requireUnderWay } from "../../jobs/claim.ts";
import { cancelImport } from "../../jobs/run-cancellation.ts";
import { presentationFingerprint } from "../fingerprint.ts";
import { requireCurrent } from "../generation-current.ts";
import { presentationImportName } from "../options.ts";
import type { PresentationEntry } from "./entry.ts";

/** A stored presentation of a brand. */
export interface StoredPresentation {
  readonly id: number;
  readonly loadedAt: string;
  readonly isCurrent: boolean;
  readonly entries: number;
  /** The one that was current before it; it may not be stored any more. */
  readonly previous: number | null;
}

/** The brand's stored presentations, the newest first. */
export async function listPresentations({ sql }: Queryable, brand: string): Promise<StoredPresentation[]> {
  const rows = await sql<(Omit<StoredPresentation, "isCurrent"> & { since: string | null })[]>`
    SELECT id, loaded_at AS "loadedAt", since, entries, previous FROM presentation WHERE brand = ${brand} ORDER BY id DESC`;
  return rows.map(({ since, ...row }) => ({ ...row, isCurrent: since !== null }));
}

/** The brand of a stored presentation. */
export async function findPresentationBrand({ sql }: Queryable, id: number): Promise<string | undefined> {
  const [row] = await sql<{ brand: string }[]>`SELECT brand FROM presentation WHERE id = ${id}`;
  return row?.brand;
}

/** The entries of a presentation; undefined if it is not stored any more. */
export async function findEntries({ read }: Queryable, id: number): Promise<PresentationEntry[] | undefined> {
  const [row] = await read<{ document: string }>("SELECT document FROM presentation WHERE id = $1", [id]);
  return row && (JSON.parse(row.document) as PresentationEntry[]);
}

/** The brand's current presentation. */
export async function findCurrentPresentation({ sql }: Queryable, brand: string): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`
    SELECT id FROM presentation WHERE brand = ${brand} AND since IS NOT NULL`;
  return row?.id;
}

export interface LastPresentation {
  readonly id: number;
  /** The file it was loaded from, as JSON. */
  readonly feed: string;
  /** The current one, which is an older one after a rollback. */
  readonly current: number;
}

/** The presentation of the brand that was loaded last. */
export async function findLastPresentation({ sql }: Queryable, brand: string): Promise<LastPresentation | undefined> {
  const [last] = await sql<LastPresentation[]>`
    SELECT last.id, last.feed, now.id AS current FROM presentation last
    JOIN presentation now ON now.brand = last.brand AND now.since IS NOT NULL
    WHERE last.brand = ${brand} ORDER BY last.id DESC LIMIT 1`;
  return last;
}

export interface NewPresentation {
  readonly brand: string;
  readonly entries: readonly PresentationEntry[];
  /** The file it was loaded from, as JSON. */
  readonly feed: string;
  /** How many to keep, including this one. */
  readonly kept: number;
}

/**
 * Stores a presentation, and makes it the brand's current one.
 * @param run the run that does so
 * @throws ServiceError as `requireUnderWay` does
 */
export function savePresentation(
  database: Database,
  run: number,
  { brand, entries, feed, kept }: NewPresentation,
): Promise<void> {
  return database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await engine.lockBrand(sql, brand);
    await requireUnderWay(transaction, run);
    const previous = (await findCurrentPresentation(transaction, brand)) ?? null;
    const [row] = await sql<{ id: number }[]>`
      INSERT INTO presentation (brand, loaded_at, previous, entries, feed, document)
      VALUES (${brand}, ${sql.unsafe(engine.now)}, ${previous}, ${entries.length}, ${feed}, ${JSON.stringify(entries)})
      RETURNING id`;
    if (row === undefined) throw new Error("the database created no presentation");
    await makeCurrent(transaction, brand, row.id);
    await removeOld(transaction, brand, kept);
  });
}

/** Another presentation became a brand's current one. */
export interface PresentationChange {
  readonly from: number;
  readonly to: number;
}

/**
 * Makes a stored presentation of the brand current.
 * @param id undefined for the one that was so before the current one
 * @param onlyFrom refuses if another one is current by now
 * @returns undefined if it is not stored
 * @throws ServiceError `conflict`
 */
export function selectPresentation(
  database: Database,
  brand: string,
  id: number | undefined,
  onlyFrom?: number,
): Promise<PresentationChange | undefined> {
  return database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await engine.lockBrand(sql, brand);
    const [now] = await sql<{ id: number; previous: number | null }[]>`
      SELECT id, previous FROM presentation WHERE brand = ${brand} AND since IS NOT NULL`;
    const [found] = await sql<{ id: number; previous: number | null }[]>`
      SELECT id, previous FROM presentation WHERE brand = ${brand} AND id = ${id ?? now?.previous ?? 0}`;
    if (now === undefined || found === undefined) return undefined;
    requireCurrent("presentation", brand, now.id, onlyFrom);
    if (found.id === now.id) return { from: now.id, to: now.id };
    if (id !== undefined) {
      // Out of its place in the chain of previous ones first, so that the chain has no loop.
      await sql`UPDATE presentation SET previous = ${found.previous} WHERE previous = ${found.id}`;
      await sql`UPDATE presentation SET previous = ${now.id} WHERE id = ${found.id}`;
    }
    await cancelImport(transaction, presentationImportName, brand, `the rollback to presentation ${found.id}`);
    await makeCurrent(transaction, brand, found.id);
    return { from: now.id, to: found.id };
  });
}

/** Removes all presentations of a brand. */
export async function removePresentations(transaction: Transaction, brand: string): Promise<number> {
  const { count } = await transaction.sql`DELETE FROM presentation WHERE brand = ${brand}`;
  if (count > 0) await recordChange(transaction, brand);
  return count;
}

async function makeCurrent(transaction: Transaction, brand: string, id: number): Promise<void> {
  const { sql, engine } = transaction;
  await sql`UPDATE presentation SET since = NULL WHERE brand = ${brand} AND since IS NOT NULL`;
  await sql`UPDATE presentation SET since = ${sql.unsafe(engine.now)} WHERE id = ${id}`;
  await recordChange(transaction, brand);
}

/** Readers keep the list of current presentations with that of the current generations. */
async function recordChange(transaction: Transaction, brand: string): Promise<void> {
  await transaction.sql`UPDATE generation_list SET version = ${crypto.randomUUID()}`;
  await recordPersonalizationChange(transaction, [presentationFingerprint(brand)]);
}

async function removeOld({ sql }: Transaction, brand: string, kept: number): Promise<void> {
  await sql`
    WITH RECURSIVE kept (id, previous, place) AS (
      SELECT id, previous, 1 FROM presentation WHERE brand = ${brand} AND since IS NOT NULL
      UNION ALL
      SELECT presentation.id, presentation.previous, place + 1
      FROM kept JOIN presentation ON presentation.id = kept.previous WHERE place < ${kept}
    )
    DELETE FROM presentation WHERE brand = ${brand} AND id NOT IN (SELECT id FROM kept)`;
}
