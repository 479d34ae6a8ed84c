import type { ProductEdit, Shape } from "./changes.ts";
import { createIds, type Ids } from "./ids.ts";
import { hashPair, type Range, rollInRange } from "./random.ts";
import type { Special, Traits } from "./specials.ts";
import { type Times, timesOf, toTimestamp } from "./times.ts";

/** Parameters of the generated catalog. */
export interface Recipe {
  readonly seed: number;
  readonly variants: Range;
  readonly images: Range;
  readonly metafields: Range;
  readonly variantMetafields: Range;
  /** Time of the newest update in the generated catalog, in seconds since 1970. */
  readonly endsAt: number;
}

/** A special product, or one that was added later. */
export interface Extra extends Special {
  /** Seconds since 1970; only for a product that was added. */
  readonly createdAt?: number;
}

/** A slot is the index of a product in the catalog, from 0. Slots are never reused. */
export function timesOfSlot(recipe: Recipe, slot: number, extra: Extra | undefined): Times {
  const rolled = timesOf(hashPair(recipe.seed, slot), recipe.endsAt);
  return extra?.createdAt === undefined ? rolled : { createdAt: extra.createdAt, updatedAt: extra.createdAt };
}

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

export function createSource(
  recipe: Recipe,
  slot: number,
  extra: Extra | undefined,
  edit: ProductEdit | undefined,
): ProductSource {
  const base = hashPair(recipe.seed, slot);
  const times = timesOfSlot(recipe, slot, extra);
  const updatedAt = edit?.updatedAt ?? times.updatedAt;
  const originalShape: Shape = {
    variants: rollInRange(base, 20, recipe.variants),
    images: rollInRange(base, 21, recipe.images),
    metafields: rollInRange(base, 22, recipe.metafields),
    variantMetafields: rollInRange(base, 23, recipe.variantMetafields),
    ...extra?.changes?.shape,
  };
  return {
    base,
    ids: createIds(slot, extra?.id),
    originalShape,
    shape: { ...originalShape, ...edit?.shape },
    traits: extra?.traits ?? {},
    edit,
    createdAt: times.createdAt,
    updatedAt,
    createdAtText: toTimestamp(times.createdAt),
    updatedAtText: toTimestamp(updatedAt),
  };
}
