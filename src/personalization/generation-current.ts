import { ServiceError } from "../base/errors.ts";
import { recordPersonalizationChange } from "../database/change.ts";
import type { Database, Transaction } from "../database/database.ts";
import { cancelImport } from "../jobs/run-cancellation.ts";
import { findPreviousGeneration } from "./generation.ts";
import { personalizationImportName } from "./options.ts";

/** The changes to served data when a generation becomes current. */
export interface GenerationChange {
  /** The generation that was current; undefined when there was none. */
  readonly from: number | undefined;
  /** Fingerprints of the SKUs, styles, and choice groups that differ; undefined when unknown. */
  readonly fingerprints: readonly number[] | undefined;
}

export async function makeCurrent(
  transaction: Transaction,
  brand: string,
  generation: number,
  { from, fingerprints }: GenerationChange,
): Promise<void> {
  const { sql, engine } = transaction;
  const [now] = await sql<{ id: number }[]>`SELECT generation AS id FROM current_generation WHERE brand = ${brand}`;
  await sql`
    INSERT INTO current_generation (brand, generation, since) VALUES (${brand}, ${generation}, ${sql.unsafe(engine.now)})
    ON CONFLICT (brand) DO UPDATE SET generation = excluded.generation, since = excluded.since`;
  await sql`UPDATE generation_list SET version = ${crypto.randomUUID()}`;
  // Another generation may have become current since the two were compared.
  await recordPersonalizationChange(transaction, now?.id === from ? fingerprints : undefined);
}

/** Leaves a brand without a current generation. */
export async function removeCurrent(transaction: Transaction, brand: string, onlyFrom?: number): Promise<void> {
  const { sql } = transaction;
  const [removed] = await sql<{ current: number }[]>`
    DELETE FROM current_generation WHERE brand = ${brand} RETURNING generation AS current`;
  if (removed === undefined) return;
  requireCurrent("generation", brand, removed.current, onlyFrom);
  await sql`UPDATE generation_list SET version = ${crypto.randomUUID()}`;
  await recordPersonalizationChange(transaction, undefined);
}

/** Another generation became a brand's current one. */
export interface CurrentChange {
  /** The generation that was current. */
  readonly from: number;
  /** The one that is current now; the same if it was current already. */
  readonly to: number;
}

/** The generations that were compared, and the fingerprints of what differs. */
export type ComparedChange = CurrentChange & Pick<GenerationChange, "fingerprints">;

/**
 * Makes the generation current again that was so before the brand's current one. Its own previous one
 * stays, so that the next rollback goes further back.
 * @param onlyFrom refuses if another one is current by now
 * @returns undefined if there is none
 * @throws ServiceError `conflict`
 */
export function rollbackGeneration(
  database: Database,
  brand: string,
  compared: ComparedChange,
  onlyFrom?: number,
): Promise<CurrentChange | undefined> {
  return database.inTransaction(async (transaction) => {
    await transaction.engine.lockBrand(transaction.sql, brand);
    const found = await findPreviousGeneration(transaction, brand);
    if (found === undefined) return undefined;
    requireCurrent("generation", brand, found.current, onlyFrom);
    const change = { from: found.current, to: found.previous };
    await apply(transaction, brand, change, compared);
    return change;
  });
}

/**
 * Makes a complete generation of the brand current. The one that was current becomes its previous
 * one.
 * @param onlyFrom refuses if another one is current by now
 * @returns undefined if the brand has no such generation
 * @throws ServiceError `conflict`
 */
export function selectGeneration(
  database: Database,
  brand: string,
  compared: ComparedChange,
  onlyFrom?: number,
): Promise<CurrentChange | undefined> {
  return database.inTransaction(async (transaction) => {
    const { sql, engine } = transaction;
    await engine.lockBrand(sql, brand);
    const { to } = compared;
    const [found] = await sql<{ current: number; previous: number | null }[]>`
      SELECT current_generation.generation AS current, previous FROM generation
      JOIN current_generation ON current_generation.brand = generation.brand
      WHERE generation.id = ${to} AND generation.brand = ${brand} AND state = 'complete'`;
    if (found === undefined) return undefined;
    requireCurrent("generation", brand, found.current, onlyFrom);
    const change = { from: found.current, to };
    if (change.from === to) return change;
    // Taken out of its place in the chain of previous generations first, so that the chain has no
    // loop, and rollbacks one after the other reach each generation once.
    await sql`UPDATE generation SET previous = ${found.previous} WHERE previous = ${to}`;
    await sql`UPDATE generation SET previous = ${found.current} WHERE id = ${to}`;
    await apply(transaction, brand, change, compared);
    return change;
  });
}

/**
 * Refuses a change that somebody decided when another version was current.
 * @param noun such as "generation"
 * @throws ServiceError `conflict`
 */
export function requireCurrent(noun: string, brand: string, current: number, expected = current): void {
  if (current === expected) return;
  throw new ServiceError("conflict", `The ${noun} ${current} of ${brand} is current by now.`);
}

/** Others may have made another generation current since two were compared. */
async function apply(
  transaction: Transaction,
  brand: string,
  { from, to }: CurrentChange,
  compared: ComparedChange,
): Promise<void> {
  const isCompared = compared.from === from && compared.to === to;
  await cancelImport(transaction, personalizationImportName, brand, `the rollback to generation ${to}`);
  await makeCurrent(transaction, brand, to, { from, fingerprints: isCompared ? compared.fingerprints : undefined });
}
