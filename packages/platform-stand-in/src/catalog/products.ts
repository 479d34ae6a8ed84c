import { listImages, listMedia } from "./images.ts";
import { listMetafields } from "./metafields.ts";
import { listOptions } from "./options.ts";
import { hashPair, pick, roll } from "./random.ts";
import type { ProductSource } from "./recipe.ts";
import type { ProductRecord, ProductStatus } from "./records.ts";
import { toTimestamp } from "./times.ts";
import { listVariants } from "./variants.ts";
import { itemNames, patterns, productTypes, sentences, tags, vendors } from "./words.ts";

export function createProduct(source: ProductSource): ProductRecord {
  const { base } = source;
  const nulls = source.traits.nulls === true;
  const title = `${pick(base, 30, patterns)} ${pick(base, 31, itemNames)}`;
  const published = !nulls && roll(base, 32, 9) !== 0;
  const id = source.ids.product;
  return {
    __typename: "Product",
    id: `gid://shopify/Product/${id}`,
    legacyResourceId: id,
    title,
    descriptionHtml: nulls ? "" : describe(base, title),
    handle: `${title
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "")}-${base.toString(36)}`,
    createdAt: source.createdAtText,
    updatedAt: source.updatedAtText,
    publishedAt: published ? toTimestamp(source.createdAt + roll(base, 33, 100_000)) : null,
    productType: nulls ? "" : pick(base, 34, productTypes),
    status: statusOf(source),
    tags: nulls ? [] : tags.filter((_, index) => roll(base, 50 + index, 4) === 0).toSorted(),
    templateSuffix: nulls ? null : pick(base, 35, [null, "", "personalized"]),
    vendor: pick(base, 36, vendors),
    isGiftCard: false,
    variantsCount: { count: source.shape.variants, precision: "EXACT" },
    onPointOfSale: roll(base, 37, 2) === 0,
    // Getters: a page of 250 ids and times need not create options, variants, and images.
    get options() {
      return listOptions(source);
    },
    get images() {
      return listImages(source);
    },
    get media() {
      return listMedia(source);
    },
    get metafields() {
      return listMetafields(source, 0);
    },
    get variants() {
      return listVariants(source);
    },
    ...source.edit?.product,
  };
}

/** Separate, so that a search by status need not create products. */
export function statusOf({ base, edit }: Pick<ProductSource, "base" | "edit">): ProductStatus {
  return edit?.product?.status ?? otherStatuses[roll(base, 38, 10) - 7] ?? "ACTIVE";
}

/** Seven of ten products are active. */
const otherStatuses = ["ARCHIVED", "DRAFT", "UNLISTED"] as const;

function describe(base: number, title: string): string {
  const paragraphs = Array.from({ length: 1 + roll(base, 39, 3) }, (_, index) => {
    const sentence = pick(hashPair(base, 60 + index), 1, sentences);
    return `<p>${sentence} ${pick(hashPair(base, 70 + index), 1, sentences)}</p>`;
  });
  return `<h2>${title.replaceAll("&", "&amp;")}</h2>${paragraphs.join("\n")}`;
}
