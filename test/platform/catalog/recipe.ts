import type { ProductEdit, Shape } from "./changes.ts";
import { mix, type Range, rollWithin } from "./dice.ts";
import { createIds } from "./ids.ts";
import type { ProductSource } from "./source.ts";
import type { Special } from "./specials.ts";
import { type Times, timesOf, toTimestamp } from "./times.ts";

/** What the whole generated catalog follows from. */
export interface Recipe {
  readonly seed: number;
  readonly variants: Range;
  readonly images: Range;
  readonly metafields: Range;
  readonly variantMetafields: Range;
  /** Seconds since 1970: no generated product was created or updated later. */
  readonly endsAt: number;
}

/** A product that is more than its rolls: a special one, or one that was added. */
export interface Extra extends Special {
  /** Seconds since 1970, of a product that was added. */
  readonly createdAt?: number;
}

/** A slot is the place of a product in the catalog, from 0. It is never used twice. */
export function timesOfSlot(recipe: Recipe, slot: number, extra: Extra | undefined): Times {
  const rolled = timesOf(mix(recipe.seed, slot), recipe.endsAt);
  return extra?.createdAt === undefined ? rolled : { createdAt: extra.createdAt, updatedAt: extra.createdAt };
}

export function createSource(
  recipe: Recipe,
  slot: number,
  extra: Extra | undefined,
  edit: ProductEdit | undefined,
): ProductSource {
  const base = mix(recipe.seed, slot);
  const times = timesOfSlot(recipe, slot, extra);
  const updatedAt = edit?.updatedAt ?? times.updatedAt;
  const firstShape: Shape = {
    variants: rollWithin(base, 20, recipe.variants),
    images: rollWithin(base, 21, recipe.images),
    metafields: rollWithin(base, 22, recipe.metafields),
    variantMetafields: rollWithin(base, 23, recipe.variantMetafields),
    ...extra?.changes?.shape,
  };
  return {
    base,
    ids: createIds(slot, extra?.id),
    firstShape,
    shape: { ...firstShape, ...edit?.shape },
    traits: extra?.traits ?? {},
    edit,
    createdAt: times.createdAt,
    updatedAt,
    createdAtText: toTimestamp(times.createdAt),
    updatedAtText: toTimestamp(updatedAt),
  };
}
