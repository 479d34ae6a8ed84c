import { LRUCache } from "lru-cache";
import type { Database } from "../database/database.ts";
import { decodeText } from "./bytes.ts";
import { compareGenerations, type EntryKind } from "./difference.ts";

export interface DifferingNames {
  readonly count: number;
  /** In order. */
  readonly first: readonly string[];
}

export type NamesDifference = Readonly<Record<"added" | "changed" | "removed", DifferingNames>>;
export type GenerationDifference = Readonly<Record<EntryKind, NamesDifference>>;

/** Per kind of change. */
const maxListedNames = 20;
/** Generations never change, so comparisons can be cached. */
const maxCachedComparisons = 8;

/** Compares one pair of generations at a time, in small steps that keep the process responsive. */
export class GenerationComparer {
  readonly #database: Database;
  readonly #cache = new LRUCache<string, Promise<GenerationDifference>>({ max: maxCachedComparisons });
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  find(from: number, to: number): Promise<GenerationDifference> {
    const key = `${from} ${to}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const comparison = this.#last.then(() => this.#compare(from, to));
    this.#last = comparison.catch(() => {});
    this.#cache.set(key, comparison);
    comparison.catch(() => this.#cache.delete(key));
    return comparison;
  }

  async #compare(from: number, to: number): Promise<GenerationDifference> {
    return {
      skus: await compareNames(this.#database, "skus", from, to),
      styles: await compareNames(this.#database, "styles", from, to),
      groups: await compareNames(this.#database, "groups", from, to),
    };
  }
}

async function compareNames(database: Database, kind: EntryKind, from: number, to: number): Promise<NamesDifference> {
  const [added, changed, removed] = [new FirstNames(), new FirstNames(), new FirstNames()];
  await compareGenerations(database, kind, from, to, { added: added.add, changed: changed.add, removed: removed.add });
  return { added, changed, removed };
}

/** Counts names, which arrive in order, and keeps the first. */
class FirstNames implements DifferingNames {
  count = 0;
  readonly first: string[] = [];

  readonly add = (key: Uint8Array): void => {
    if (this.count++ < maxListedNames) this.first.push(decodeText(key));
  };
}
