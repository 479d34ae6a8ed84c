import { ServiceError } from "../base/errors.ts";
import { formatNames } from "../base/format.ts";
import { recordPersonalizationChange } from "../database/change.ts";
import type { Database, Queryable, Transaction } from "../database/database.ts";
import { findChangedFingerprints } from "./changes.ts";
import { presentationFingerprint } from "./fingerprint.ts";
import { personalizationImportName, presentationImportName } from "./options.ts";

/** The SKUs, styles, and choice groups that differ; undefined when unknown. */
export type Fingerprints = readonly number[] | undefined;

/**
 * A kind of delivery. A brand has at most one current version of each, and each version names the
 * one that was current before it.
 */
export interface VersionKind {
  /** Also the table that it is stored in. */
  readonly noun: "generation" | "presentation";
  readonly content: "personalization" | "presentation";
  readonly job: string;
  /** Table expression: `id`, `brand`, `state`, `loaded_at`, `previous`, and `feed` of all versions. */
  readonly versions: string;
  /** Table expression: `brand` and `id` of the current ones. */
  readonly current: string;
  /** The beginning of a statement that removes versions, up to `WHERE`. */
  readonly removal: string;
  readonly setCurrent: (transaction: Transaction, brand: string, id: number) => Promise<void>;
  readonly findDifference: (database: Database, brand: string, from: number, to: number) => Promise<Fingerprints>;
}

export const generations: VersionKind = {
  noun: "generation",
  content: "personalization",
  job: personalizationImportName,
  versions: "generation",
  current: "(SELECT brand, generation AS id FROM current_generation)",
  // Its tables are dropped later.
  removal: "UPDATE generation SET state = 'removed'",
  setCurrent: async ({ sql, engine }, brand, id) => {
    await sql`
      INSERT INTO current_generation (brand, generation, since) VALUES (${brand}, ${id}, ${sql.unsafe(engine.now)})
      ON CONFLICT (brand) DO UPDATE SET generation = excluded.generation, since = excluded.since`;
  },
  findDifference: (database, _brand, from, to) => findChangedFingerprints(database, from, to),
};

export const presentations: VersionKind = {
  noun: "presentation",
  content: "presentation",
  job: presentationImportName,
  versions: "(SELECT id, brand, 'complete' AS state, loaded_at, previous, feed FROM presentation)",
  current: "(SELECT brand, id FROM presentation WHERE since IS NOT NULL)",
  removal: "DELETE FROM presentation",
  setCurrent: async ({ sql, engine }, brand, id) => {
    await sql`UPDATE presentation SET since = NULL WHERE brand = ${brand} AND since IS NOT NULL`;
    await sql`UPDATE presentation SET since = ${sql.unsafe(engine.now)} WHERE id = ${id}`;
  },
  findDifference: async (_database, brand) => [presentationFingerprint(brand)],
};

export async function findCurrent(
  { sql }: Queryable,
  { current }: VersionKind,
  brand: string,
): Promise<number | undefined> {
  const [found] = await sql<{ id: number }[]>`SELECT id FROM ${sql.unsafe(current)} AS now WHERE brand = ${brand}`;
  return found?.id;
}

/** Says that a brand has no current version, and which brands have one: the name may be misspelled. */
export async function describeNoneStored(
  { sql }: Queryable,
  { content, current }: VersionKind,
  brand: string,
): Promise<string> {
  const stored = await sql<{ brand: string }[]>`SELECT brand FROM ${sql.unsafe(current)} AS now ORDER BY brand`;
  const names = formatNames(stored.map((each) => JSON.stringify(each.brand)));
  return `no ${content} of ${JSON.stringify(brand)} is stored; stored brands: ${names || "none"}`;
}

export interface LastVersion {
  readonly id: number;
  /** The files it was loaded from, as JSON. */
  readonly feed: string;
  /** The brand's current version, which is an older one after a rollback. */
  readonly current: number;
  /** The files that the current one was loaded from. */
  readonly currentFeed: string;
}

/** @returns undefined for a brand without a current version */
export async function findLast(
  { sql }: Queryable,
  { versions, current }: VersionKind,
  brand: string,
): Promise<LastVersion | undefined> {
  const [last] = await sql<LastVersion[]>`
    SELECT last.id, last.feed, now.id AS current, now.feed AS "currentFeed" FROM ${sql.unsafe(versions)} AS last
    JOIN ${sql.unsafe(current)} AS current_version ON current_version.brand = last.brand
    JOIN ${sql.unsafe(versions)} AS now ON now.id = current_version.id
    WHERE last.brand = ${brand} AND last.state = 'complete' ORDER BY last.id DESC LIMIT 1`;
  return last;
}

export function unchangedNote(noun: "feed" | "file", source: string, last: LastVersion | undefined): string {
  const wasRolledBack = last !== undefined && last.current !== last.id;
  return wasRolledBack
    ? `${source}: skipped: the ${noun} has not changed since its import was rolled back; use --force to import it again`
    : `${source}: skipped: the ${noun} has not changed since the last import`;
}

export interface CurrentChange {
  readonly from: number;
  /** Equals `from` if it was current already. */
  readonly to: number;
}

/**
 * @param to undefined for the one that was current before the current one
 * @returns undefined if it is not stored
 */
export async function findChange(
  { sql }: Queryable,
  { versions, current }: VersionKind,
  brand: string,
  to?: number,
): Promise<CurrentChange | undefined> {
  const [change] = await sql<CurrentChange[]>`
    SELECT now.id AS "from", target.id AS "to" FROM ${sql.unsafe(current)} AS current_version
    JOIN ${sql.unsafe(versions)} AS now ON now.id = current_version.id
    JOIN ${sql.unsafe(versions)} AS target ON target.id = ${to ?? sql`now.previous`}
      AND target.brand = now.brand AND target.state = 'complete'
    WHERE current_version.brand = ${brand}`;
  return change;
}

/** @param compared the version that it was compared with, and how the two differ */
export async function makeCurrent(
  transaction: Transaction,
  kind: VersionKind,
  brand: string,
  id: number,
  compared: { readonly from: number | undefined; readonly fingerprints: Fingerprints },
): Promise<void> {
  const before = await findCurrent(transaction, kind, brand);
  await kind.setCurrent(transaction, brand, id);
  // Another version may have become current since the two were compared.
  await recordChange(transaction, before === compared.from ? compared.fingerprints : undefined);
}

/** Readers keep one list of the current versions of both kinds. */
async function recordChange(transaction: Transaction, fingerprints: Fingerprints): Promise<void> {
  await transaction.sql`UPDATE generation_list SET version = ${crypto.randomUUID()}`;
  await recordPersonalizationChange(transaction, fingerprints);
}

/** @throws ServiceError `conflict` if the change was decided when another version was current */
export function requireCurrent(kind: VersionKind, brand: string, current: number, expected = current): void {
  if (current !== expected) throw alreadyReplaced(kind, brand, current);
}

export const alreadyReplaced = ({ noun }: VersionKind, brand: string, current: number) =>
  new ServiceError("conflict", `Since then, ${noun} ${current} of ${brand} has become the current one.`);

/** Keeps a brand's current version and the `kept - 1` before it, and removes the others. */
export async function removeOldVersions(
  { sql }: Transaction,
  { versions, current, removal }: VersionKind,
  brand: string,
  kept: number,
): Promise<void> {
  await sql`
    WITH RECURSIVE kept (id, place) AS (
      SELECT id, 1 FROM ${sql.unsafe(current)} AS now WHERE brand = ${brand}
      UNION ALL
      SELECT previous, place + 1 FROM kept JOIN ${sql.unsafe(versions)} AS version ON version.id = kept.id
      WHERE previous IS NOT NULL AND place < ${kept}
    )
    ${sql.unsafe(removal)} WHERE brand = ${brand} AND id NOT IN (SELECT id FROM kept)
      AND id IN (SELECT id FROM ${sql.unsafe(versions)} AS version WHERE brand = ${brand} AND state = 'complete')`;
}

/** Removes all complete versions of a brand, which must have no reference as the current one. */
export async function removeAllVersions(
  transaction: Transaction,
  { versions, removal }: VersionKind,
  brand: string,
): Promise<number> {
  const { sql } = transaction;
  const { count } = await sql`
    ${sql.unsafe(removal)} WHERE brand = ${brand}
      AND id IN (SELECT id FROM ${sql.unsafe(versions)} AS version WHERE brand = ${brand} AND state = 'complete')`;
  if (count > 0) await recordChange(transaction, undefined);
  return count;
}
