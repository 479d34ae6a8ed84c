import { chain, type MaybePromise } from "../base/maybe-promise.ts";

interface Fragment {
  readonly number: number;
  readonly rows: Uint8Array;
}

/** Memory of a fragment besides its bytes: a few objects, an entry of a map, and short strings. */
const overheadBytes = 500;

/**
 * Keeps the fragments of a generation that were used last, by number. To find out which those are,
 * it has two halves: what is used moves to the recent one, and when that is full, it becomes the
 * older one, whose fragments are dropped.
 */
export class FragmentCache<Kept extends Fragment> {
  readonly #maxBytes: number;
  #recent = new Map<number, Kept>();
  #older = new Map<number, Kept>();
  /** Of the recent half. */
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns the fragments in the order of their numbers; undefined if one is not kept */
  find(numbers: readonly number[]): Kept[] | undefined {
    const found: Kept[] = [];
    for (const number of numbers) {
      const fragment = this.#recent.get(number) ?? this.#promote(number);
      if (fragment === undefined) return undefined;
      found.push(fragment);
    }
    return found;
  }

  /**
   * @param load loads those that are not kept
   * @returns the fragments in the order of their numbers; no promise if all are kept, or `load`
   *   needs none
   */
  get(
    numbers: readonly number[],
    load: (missing: readonly number[]) => MaybePromise<readonly Kept[]>,
  ): MaybePromise<Kept[]> {
    return this.find(numbers) ?? this.#load(numbers, load);
  }

  #load(
    numbers: readonly number[],
    load: (missing: readonly number[]) => MaybePromise<readonly Kept[]>,
  ): MaybePromise<Kept[]> {
    const found = new Map<number, Kept>();
    const missing = new Set<number>();
    for (const number of numbers) {
      const fragment = this.#recent.get(number) ?? this.#promote(number);
      if (fragment === undefined) missing.add(number);
      else found.set(number, fragment);
    }
    return chain(load([...missing]), (loaded) => {
      for (const fragment of loaded) {
        this.#keep(fragment);
        found.set(fragment.number, fragment);
      }
      return numbers.map((number) => {
        const fragment = found.get(number);
        if (fragment === undefined) throw new Error(`the generation has no fragment ${number}`);
        return fragment;
      });
    });
  }

  #promote(number: number): Kept | undefined {
    const fragment = this.#older.get(number);
    if (fragment !== undefined) this.#keep(fragment);
    return fragment;
  }

  #keep(fragment: Kept): void {
    // One that fills a half would take the place of all others, with many brands a hundredfold.
    if (fragment.rows.length > this.#maxBytes / 2 || this.#recent.has(fragment.number)) return;
    if (this.#bytes > this.#maxBytes / 2) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#bytes = 0;
    }
    this.#recent.set(fragment.number, fragment);
    this.#bytes += fragment.rows.length + overheadBytes;
  }
}
