import type { Responses } from "./responses.ts";

export type FirstPage = NonNullable<Responses["ProductById"]["product"]>;
export type PagedVariant = FirstPage["variants"]["nodes"][number];

export type ShopifyOption = FirstPage["options"][number];
export type ShopifyImage = FirstPage["images"]["nodes"][number];
export type ShopifyMetafield = NonNullable<FirstPage["metafields"]>["nodes"][number];
/** The medium behind an image: the only source of an image's timestamps. */
export type ShopifyMedia = NonNullable<FirstPage["media"]>["nodes"][number];

export interface CompleteVariant extends Omit<PagedVariant, "metafields"> {
  readonly metafields: readonly ShopifyMetafield[];
}

/** A product with all items of its lists, in Shopify's order. */
export interface CompleteProduct extends Omit<FirstPage, "images" | "media" | "metafields" | "variants"> {
  readonly images: readonly ShopifyImage[];
  readonly media: readonly ShopifyMedia[];
  readonly metafields: readonly ShopifyMetafield[];
  readonly variants: readonly CompleteVariant[];
}
