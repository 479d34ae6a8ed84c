import type { ProductEdit, Shape } from "./changes.ts";
import type { Ids } from "./ids.ts";
import type { Traits } from "./specials.ts";

/** Everything that a product is generated from. */
export interface ProductSource {
  /** Hash of the product, the base of all its generated values. */
  readonly base: number;
  readonly ids: Ids;
  /** Before edits: adding a variant must not change the options of the others. */
  readonly originalShape: Shape;
  readonly shape: Shape;
  readonly traits: Traits;
  readonly edit: ProductEdit | undefined;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The same as text, once per product because formatting dates is expensive. */
  readonly createdAtText: string;
  readonly updatedAtText: string;
}
