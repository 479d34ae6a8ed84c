import type { Database } from "../database/database.ts";
import { listDifferingNames, readDigest } from "../database/generation.ts";
import { fingerprintOf, rowOrder } from "../model/fingerprint.ts";
import { findDiffering, toTable } from "./fingerprints.ts";

/** Of more SKUs, styles and choice groups than these it is not told which: whoever keeps answers drops them all. */
const most = 100_000;

type SkusOf = (most: number) => Promise<number[] | undefined>;

/**
 * The fingerprints of the SKUs, styles and choice groups that two generations do not have alike.
 * @param skus those of the SKUs, when they are known; otherwise the stored digests are compared
 * @returns undefined when there are too many, or a generation cannot be compared
 */
export async function findChanged(
  database: Database,
  from: number | undefined,
  to: number,
  skus: SkusOf = () => compareDigests(database, from ?? to, to),
): Promise<number[] | undefined> {
  if (from === undefined) return undefined;
  const changed = await skus(most);
  if (changed === undefined) return undefined;
  changed.push(rowOrder);
  for (const list of ["pzstyles", "pzchoices"] as const) {
    for (const name of await listDifferingNames(database, list, from, to, most)) changed.push(fingerprintOf(name));
  }
  return changed.length > most ? undefined : changed;
}

async function compareDigests(database: Database, from: number, to: number): Promise<number[] | undefined> {
  const table = await toTable(readDigest(database, from, "pzlines"));
  const digest = await Array.fromAsync(readDigest(database, to, "pzlines"));
  // A generation that was loaded before digests were kept has none.
  return table.size === 0 || digest.length === 0 ? undefined : await findDiffering(table, digest, most);
}
