import type { Database } from "../database/database.ts";
import { listDifferingNames, listPresentNames, listSkusAfter, readDigest } from "../database/generation.ts";
import { Hash } from "../model/fingerprint.ts";
import type { DifferingNames, GenerationDifference, NamesDifference } from "../model/personalization.ts";
import { forEachEntry, readTable, yieldToOthers } from "./fingerprints.ts";

/** Names that a comparison lists of each kind of change. */
const maxListedNames = 20;
/** Differing styles or choice groups that are counted, each of which needs a look-up. */
const maxCountedNames = 2000;
const skusPerQuery = 1000;
/** Generations never change, so comparisons can be cached. */
const maxCachedComparisons = 8;

/** Compares generations, one pair at a time, in small steps that keep the process responsive. */
export class GenerationComparer {
  readonly #database: Database;
  readonly #cache = new Map<string, Promise<GenerationDifference>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  /** The difference from generation `from` to generation `to`. */
  find(from: number, to: number): Promise<GenerationDifference> {
    const key = `${from} ${to}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const comparison = this.#last.then(() => compareGenerations(this.#database, from, to));
    this.#last = comparison.catch(() => {});
    this.#cache.set(key, comparison);
    comparison.catch(() => this.#cache.delete(key));
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= maxCachedComparisons) break;
      this.#cache.delete(oldest);
    }
    return comparison;
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
  const differing = await listDifferingNames(database, list, from, to, maxCountedNames);
  const isMore = differing.length > maxCountedNames;
  const names = differing.slice(0, maxCountedNames).sort();
  const before = await listPresentNames(database, list, from, names);
  const after = await listPresentNames(database, list, to, names);
  const filter = (matches: (name: string) => boolean): DifferingNames => {
    const matching = names.filter(matches);
    return { count: matching.length, isMore, first: matching.slice(0, maxListedNames) };
  };
  return {
    added: filter((name) => !before.has(name)),
    changed: filter((name) => before.has(name) && after.has(name)),
    removed: filter((name) => !after.has(name)),
  };
}

async function compareSkus(database: Database, from: number, to: number): Promise<NamesDifference | undefined> {
  const before = await readTable(readDigest(database, from, "pzlines"));
  const after = await readTable(readDigest(database, to, "pzlines"));
  if (before.size === 0 || after.size === 0) return undefined;
  const added: Tally = { count: 0, isMore: false, first: [] };
  const changed: Tally = { count: 0, isMore: false, first: [] };
  let same = 0;
  for await (const part of readDigest(database, to, "pzlines")) {
    forEachEntry(part, (high, low, value) => {
      const offset = before.find(high, low);
      if (offset < 0) added.count++;
      else if (before.get(offset, 0) === value) same++;
      else changed.count++;
    });
    await yieldToOthers();
  }
  const removed: Tally = { count: before.size - same - changed.count, isMore: false, first: [] };
  // Digests contain no names, so the first names are found by scanning the SKUs.
  await listFirstSkus(database, to, [added, changed], (high, low) => {
    const offset = before.find(high, low);
    if (offset < 0) return added;
    return before.get(offset, 0) === after.get(after.find(high, low), 0) ? undefined : changed;
  });
  await listFirstSkus(database, from, [removed], (high, low) => (after.find(high, low) < 0 ? removed : undefined));
  return { added, changed, removed };
}

/** A result under construction. */
interface Tally extends DifferingNames {
  count: number;
  readonly first: string[];
}

const hasAllNames = ({ count, first }: Tally) => first.length >= Math.min(count, maxListedNames);

/** Scans a generation's SKUs until each tally has its first names. */
async function listFirstSkus(
  database: Database,
  generation: number,
  tallies: readonly Tally[],
  tallyOf: (high: number, low: number) => Tally | undefined,
): Promise<void> {
  const hash = new Hash();
  for (let after = ""; !tallies.every(hasAllNames); await yieldToOthers()) {
    const skus = await listSkusAfter(database, generation, after, skusPerQuery);
    if (skus.length === 0) return;
    for (const sku of skus) {
      const { high, low } = hash.reset().add(sku).take();
      const tally = tallyOf(high, low);
      if (tally !== undefined && tally.first.length < maxListedNames) tally.first.push(sku);
    }
    after = skus.at(-1) ?? "";
  }
}
