import type { ProductEdit } from "./changes.ts";

/** A product at one time; undefined when it did not exist. */
export interface ProductState {
  readonly edit: ProductEdit | undefined;
}

interface PastState {
  /** Milliseconds since 1970, exclusive. */
  readonly until: number;
  readonly state: ProductState | undefined;
}

/** Reads lag behind by at most this long. */
const maxLagMs = 60_000;

/** Past states of products, for reads that lag behind. */
export class ProductHistory {
  readonly #past = new Map<number, PastState[]>();

  /** Keeps the state that a product had until now. */
  keep(slot: number, state: ProductState | undefined, nowMs: number): void {
    const recent = (this.#past.get(slot) ?? []).filter(({ until }) => until > nowMs - maxLagMs);
    this.#past.set(slot, [...recent, { until: nowMs, state }]);
  }

  /** @returns undefined when the product has not changed since */
  find(slot: number, atMs: number): PastState | undefined {
    return this.#past.get(slot)?.find(({ until }) => until > atMs);
  }
}
