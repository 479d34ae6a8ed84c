import type { OrderedList } from "../paging.ts";
import { mergeChanges, type ProductChanges, type ProductEdit } from "./changes.ts";
import { Deletions } from "./deletions.ts";
import { ProductHistory, type ProductState } from "./history.ts";
import { compareIds, positionUnderHugeId, regularProductId, slotOfProductId, slotOfVariantId } from "./ids.ts";
import { ProductIndex, type ProductSortKey } from "./product-index.ts";
import { createProduct, statusOf } from "./products.ts";
import { hashPair } from "./random.ts";
import { createSource, type Extra, type Recipe, timesOfSlot } from "./recipe.ts";
import type { ProductRecord, VariantRecord } from "./records.ts";
import { type ProductSearch, parseSearch } from "./search.ts";
import { firstIndex } from "./sorted-slots.ts";
import { type SpecialName, specials } from "./specials.ts";
import { toTimestamp } from "./times.ts";

export interface CatalogOptions extends Recipe {
  /** Number of ordinary products; special ones are added to them. */
  readonly count: number;
  readonly specials: readonly SpecialName[];
  /** Whether edits of one product within a second have the same `updatedAt`, as on the platform. */
  readonly sharesSeconds: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called after each change. */
  readonly onChange?: (change: "create" | "update" | "delete", id: string, updatedAt: string) => void;
}

export interface TouchOptions {
  /**
   * True for an edit that does not change `updatedAt` on the platform, such as of a variant's
   * metafield.
   */
  readonly keepUpdatedAt?: boolean;
  /**
   * Seconds since 1970. Default: now, but at least a second after the product's last edit, unless
   * the catalog shares seconds.
   */
  readonly at?: number;
  /**
   * Applies the changes of variants, images, and metafields so many milliseconds later, without
   * another `updatedAt`: the platform updates a product first and its children later.
   */
  readonly childrenAfterMs?: number;
}

/** The products at one instant, unaffected by later edits. Bulk runs read it. */
export interface CatalogSnapshot {
  readonly length: number;
  at(index: number): ProductRecord;
}

/** A catalog of any size. It stores only edits and generates each product whenever it is read. */
export class Catalog {
  readonly #options: CatalogOptions;
  readonly #extras = new Map<number, Extra>();
  readonly #slotsOfChosenIds = new Map<string, number>();
  readonly #slotsOfSpecials = new Map<SpecialName, number>();
  readonly #edits = new Map<number, ProductEdit>();
  readonly #removed = new Set<number>();
  readonly #history = new ProductHistory();
  readonly deletions = new Deletions();
  readonly #firstUpdatedAt: number[] = [];
  /** Without edits; made at the first search. Products that are added later have an edit. */
  #slotsByFirstHandle: Map<string, number[]> | undefined;
  readonly #index: ProductIndex;
  #slots: number;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#slots = options.count;
    for (const name of options.specials) this.#slotsOfSpecials.set(name, this.#append(specials[name]));
    this.#index = this.#createIndex(
      (slot) => !this.#removed.has(slot),
      (slot) => this.#edits.get(slot),
    );
  }

  #createIndex(isPresent: (slot: number) => boolean, editOf: (slot: number) => ProductEdit | undefined): ProductIndex {
    return new ProductIndex({
      present: () => Array.from({ length: this.#slots }, (_, slot) => slot).filter(isPresent),
      idOf: (slot) => this.idAt(slot),
      hasRegularId: (slot) => this.#extras.get(slot)?.id === undefined,
      updatedAt: (slot) => this.#updatedAt(slot, editOf(slot)),
      candidate: (slot) => ({
        id: this.idAt(slot),
        createdAt: this.#createdAt(slot),
        status: statusOf({ base: hashPair(this.#options.seed, slot), edit: editOf(slot) }),
      }),
    });
  }

  get count(): number {
    return this.#slots - this.#removed.size;
  }

  /** Id of the product at this index, from 0; special and added ones come last. */
  idAt(slot: number): string {
    return this.#extras.get(slot)?.id ?? regularProductId(slot);
  }

  /** Ids of the current products, in order. */
  ids(from: number, count: number): string[] {
    const slots = this.#index.select(parseSearch(""), "ID");
    return slots.slice(from, from + count).map((slot) => this.idAt(slot));
  }

  idOfSpecial(name: SpecialName): string {
    const slot = this.#slotsOfSpecials.get(name);
    if (slot === undefined) throw new Error(`the special product "${name}" was not asked for`);
    return this.idAt(slot);
  }

  /** @param atMs an earlier time, for a read that lags behind; now by default */
  findProduct(id: string, atMs?: number): ProductRecord | undefined {
    const slot = this.#locateProduct(id);
    return slot === undefined ? undefined : this.#findAt(slot, atMs);
  }

  /** @param atMs an earlier time, for a read that lags behind; now by default */
  findByHandle(handle: string, atMs?: number): ProductRecord | undefined {
    this.#slotsByFirstHandle ??= this.#groupByFirstHandle();
    for (const slot of [...this.#edits.keys(), ...(this.#slotsByFirstHandle.get(handle) ?? [])]) {
      const product = this.#findAt(slot, atMs);
      if (product?.handle === handle) return product;
    }
    return undefined;
  }

  #groupByFirstHandle(): Map<string, number[]> {
    const slots = Array.from({ length: this.#slots }, (_, slot) => slot);
    return Map.groupBy(slots, (slot) => this.#make(slot, undefined).handle);
  }

  #findAt(slot: number, atMs: number | undefined): ProductRecord | undefined {
    const state = this.#stateAt(slot, atMs);
    return state && this.#make(slot, state.edit);
  }

  #stateAt(slot: number, atMs: number | undefined): ProductState | undefined {
    const past = atMs === undefined ? undefined : this.#history.find(slot, atMs);
    if (past !== undefined) return past.state;
    return this.#removed.has(slot) ? undefined : { edit: this.#edits.get(slot) };
  }

  /** Returns the variant with its product. */
  findVariant(id: string, atMs?: number): { product: ProductRecord; variant: VariantRecord } | undefined {
    const place = this.#locateVariant(id);
    const product = place === undefined ? undefined : this.#findAt(place.slot, atMs);
    if (place === undefined || product === undefined) return undefined;
    if (place.position < 1 || place.position > product.variants.length) return undefined;
    const variant = product.variants.at(place.position - 1);
    return variant.legacyResourceId === id ? { product, variant } : undefined;
  }

  /** Edits a product. @returns its new `updatedAt` */
  touch(id: string, changes: ProductChanges = {}, options: TouchOptions = {}): string {
    const { keepUpdatedAt = false, at, childrenAfterMs } = options;
    if (childrenAfterMs !== undefined) return this.#touchChildrenLater(id, changes, childrenAfterMs, options);
    const slot = this.#getSlot(id);
    const step = keepUpdatedAt || this.#options.sharesSeconds ? 0 : 1;
    const before = this.#edits.get(slot);
    const editedAt = at ?? Math.max(this.#seconds(), this.#updatedAt(slot, before) + step);
    this.#keepState(slot);
    this.#index.remove(slot);
    const edit = mergeChanges(before, changes, editedAt, !keepUpdatedAt);
    this.#edits.set(slot, edit);
    this.#index.insert(slot);
    const updatedAt = toTimestamp(this.#updatedAt(slot, edit));
    this.#options.onChange?.("update", id, updatedAt);
    return updatedAt;
  }

  #touchChildrenLater(id: string, changes: ProductChanges, afterMs: number, options: TouchOptions): string {
    const { childrenAfterMs: _, ...now } = options;
    const { product, ...children } = changes;
    const timer = setTimeout(() => {
      if (this.#findSlot(id) !== undefined) this.touch(id, children, { keepUpdatedAt: true });
    }, afterMs);
    timer.unref();
    return this.touch(id, product === undefined ? {} : { product }, now);
  }

  #keepState(slot: number): void {
    this.#history.keep(slot, { edit: this.#edits.get(slot) }, this.#options.now());
  }

  remove(id: string): void {
    const slot = this.#getSlot(id);
    this.#keepState(slot);
    this.deletions.add({ id, at: this.#seconds() });
    this.#index.remove(slot);
    this.#removed.add(slot);
    this.#options.onChange?.("delete", id, "");
  }

  /** Adds a product created now. @returns its id */
  add(changes: ProductChanges = {}, id?: string): string {
    if (id !== undefined && this.#findSlot(id) !== undefined) throw new Error(`there is a product ${id} already`);
    const slot = this.#append({ changes, createdAt: this.#seconds(), ...(id === undefined ? {} : { id }) });
    this.#history.keep(slot, undefined, this.#options.now());
    this.#index.insert(slot);
    this.#options.onChange?.("create", this.idAt(slot), toTimestamp(this.#updatedAt(slot, this.#edits.get(slot))));
    return this.idAt(slot);
  }

  /** @param atMs an earlier time, for a list that lags behind; now by default */
  list(search: ProductSearch, sortKey: ProductSortKey, reverse: boolean, atMs?: number): OrderedList<ProductRecord> {
    const index = atMs === undefined ? this.#index : this.#indexAt(atMs);
    const slots = index.select(search, sortKey);
    const sortValue = index.sortValue(sortKey);
    const length = slots.length;
    const slotAt = (index: number) => slots[reverse ? length - 1 - index : index] as number;
    return {
      length,
      at: (index) => this.#make(slotAt(index), this.#stateAt(slotAt(index), atMs)?.edit),
      positionAt: (index) => ({ id: this.idAt(slotAt(index)), value: sortValue(slotAt(index)) }),
      // By value, not by index: a product edited between two pages moves behind the cursor.
      indexAfter: ({ id, value }) => {
        const compare = (slot: number) => sortValue(slot) - value || compareIds(this.idAt(slot), id);
        if (!reverse) return firstIndex(slots, (slot) => compare(slot) > 0);
        return length - firstIndex(slots, (slot) => compare(slot) >= 0);
      },
    };
  }

  #indexAt(atMs: number): ProductIndex {
    return this.#createIndex(
      (slot) => this.#stateAt(slot, atMs) !== undefined,
      (slot) => this.#stateAt(slot, atMs)?.edit,
    );
  }

  /** @param chooseTime chooses the time that each part of a product shows; undefined if none lags behind */
  snapshot(search: ProductSearch, chooseTime?: () => number | undefined): CatalogSnapshot {
    const slots = this.#index.select(search, "ID").slice();
    const edits = new Map(this.#edits);
    const slotAt = (index: number) => slots[index] as number;
    const snapshotAt = (index: number) => this.#make(slotAt(index), edits.get(slotAt(index)));
    if (chooseTime === undefined) return { length: slots.length, at: snapshotAt };
    const partAt = (index: number) => this.#findAt(slotAt(index), chooseTime()) ?? snapshotAt(index);
    return {
      length: slots.length,
      at: (index) => {
        const { images, media } = partAt(index);
        const [{ metafields }, { variants }] = [partAt(index), partAt(index)];
        return { ...partAt(index), images, media, metafields, variants };
      },
    };
  }

  #make(slot: number, edit: ProductEdit | undefined): ProductRecord {
    return createProduct(createSource(this.#options, slot, this.#extras.get(slot), edit));
  }

  #append(extra: Extra): number {
    const slot = this.#slots;
    this.#slots += 1;
    this.#extras.set(slot, extra);
    if (extra.id !== undefined) this.#slotsOfChosenIds.set(extra.id, slot);
    if (extra.changes !== undefined) {
      this.#edits.set(slot, mergeChanges(undefined, extra.changes, this.#createdAt(slot), false));
    }
    return slot;
  }

  #createdAt(slot: number): number {
    return timesOfSlot(this.#options, slot, this.#extras.get(slot)).createdAt;
  }

  #updatedAt(slot: number, edit: ProductEdit | undefined): number {
    if (edit?.updatedAt !== undefined) return edit.updatedAt;
    // Cached because sorting 100,000 products reads it millions of times.
    this.#firstUpdatedAt[slot] ??= timesOfSlot(this.#options, slot, this.#extras.get(slot)).updatedAt;
    return this.#firstUpdatedAt[slot];
  }

  #findSlot(id: string): number | undefined {
    const slot = this.#locateProduct(id);
    return slot === undefined || this.#removed.has(slot) ? undefined : slot;
  }

  /** The slot of a product, which may be removed. */
  #locateProduct(id: string): number | undefined {
    const slot = this.#slotsOfChosenIds.get(id) ?? slotOfProductId(id);
    if (slot === undefined || slot >= this.#slots) return undefined;
    return this.idAt(slot) === id ? slot : undefined;
  }

  #getSlot(id: string): number {
    const slot = this.#findSlot(id);
    if (slot === undefined) throw new Error(`there is no product ${id}`);
    return slot;
  }

  #locateVariant(id: string): { slot: number; position: number } | undefined {
    if (!/^\d+$/.test(id)) return undefined;
    for (const [productId, slot] of this.#slotsOfChosenIds) {
      const position = positionUnderHugeId(productId, id);
      if (position !== undefined) return { slot, position };
    }
    const place = slotOfVariantId(id);
    return place !== undefined && place.slot < this.#slots ? place : undefined;
  }

  #seconds(): number {
    return Math.floor(this.#options.now() / 1000);
  }
}
