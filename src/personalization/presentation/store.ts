import type { Database, Queryable } from "../../database/database.ts";
import { requireUnderWay } from "../../jobs/claim.ts";
import { presentationFingerprint } from "../fingerprint.ts";
import { findCurrent, makeCurrent, presentations, removeOldVersions } from "../versions.ts";
import type { PresentationEntry } from "./entry.ts";

export interface StoredPresentation {
  readonly id: number;
  readonly loadedAt: string;
  readonly isCurrent: boolean;
  readonly entries: number;
  /** The previously current one, which may no longer be stored. */
  readonly previous: number | null;
}

/** Newest first. */
export async function listPresentations({ sql }: Queryable, brand: string): Promise<StoredPresentation[]> {
  const rows = await sql<(Omit<StoredPresentation, "isCurrent"> & { since: string | null })[]>`
    SELECT id, loaded_at AS "loadedAt", since, entries, previous FROM presentation WHERE brand = ${brand} ORDER BY id DESC`;
  return rows.map(({ since, ...row }) => ({ ...row, isCurrent: since !== null }));
}

/** Undefined if the presentation is no longer stored. */
export async function findEntries({ read }: Queryable, id: number): Promise<PresentationEntry[] | undefined> {
  const [row] = await read<{ document: string }>("SELECT document FROM presentation WHERE id = $1", [id]);
  return row && (JSON.parse(row.document) as PresentationEntry[]);
}

export async function findCurrentEntries(database: Queryable, brand: string): Promise<PresentationEntry[] | undefined> {
  const id = await findCurrent(database, presentations, brand);
  return id === undefined ? undefined : await findEntries(database, id);
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
 * Makes the new presentation the brand's current one.
 * @throws ServiceError as `requireUnderWay` does
 */
export function savePresentation(
  database: Database,
  run: number,
  { brand, entries, feed, kept }: NewPresentation,
): Promise<void> {
  return database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await transaction.lock({ brand });
    await requireUnderWay(transaction, run);
    const from = await findCurrent(transaction, presentations, brand);
    const [row] = await sql<{ id: number }[]>`
      INSERT INTO presentation (brand, loaded_at, previous, entries, feed, document)
      VALUES (${brand}, ${sql.unsafe(engine.now)}, ${from ?? null}, ${entries.length}, ${feed}, ${JSON.stringify(entries)})
      RETURNING id`;
    if (row === undefined) throw new Error("the database created no presentation");
    await makeCurrent(transaction, presentations, brand, row.id, {
      from,
      fingerprints: [presentationFingerprint(brand)],
    });
    await removeOldVersions(transaction, presentations, brand, kept);
  });
}
