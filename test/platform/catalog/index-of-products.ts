import { compareIds } from "./ids.ts";
import type { Candidate, ProductSearch } from "./search.ts";
import { firstIndex, SortedSlots } from "./sorted-slots.ts";

export type ProductSortKey = "ID" | "CREATED_AT" | "UPDATED_AT";

/** What sorting and searching ask of the catalog about one slot. */
export interface SlotFacts {
  present(): number[];
  idOf(slot: number): string;
  /** True of ids that grow with their slots, which then need not be compared as text. */
  hasRegularId(slot: number): boolean;
  createdAt(slot: number): number;
  updatedAt(slot: number): number;
  candidate(slot: number): Candidate;
}

/** Sorted at the first search: a platform whose products are only read by id never pays for it. */
export class ProductIndex {
  readonly #facts: SlotFacts;
  #byId: SortedSlots | undefined;
  #byUpdatedAt: SortedSlots | undefined;

  constructor(facts: SlotFacts) {
    this.#facts = facts;
  }

  insert(slot: number): void {
    this.#byId?.insert(slot);
    this.#byUpdatedAt?.insert(slot);
  }

  /** To be called while the slot's times are still those it was inserted with. */
  remove(slot: number): void {
    this.#byId?.remove(slot);
    this.#byUpdatedAt?.remove(slot);
  }

  /** The slots that a search finds, in order. */
  select(search: ProductSearch, sortKey: ProductSortKey): readonly number[] {
    const { from, to } = search.updated;
    const passes = (slot: number) => search.tests.every((test) => test(this.#facts.candidate(slot)));
    const sorted = this.#sorted(sortKey);
    if (sortKey === "UPDATED_AT") {
      const start = firstIndex(sorted, (slot) => this.#facts.updatedAt(slot) >= from);
      const stop = firstIndex(sorted, (slot) => this.#facts.updatedAt(slot) > to);
      const slots = sorted.slice(start, Math.max(start, stop));
      return search.tests.length === 0 ? slots : slots.filter(passes);
    }
    if (search.tests.length === 0 && from === Number.NEGATIVE_INFINITY && to === Number.POSITIVE_INFINITY)
      return sorted;
    return sorted.filter((slot) => {
      const updatedAt = this.#facts.updatedAt(slot);
      return updatedAt >= from && updatedAt <= to && passes(slot);
    });
  }

  sortValue(sortKey: ProductSortKey): (slot: number) => number {
    if (sortKey === "UPDATED_AT") return (slot) => this.#facts.updatedAt(slot);
    if (sortKey === "CREATED_AT") return (slot) => this.#facts.createdAt(slot);
    return () => 0;
  }

  #sorted(sortKey: ProductSortKey): readonly number[] {
    this.#byId ??= new SortedSlots(this.#facts.present(), (a, b) => this.#compareIds(a, b));
    if (sortKey === "ID") return this.#byId.slots;
    if (sortKey === "UPDATED_AT") {
      this.#byUpdatedAt ??= new SortedSlots(this.#byId.slots, this.#comparing("UPDATED_AT"));
      return this.#byUpdatedAt.slots;
    }
    return this.#byId.slots.toSorted(this.#comparing("CREATED_AT"));
  }

  #comparing(sortKey: ProductSortKey): (a: number, b: number) => number {
    const sortValue = this.sortValue(sortKey);
    return (a, b) => sortValue(a) - sortValue(b) || this.#compareIds(a, b);
  }

  #compareIds(a: number, b: number): number {
    if (this.#facts.hasRegularId(a) && this.#facts.hasRegularId(b)) return a - b;
    return compareIds(this.#facts.idOf(a), this.#facts.idOf(b));
  }
}
