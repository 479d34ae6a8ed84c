import type { Database } from "../database/database.ts";
import { findPreviousGeneration } from "../database/generation.ts";
import { rollbackGeneration } from "../database/generation-current.ts";
import { findChanged } from "./changes.ts";

/** Makes a brand's personalization what it was before the last import. @returns whether there was something to go back to */
export async function rollbackPersonalization(database: Database, brand: string): Promise<boolean> {
  const found = await findPreviousGeneration(database, brand);
  if (found === undefined) return false;
  const { current, previous } = found;
  const fingerprints = await findChanged(database, current, previous);
  return await rollbackGeneration(database, brand, { from: current, fingerprints });
}
