import type { ProductEdit, Shape } from "./changes.ts";
import type { Ids } from "./ids.ts";
import type { Traits } from "./specials.ts";

/** All that one product is made from: nothing else of it is ever kept. */
export interface ProductSource {
  /** The product's own hash; every roll for it starts here. */
  readonly base: number;
  readonly ids: Ids;
  /** Before edits: what options are divided into must not change when a variant is added. */
  readonly firstShape: Shape;
  readonly shape: Shape;
  readonly traits: Traits;
  readonly edit: ProductEdit | undefined;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The same as text: writing dates is the dearest part of a record, so it is done once a product. */
  readonly createdAtText: string;
  readonly updatedAtText: string;
}
