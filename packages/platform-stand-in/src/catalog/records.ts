import type { LazyList } from "./list.ts";

/**
 * The records that resolvers and bulk runs read. Properties are named like the schema's fields;
 * lists are connections.
 */
export interface ProductRecord {
  readonly __typename: "Product";
  readonly id: string;
  readonly legacyResourceId: string;
  readonly title: string;
  readonly descriptionHtml: string;
  readonly handle: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly publishedAt: string | null;
  readonly productType: string;
  readonly status: ProductStatus;
  readonly tags: readonly string[];
  readonly templateSuffix: string | null;
  readonly vendor: string;
  readonly isGiftCard: boolean;
  readonly variantsCount: { readonly count: number; readonly precision: "EXACT" };
  readonly options: readonly OptionRecord[];
  readonly images: LazyList<ImageRecord>;
  readonly media: LazyList<MediaRecord>;
  readonly metafields: LazyList<MetafieldRecord>;
  readonly variants: LazyList<VariantRecord>;
  /** Not a schema field; the publication fields are computed from it. */
  /** A text is when it will be, or was, published. */
  readonly onPointOfSale: boolean | string;
}

export type ProductStatus = "ACTIVE" | "ARCHIVED" | "DRAFT" | "UNLISTED";

export interface OptionRecord {
  readonly id: string;
  readonly name: string;
  readonly position: number;
  readonly values: readonly string[];
}

export interface VariantRecord {
  readonly __typename: "ProductVariant";
  readonly id: string;
  readonly legacyResourceId: string;
  readonly title: string;
  readonly sku: string | null;
  readonly barcode: string | null;
  readonly position: number;
  readonly price: string;
  readonly compareAtPrice: string | null;
  readonly taxable: boolean;
  readonly taxCode: string | null;
  readonly inventoryPolicy: "CONTINUE" | "DENY";
  readonly inventoryQuantity: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly selectedOptions: readonly { readonly name: string; readonly value: string }[];
  readonly image: ImageRecord | null;
  readonly inventoryItem: InventoryItemRecord;
  readonly metafields: LazyList<MetafieldRecord>;
  readonly media: LazyList<MediaRecord>;
}

export interface InventoryItemRecord {
  readonly __typename: "InventoryItem";
  readonly id: string;
  readonly legacyResourceId: string;
  readonly tracked: boolean;
  readonly requiresShipping: boolean;
  readonly measurement: { readonly weight: Weight | null };
}

export interface Weight {
  readonly unit: "GRAMS" | "KILOGRAMS" | "OUNCES" | "POUNDS";
  readonly value: number;
}

export interface ImageRecord {
  readonly __typename: "Image";
  readonly id: string;
  readonly url: string;
  readonly altText: string | null;
  readonly width: number | null;
  readonly height: number | null;
}

export type MediaRecord = MediaImageRecord | OtherMediaRecord;

export interface MediaImageRecord {
  readonly __typename: "MediaImage";
  readonly id: string;
  readonly alt: string | null;
  readonly mediaContentType: "IMAGE";
  readonly status: "READY" | "PROCESSING";
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly image: ImageRecord | null;
}

export interface OtherMediaRecord {
  readonly __typename: "Video" | "ExternalVideo" | "Model3d";
  readonly id: string;
  readonly alt: string | null;
  readonly mediaContentType: "VIDEO" | "EXTERNAL_VIDEO" | "MODEL_3D";
  readonly status: "READY";
}

export interface MetafieldRecord {
  readonly __typename: "Metafield";
  readonly id: string;
  readonly legacyResourceId: string;
  readonly namespace: string;
  readonly key: string;
  readonly value: string;
  readonly type: string;
  readonly description: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly ownerType: "PRODUCT" | "PRODUCTVARIANT";
}
