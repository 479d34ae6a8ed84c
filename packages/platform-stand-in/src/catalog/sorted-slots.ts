/**
 * Slots in sorted order, with insertion and removal: the index for searches by time and for paging.
 */
export class SortedSlots {
  readonly #slots: number[];
  readonly #compare: (a: number, b: number) => number;

  constructor(slots: readonly number[], compare: (a: number, b: number) => number) {
    this.#slots = slots.toSorted(compare);
    this.#compare = compare;
  }

  get slots(): readonly number[] {
    return this.#slots;
  }

  insert(slot: number): void {
    const place = firstIndex(this.#slots, (other) => this.#compare(other, slot) > 0);
    this.#slots.splice(place, 0, slot);
  }

  /** Call this while the slot still compares as it did at its insertion. */
  remove(slot: number): void {
    const place = firstIndex(this.#slots, (other) => this.#compare(other, slot) >= 0);
    if (this.#slots[place] === slot) this.#slots.splice(place, 1);
  }
}

/** Binary search: the first index whose element satisfies `isPast`; the length if there is none. */
export function firstIndex<T>(sorted: readonly T[], isPast: (element: T) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isPast(sorted[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
