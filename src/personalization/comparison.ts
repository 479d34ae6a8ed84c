import type { Database } from "../database/database.ts";
import { listDifferingNames, listPresentNames, listSkusAfter, readDigest } from "../database/generation.ts";
import { Hash } from "../model/fingerprint.ts";
import type { DifferingNames, GenerationDifference, NamesDifference } from "../model/personalization.ts";
import { forEachEntry, HashTable } from "./fingerprints.ts";

/** Names of each kind that are told, and that are counted where each has to be asked for. */
const toldNames = 20;
const countedNames = 2000;
/** SKUs of one step of a walk over all of them. */
const skusPerStep = 1000;
/** Comparisons that are kept: generations never change. */
const keptComparisons = 8;

/** Compares generations, one pair after the other, in steps that leave room for whatever else the process has to do. */
export class GenerationComparer {
  readonly #database: Database;
  readonly #made = new Map<string, Promise<GenerationDifference>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  /** What is different in generation `to` from what it was in `from`. */
  find(from: number, to: number): Promise<GenerationDifference> {
    const key = `${from} ${to}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const making = this.#last.then(() => compareGenerations(this.#database, from, to));
    this.#last = making.catch(() => {});
    this.#made.set(key, making);
    making.catch(() => this.#made.delete(key));
    for (const oldest of this.#made.keys()) {
      if (this.#made.size <= keptComparisons) break;
      this.#made.delete(oldest);
    }
    return making;
  }
}

async function compareGenerations(database: Database, from: number, to: number): Promise<GenerationDifference> {
  return {
    skus: await compareSkus(database, from, to),
    styles: await compareNames(database, "pzstyles", from, to),
    groups: await compareNames(database, "pzchoices", from, to),
  };
}

async function compareNames(
  database: Database,
  list: "pzstyles" | "pzchoices",
  from: number,
  to: number,
): Promise<NamesDifference> {
  const found = await listDifferingNames(database, list, from, to, countedNames);
  const isMore = found.length > countedNames;
  const names = found.slice(0, countedNames).sort();
  const before = await listPresentNames(database, list, from, names);
  const after = await listPresentNames(database, list, to, names);
  const toldOf = (isOne: (name: string) => boolean): DifferingNames => {
    const some = names.filter(isOne);
    return { count: some.length, isMore, first: some.slice(0, toldNames) };
  };
  return {
    added: toldOf((name) => !before.has(name)),
    changed: toldOf((name) => before.has(name) && after.has(name)),
    removed: toldOf((name) => !after.has(name)),
  };
}

/** Lets whatever waits have its turn. */
const pause = () => Bun.sleep(0);

async function compareSkus(database: Database, from: number, to: number): Promise<NamesDifference | undefined> {
  const before = await readTable(database, from);
  const after = await readTable(database, to);
  if (before.size === 0 || after.size === 0) return undefined;
  const added: Tally = { count: 0, first: [] };
  const changed: Tally = { count: 0, first: [] };
  let same = 0;
  for await (const part of readDigest(database, to, "pzlines")) {
    forEachEntry(part, (high, low, value) => {
      const place = before.find(high, low);
      if (place < 0) added.count++;
      else if (before.get(place, 0) === value) same++;
      else changed.count++;
    });
    await pause();
  }
  const removed: Tally = { count: before.size - same - changed.count, first: [] };
  // Fingerprints have no names: these come from a walk over the SKUs, as far as it takes.
  await nameSkus(database, to, [added, changed], (high, low) => {
    const place = before.find(high, low);
    if (place < 0) return added;
    return before.get(place, 0) === after.get(after.find(high, low), 0) ? undefined : changed;
  });
  await nameSkus(database, from, [removed], (high, low) => (after.find(high, low) < 0 ? removed : undefined));
  const toldOf = ({ count, first }: Tally): DifferingNames => ({ count, isMore: false, first });
  return { added: toldOf(added), changed: toldOf(changed), removed: toldOf(removed) };
}

/** How many there are, and the names of the first that were come upon. */
interface Tally {
  count: number;
  readonly first: string[];
}

const isToldOut = ({ count, first }: Tally) => first.length >= Math.min(count, toldNames);

/** The digest of a generation's SKUs as a table; empty when it has none. */
async function readTable(database: Database, generation: number): Promise<HashTable> {
  const parts = await Array.fromAsync(readDigest(database, generation, "pzlines"));
  const entryBytes = 3 * Int32Array.BYTES_PER_ELEMENT;
  const table = new HashTable(1, parts.reduce((bytes, part) => bytes + part.length, 0) / entryBytes);
  for (const part of parts) {
    forEachEntry(part, (high, low, value) => {
      const place = table.add(high, low);
      table.set(place < 0 ? ~place : place, 0, value);
    });
    await pause();
  }
  return table;
}

async function nameSkus(
  database: Database,
  generation: number,
  tallies: readonly Tally[],
  tallyOf: (high: number, low: number) => Tally | undefined,
): Promise<void> {
  const hash = new Hash();
  for (let after = ""; !tallies.every(isToldOut); await pause()) {
    const skus = await listSkusAfter(database, generation, after, skusPerStep);
    if (skus.length === 0) return;
    for (const sku of skus) {
      const { high, low } = hash.reset().add(sku).take();
      const tally = tallyOf(high, low);
      if (tally !== undefined && tally.first.length < toldNames) tally.first.push(sku);
    }
    after = skus.at(-1) ?? "";
  }
}
