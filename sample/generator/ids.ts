import { createRandom } from "./random.ts";

export type Kind = "Product" | "ProductVariant" | "ProductImage" | "ProductOption" | "InventoryItem" | "Metafield";

/** The next identifier of a kind; the platform's are 13 or 14 digits long, rise and lie 2^15 apart. */
export type Ids = (kind: Kind) => number;

export function createIds(): Ids {
  const random = createRandom("ids");
  const last: Record<Kind, number> = {
    Product: 6_781_204_365_312,
    ProductVariant: 40_127_558_090_752,
    ProductImage: 29_486_113_226_752,
    ProductOption: 8_704_916_553_728,
    InventoryItem: 42_220_837_011_456,
    Metafield: 21_593_402_245_120,
  };
  return (kind) => {
    last[kind] += 32_768 * (kind === "Product" ? random.int(1, 60) : 1);
    return last[kind];
  };
}

export const toGid = (kind: Kind, id: number) => `gid://shopify/${kind}/${id}`;
