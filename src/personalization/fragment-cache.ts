import { LRUCache } from "lru-cache";
import { chain, type MaybePromise } from "../base/maybe-promise.ts";

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
