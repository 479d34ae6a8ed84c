import { LRUCache } from "lru-cache";
import { chain, type MaybePromise } from "../base/maybe-promise.ts";
import type { Queryable } from "../database/database.ts";
import {
  type Group,
  type PreparedStyle,
  readGroupNumbers,
  readStyleNumbers,
  type SkuParts,
  toGroup,
  toStyle,
} from "./render.ts";
import { listGroupFragments, listStyleFragments } from "./store.ts";

interface Fragment {
  readonly number: number;
  readonly rows: Uint8Array;
}

/** Memory of a fragment besides its bytes: a few objects, a map entry, and short strings. */
const overheadBytes = 500;

/** Keeps recently used fragments. */
export class FragmentCache<Kept extends Fragment> {
  readonly #kept: LRUCache<number, Kept>;

  constructor(maxBytes: number) {
    this.#kept = new LRUCache({
      maxSize: Math.max(Math.floor(maxBytes), 1),
      // A larger fragment would replace most of the others.
      maxEntrySize: Math.max(Math.floor(maxBytes / 2), 1),
      sizeCalculation: ({ rows }) => rows.length + overheadBytes,
    });
  }

  /**
   * @param load loads the missing ones
   * @returns the fragments in the order of the numbers; no promise unless `load` returns one
   */
  get(
    numbers: readonly number[],
    load: (missing: readonly number[]) => MaybePromise<readonly Kept[]>,
  ): MaybePromise<Kept[]> {
    const found: Kept[] = [];
    const missing = new Set<number>();
    for (const number of numbers) {
      const fragment = this.#kept.get(number);
      if (fragment === undefined) missing.add(number);
      else found.push(fragment);
    }
    if (missing.size === 0) return found;
    return chain(load([...missing]), (loaded) => {
      for (const fragment of loaded) this.#kept.set(fragment.number, fragment);
      const byNumber = new Map([...found, ...loaded].map((fragment) => [fragment.number, fragment]));
      return numbers.map((number) => {
        const fragment = byNumber.get(number);
        if (fragment === undefined) throw new Error(`the generation has no fragment ${number}`);
        return fragment;
      });
    });
  }
}

/** The styles and choice groups of a generation, which never change. */
export class GenerationFragments {
  readonly #generation: number;
  readonly #styles: FragmentCache<PreparedStyle>;
  readonly #groups: FragmentCache<Group>;

  constructor(generation: number, maxBytes: number) {
    this.#generation = generation;
    this.#styles = new FragmentCache(maxBytes / 2);
    this.#groups = new FragmentCache(maxBytes / 2);
  }

  /** @returns the styles in the order of the numbers, and their distinct groups */
  find(database: Queryable, styleNumbers: readonly number[]): MaybePromise<Pick<SkuParts, "styles" | "groups">> {
    const foundStyles = this.#styles.get(styleNumbers, async (numbers) =>
      (await listStyleFragments(database, this.#generation, numbers)).map(toStyle),
    );
    return chain(foundStyles, (styles) => {
      const foundGroups = this.#groups.get(readGroupNumbers(styles), async (numbers) =>
        (await listGroupFragments(database, this.#generation, numbers)).map(toGroup),
      );
      return chain(foundGroups, (groups) => ({ styles, groups }));
    });
  }

  /** @param lines packed */
  findParts(database: Queryable, sku: string, lines: Uint8Array): MaybePromise<SkuParts> {
    const finding = this.find(database, readStyleNumbers(lines));
    return chain(finding, ({ styles, groups }) => ({ sku, lines, styles, groups }));
  }
}
