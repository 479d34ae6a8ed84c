import { chain, type MaybePromise } from "../base/maybe-promise.ts";

interface Fragment {
  readonly number: number;
  readonly rows: Uint8Array;
}

/** Memory of a fragment besides its bytes: a few objects, a map entry, and short strings. */
const overheadBytes = 500;

/**
 * Keeps recently used fragments, in two halves: a used fragment moves to the recent half. When that
 * half is full, it becomes the older one, whose fragments are dropped.
 */
export class FragmentCache<Kept extends Fragment> {
  readonly #maxBytes: number;
  #recent = new Map<number, Kept>();
  #older = new Map<number, Kept>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns the fragments in the order of the numbers; undefined if any is missing */
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
   * @param load loads the missing ones
   * @returns the fragments in the order of the numbers; no promise unless `load` returns one
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
    // A fragment that fills a half would replace all others.
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
