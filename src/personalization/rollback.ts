import type { Database } from "../database/database.ts";
import { findPreviousGeneration } from "../database/generation.ts";
import { rollbackGeneration } from "../database/generation-current.ts";
import { findChangedFingerprints } from "./changes.ts";

/** Makes a brand's previous generation current again. @returns false if it has none */
export async function rollbackPersonalization(database: Database, brand: string): Promise<boolean> {
  const generations = await findPreviousGeneration(database, brand);
  if (generations === undefined) return false;
  const { current, previous } = generations;
  const fingerprints = await findChangedFingerprints(database, current, previous);
  return await rollbackGeneration(database, brand, { from: current, fingerprints });
}
