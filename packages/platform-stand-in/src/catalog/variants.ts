import { createImage, createMediaImage } from "./images.ts";
import { fromArray, type LazyList } from "./list.ts";
import { listMetafields } from "./metafields.ts";
import { selectOptions } from "./options.ts";
import { hashPair, pick, roll } from "./random.ts";
import type { ProductSource } from "./recipe.ts";
import type { InventoryItemRecord, VariantRecord, Weight } from "./records.ts";
import { toTimestamp } from "./times.ts";

const units = ["POUNDS", "POUNDS", "OUNCES", "GRAMS", "KILOGRAMS"] as const;

export function listVariants(source: ProductSource): LazyList<VariantRecord> {
  return { length: source.shape.variants, at: (index) => createVariant(source, index + 1) };
}

function createVariant(source: ProductSource, position: number): VariantRecord {
  const base = hashPair(source.base, 40_000 + position);
  const nulls = source.traits.nulls === true;
  const id = source.ids.variant(position);
  const price = 100 + roll(base, 1, 99_900);
  const images = source.shape.images;
  const imageAt = nulls || images === 0 || roll(base, 2, 3) === 0 ? undefined : 1 + roll(base, 3, images);
  const selectedOptions = selectOptions(source, position);
  const edited = source.edit?.variants?.[position];
  return {
    __typename: "ProductVariant",
    id: `gid://shopify/ProductVariant/${id}`,
    legacyResourceId: id,
    title: selectedOptions.map((option) => option.value).join(" / "),
    sku: nulls || roll(base, 4, 40) === 0 ? null : `${roll(base, 5, 900_000) + 100_000}`,
    barcode: nulls ? null : pick(base, 6, [null, "", `0${882_864_000_000 + roll(base, 7, 999_999)}`]),
    position,
    price: (price / 100).toFixed(2),
    compareAtPrice: nulls || roll(base, 8, 2) === 0 ? null : ((price * 1.25) / 100).toFixed(2),
    taxable: roll(base, 9, 10) !== 0,
    taxCode: nulls || roll(base, 10, 4) !== 0 ? null : "PC040100",
    inventoryPolicy: roll(base, 11, 5) === 0 ? "CONTINUE" : "DENY",
    inventoryQuantity: nulls ? null : roll(base, 12, 400) - 5,
    createdAt: source.createdAtText,
    updatedAt: edited === undefined ? source.updatedAtText : editedAt(source),
    selectedOptions,
    image: imageAt === undefined ? null : createImage(source, imageAt),
    inventoryItem: createInventoryItem(source, base, position),
    // Getters: most queries of a variant select neither list.
    get metafields() {
      return listMetafields(source, position);
    },
    get media() {
      return fromArray(imageAt === undefined ? [] : [createMediaImage(source, imageAt)]);
    },
    ...edited,
  };
}

function editedAt(source: ProductSource): string {
  return toTimestamp(source.edit?.childrenEditedAt ?? source.updatedAt);
}

function createInventoryItem(source: ProductSource, base: number, position: number): InventoryItemRecord {
  const id = source.ids.inventoryItem(position);
  return {
    __typename: "InventoryItem",
    id: `gid://shopify/InventoryItem/${id}`,
    legacyResourceId: id,
    tracked: roll(base, 20, 8) !== 0,
    requiresShipping: roll(base, 21, 12) !== 0,
    measurement: { weight: source.traits.nulls || roll(base, 22, 20) === 0 ? null : weigh(base) },
    ...source.edit?.inventoryItems?.[position],
  };
}

function weigh(base: number): Weight {
  return { unit: pick(base, 23, units), value: pick(base, 24, [0, 0.1, 0.45, 1, 1.25, 2.5, 7.125, 32]) };
}
