import type { ImageRecord, InventoryItemRecord, ProductRecord, VariantRecord } from "./records.ts";

type ProductFields = Pick<
  ProductRecord,
  | "title"
  | "descriptionHtml"
  | "handle"
  | "publishedAt"
  | "productType"
  | "status"
  | "tags"
  | "templateSuffix"
  | "vendor"
  | "onPointOfSale"
>;
type VariantFields = Omit<
  VariantRecord,
  "__typename" | "id" | "legacyResourceId" | "position" | "metafields" | "media"
>;

/** How many of each child a product has. */
export interface Shape {
  readonly variants: number;
  readonly images: number;
  readonly metafields: number;
  /** Of every variant, unless `variantMetafieldsAt` says otherwise for its position. */
  readonly variantMetafields: number;
  readonly variantMetafieldsAt?: Readonly<Record<number, number>>;
}

/** What an edit may change. Positions count from 1, as the platform's do; metafields are named by their key. */
export interface ProductChanges {
  readonly product?: Partial<ProductFields>;
  readonly shape?: Partial<Shape>;
  readonly variants?: Readonly<Record<number, Partial<VariantFields>>>;
  readonly inventoryItems?: Readonly<Record<number, Partial<Omit<InventoryItemRecord, "__typename" | "id">>>>;
  readonly images?: Readonly<Record<number, Partial<Omit<ImageRecord, "__typename" | "id">>>>;
  readonly metafields?: Readonly<Record<string, string>>;
  readonly variantMetafields?: Readonly<Record<number, Readonly<Record<string, string>>>>;
}

/** All that was ever changed of one product. Replaced, never altered, so that a bulk run can keep reading an older. */
export interface ProductEdit extends ProductChanges {
  /** Seconds since 1970; absent while no edit has moved it. */
  readonly updatedAt?: number;
  /** When the edited variants and metafields were edited: seconds since 1970. */
  readonly childrenEditedAt: number;
}

/** `editedAt`: seconds since 1970; `movesUpdatedAt` false leaves the product's own time where it was. */
export function mergeChanges(
  earlier: ProductEdit | undefined,
  changes: ProductChanges,
  editedAt: number,
  movesUpdatedAt: boolean,
): ProductEdit {
  const updatedAt = movesUpdatedAt ? editedAt : earlier?.updatedAt;
  return {
    product: { ...earlier?.product, ...changes.product },
    shape: { ...earlier?.shape, ...changes.shape },
    variants: mergeEach(earlier?.variants, changes.variants),
    inventoryItems: mergeEach(earlier?.inventoryItems, changes.inventoryItems),
    images: mergeEach(earlier?.images, changes.images),
    metafields: { ...earlier?.metafields, ...changes.metafields },
    variantMetafields: mergeEach(earlier?.variantMetafields, changes.variantMetafields),
    childrenEditedAt: editedAt,
    ...(updatedAt === undefined ? {} : { updatedAt }),
  };
}

function mergeEach<T extends object>(
  earlier: Readonly<Record<number, T>> | undefined,
  later: Readonly<Record<number, T>> | undefined,
): Readonly<Record<number, T>> {
  const merged: Record<number, T> = { ...earlier };
  for (const [position, change] of Object.entries(later ?? {})) {
    merged[Number(position)] = { ...merged[Number(position)], ...change };
  }
  return merged;
}
