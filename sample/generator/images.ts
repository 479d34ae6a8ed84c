import type { Image } from "../../src/product.ts";
import { toGid } from "./ids.ts";
import type { Making } from "./making.ts";
import type { OptionPlan, OptionValue } from "./plan.ts";
import { hourMs, toNewYork } from "./time.ts";

/** Where customers see the difference, each value has its own picture. */
const pictured = new Set(
  "Animal Border Color Cut Denominations Face Finish Guard Handle Metal Motif Piece Rim Shape Stopper Wood".split(" "),
);
const views = ["seen from above", "on the table", "detail", "in its box", "from the back", "beside a hand, for scale"];
const sizes = [
  [2048, 2048],
  [1600, 1600],
  [1200, 1500],
  [2000, 1333],
] as const;

/** The first images show the values of the first option, in order; the rest show the product. */
export function toImages(
  { plan, productId, handle, createdMs, updatedMs, random, ids }: Making,
  [option]: readonly OptionPlan[],
  combinations: readonly OptionValue[][],
  variantIds: readonly number[],
): Image[] {
  const shown = option !== undefined && pictured.has(option.name) ? option.values : [];
  const uploadMs = createdMs + random.int(1, 40) * 60_000;
  return Array.from({ length: plan.images }, (_, index): Image => {
    const id = ids("ProductImage");
    const position = index + 1;
    const value = shown[index];
    const [width, height] = random.pick(sizes);
    const addedMs = uploadMs + position * 7000;
    const changedMs = random.chance(0.6) ? addedMs : Math.min(updatedMs, addedMs + random.int(1, 600) * hourMs);
    const alt = value === undefined ? `${plan.title}, ${views[index % views.length]}` : `${plan.title}: ${value.label}`;
    return {
      id,
      product_id: productId,
      position,
      width,
      height,
      src: `http://127.0.0.1:3000/sample/images/${handle}-${position}.svg?v=${Math.floor(changedMs / 1000)}`,
      created_at: toNewYork(addedMs),
      updated_at: toNewYork(changedMs),
      variant_ids: value === undefined ? [] : variantIds.filter((_, at) => combinations[at]?.[0] === value),
      alt: random.chance(0.25) ? null : alt,
      admin_graphql_api_id: toGid("ProductImage", id),
    };
  });
}
