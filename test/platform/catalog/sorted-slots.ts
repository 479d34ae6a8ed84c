/** Slots kept in order while single ones come, go and move: the index behind a search by time, and behind paging. */
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

  /** To be called while the slot still compares as it did when it was inserted. */
  remove(slot: number): void {
    const place = firstIndex(this.#slots, (other) => this.#compare(other, slot) >= 0);
    if (this.#slots[place] === slot) this.#slots.splice(place, 1);
  }
}

/** The first index whose element is past the wanted point; the length if none is. */
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
