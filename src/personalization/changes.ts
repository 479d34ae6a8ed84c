import type { Database } from "../database/database.ts";
import { listDifferingNames, readDigest } from "../database/generation.ts";
import { fingerprintOf, rowOrder } from "../model/fingerprint.ts";
import { findDiffering, readTable } from "./fingerprints.ts";

/** With more changes than this, caches are cleared as a whole. */
const maxFingerprints = 100_000;

type FindSkus = (max: number) => Promise<number[] | undefined>;

/**
 * Finds the fingerprints of the SKUs, styles, and choice groups that differ between two
 * generations.
 * @param findSkus finds those of the SKUs; by default the stored digests are compared
 * @returns undefined if there are too many, or if a generation has no digest
 */
export async function findChangedFingerprints(
  database: Database,
  from: number | undefined,
  to: number,
  findSkus: FindSkus = () => compareDigests(database, from ?? to, to),
): Promise<number[] | undefined> {
  if (from === undefined) return undefined;
  const changed = await findSkus(maxFingerprints);
  if (changed === undefined) return undefined;
  changed.push(rowOrder);
  for (const list of ["pzstyles", "pzchoices"] as const) {
    const names = await listDifferingNames(database, list, from, to, maxFingerprints);
    for (const name of names) changed.push(fingerprintOf(name));
  }
  return changed.length > maxFingerprints ? undefined : changed;
}

async function compareDigests(database: Database, from: number, to: number): Promise<number[] | undefined> {
  const table = await readTable(readDigest(database, from, "pzlines"));
  const digest = await Array.fromAsync(readDigest(database, to, "pzlines"));
  return table.size === 0 || digest.length === 0 ? undefined : await findDiffering(table, digest, maxFingerprints);
}
