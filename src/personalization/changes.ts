import type { Database } from "../database/database.ts";
import { decodeText } from "./bytes.ts";
import { compareGenerations, type DifferenceVisitor } from "./difference.ts";
import { fingerprintOf } from "./fingerprint.ts";

/** With more changes than this, caches are cleared as a whole. */
const maxFingerprints = 100_000;

export class ChangedFingerprints implements DifferenceVisitor {
  readonly #found: number[] = [];

  /** Undefined if there are too many. */
  get found(): readonly number[] | undefined {
    return this.#found.length > maxFingerprints ? undefined : this.#found;
  }

  readonly added = (key: Uint8Array): void => {
    if (this.#found.length <= maxFingerprints) this.#found.push(fingerprintOf(decodeText(key)));
  };
  readonly changed = this.added;
  readonly removed = this.added;
}

/** @returns the fingerprints that differ; undefined if there are too many */
export async function findChangedFingerprints(
  database: Database,
  from: number,
  to: number,
): Promise<readonly number[] | undefined> {
  const changes = new ChangedFingerprints();
  for (const kind of ["skus", "styles", "groups"] as const) await compareGenerations(database, kind, from, to, changes);
  return changes.found;
}
