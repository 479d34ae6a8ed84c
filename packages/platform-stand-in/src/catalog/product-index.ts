import { compareIds } from "./ids.ts";
import type { Candidate, ProductSearch } from "./search.ts";
import { firstIndex, SortedSlots } from "./sorted-slots.ts";

export type ProductSortKey = "ID" | "UPDATED_AT";

/** Catalog data that sorting and searching need. */
export interface SlotLookup {
  present(): number[];
  idOf(slot: number): string;
  /** True for ids in the order of their slots, which need not be compared as text. */
  hasRegularId(slot: number): boolean;
  updatedAt(slot: number): number;
  candidate(slot: number): Candidate;
}

/** Sorted at the first search, so that reading products by id needs no sorting. */
export class ProductIndex {
  readonly #lookup: SlotLookup;
  #byId: SortedSlots | undefined;
  #byUpdatedAt: SortedSlots | undefined;

  constructor(lookup: SlotLookup) {
    this.#lookup = lookup;
  }

  insert(slot: number): void {
    this.#byId?.insert(slot);
    this.#byUpdatedAt?.insert(slot);
  }

  /** Call this while the slot still has the times of its insertion. */
  remove(slot: number): void {
    this.#byId?.remove(slot);
    this.#byUpdatedAt?.remove(slot);
  }

  /** Slots that match a search, in order. */
  select(search: ProductSearch, sortKey: ProductSortKey): readonly number[] {
    const { from, to } = search.updated;
    const passes = (slot: number) => search.tests.every((test) => test(this.#lookup.candidate(slot)));
    const sorted = this.#sorted(sortKey);
    if (sortKey === "UPDATED_AT") {
      const start = firstIndex(sorted, (slot) => this.#lookup.updatedAt(slot) >= from);
      const stop = firstIndex(sorted, (slot) => this.#lookup.updatedAt(slot) > to);
      const slots = sorted.slice(start, Math.max(start, stop));
      return search.tests.length === 0 ? slots : slots.filter(passes);
    }
    if (search.tests.length === 0 && from === Number.NEGATIVE_INFINITY && to === Number.POSITIVE_INFINITY)
      return sorted;
    return sorted.filter((slot) => {
      const updatedAt = this.#lookup.updatedAt(slot);
      return updatedAt >= from && updatedAt <= to && passes(slot);
    });
  }

  sortValue(sortKey: ProductSortKey): (slot: number) => number {
    return sortKey === "UPDATED_AT" ? (slot) => this.#lookup.updatedAt(slot) : () => 0;
  }

  #sorted(sortKey: ProductSortKey): readonly number[] {
    this.#byId ??= new SortedSlots(this.#lookup.present(), (a, b) => this.#compareIds(a, b));
    if (sortKey === "ID") return this.#byId.slots;
    const updatedAt = this.sortValue("UPDATED_AT");
    this.#byUpdatedAt ??= new SortedSlots(
      this.#byId.slots,
      (a, b) => updatedAt(a) - updatedAt(b) || this.#compareIds(a, b),
    );
    return this.#byUpdatedAt.slots;
  }

  #compareIds(a: number, b: number): number {
    if (this.#lookup.hasRegularId(a) && this.#lookup.hasRegularId(b)) return a - b;
    return compareIds(this.#lookup.idOf(a), this.#lookup.idOf(b));
  }
}
