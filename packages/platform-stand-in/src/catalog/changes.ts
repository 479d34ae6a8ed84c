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
  | "isGiftCard"
  | "onPointOfSale"
>;
type VariantFields = Omit<
  VariantRecord,
  "__typename" | "id" | "legacyResourceId" | "position" | "metafields" | "media"
>;

/** Numbers of children of a product. */
export interface Shape {
  readonly variants: number;
  readonly images: number;
  readonly metafields: number;
  /** Per variant; `variantMetafieldsAt` overrides it by position. */
  readonly variantMetafields: number;
  readonly variantMetafieldsAt?: Readonly<Record<number, number>>;
}

/**
 * Changes to a product. Positions count from 1, as on the platform; metafields are named by key.
 */
export interface ProductChanges {
  readonly product?: Partial<ProductFields>;
  readonly shape?: Partial<Shape>;
  readonly variants?: Readonly<Record<number, Partial<VariantFields>>>;
  readonly inventoryItems?: Readonly<Record<number, Partial<Omit<InventoryItemRecord, "__typename" | "id">>>>;
  readonly images?: Readonly<Record<number, Partial<Omit<ImageRecord, "__typename" | "id">>>>;
  readonly metafields?: Readonly<Record<string, string>>;
  readonly variantMetafields?: Readonly<Record<number, Readonly<Record<string, string>>>>;
}

/** All edits of one product so far. Immutable, so that a bulk run can keep reading an older one. */
export interface ProductEdit extends ProductChanges {
  /** Seconds since 1970; absent until an edit changes it. */
  readonly updatedAt?: number;
  /** Time of the last edit, for edited variants and metafields: seconds since 1970. */
  readonly childrenEditedAt: number;
}

/**
 * `editedAt`: seconds since 1970; with `movesUpdatedAt` false the product keeps its `updatedAt`.
 */
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
