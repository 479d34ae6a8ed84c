import { randomUUID } from "node:crypto";
import { recordPersonalizationChange } from "./change.ts";
import type { Database, Transaction } from "./database.ts";
import { findPreviousGeneration } from "./generation.ts";

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
  await sql`UPDATE generation_list SET version = ${randomUUID()}`;
  // Another generation may have become current since the two were compared.
  await recordPersonalizationChange(transaction, now?.id === from ? fingerprints : undefined);
}

/**
 * Makes the generation current again that was so before the brand's current one.
 * @returns whether there was one
 */
export function rollbackGeneration(database: Database, brand: string, change: GenerationChange): Promise<boolean> {
  return database.inTransaction(async (transaction) => {
    await transaction.engine.lock(transaction.sql, "generations");
    const found = await findPreviousGeneration(transaction, brand);
    if (found === undefined) return false;
    await makeCurrent(transaction, brand, found.previous, change);
    return true;
  });
}
