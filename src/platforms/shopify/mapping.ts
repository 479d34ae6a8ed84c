import type { Image, Metafield, Option, Product, Variant } from "../../contract/product.ts";
import { addressOf, type Id, parseProductId, toId, toMoney } from "../../contract/product-values.ts";
import { lagMs, type PlatformProduct, type UnnamedImage, type UnusableProduct } from "../platform.ts";
import type {
  CompleteProduct,
  CompleteVariant,
  ShopifyImage,
  ShopifyMedia,
  ShopifyMetafield,
  ShopifyOption,
} from "./complete-product.ts";
import { localTimeFormatter } from "./local-time.ts";
import type { DocumentSet } from "./queries.ts";

/** Two changes within a second have the same `updatedAt`. */
const sameDateMs = 2000;

/**
 * Any response may lag behind `updatedAt` by this much, so only a later read is certain to show the
 * last change, and several responses the same state.
 */
export const settleMs = sameDateMs + lagMs;

type ToLocal = (utc: string) => string;

export interface ShopUnits {
  readonly toLocal: ToLocal;
  /** In Shopify's spelling. */
  readonly weightUnit: string;
  /** No later than the request, by Shopify's clock: milliseconds since 1970. */
  readonly readAtMs: number;
}

export const unitsOf = (timeZone: string, weightUnit: string, readAtMs: number): ShopUnits => ({
  toLocal: localTimeFormatter(timeZone),
  weightUnit,
  readAtMs,
});

export function convert(
  product: CompleteProduct,
  shop: ShopUnits,
  { kept, namespaces, publication }: DocumentSet,
): PlatformProduct | UnusableProduct {
  try {
    const chosen = namespaces.length === 0 ? product : onlyNamespaces(product, namespaces);
    const unnamedImages: UnnamedImage[] = [];
    return {
      product: toProduct(chosen, shop, publication, unnamedImages),
      updatedAt: product.updatedAt,
      isSettled: shop.readAtMs >= Date.parse(product.updatedAt) + settleMs,
      ...(kept.length > 0 && { kept }),
      ...(unnamedImages.length > 0 && { unnamedImages }),
    };
  } catch (error) {
    return { id: BigInt(product.legacyResourceId), unusable: `cannot be converted: ${(error as Error).message}` };
  }
}

/**
 * Optional fields that were not read get defaults, for products that have no stored values yet.
 * @param unnamed gets the images that are left out, because a response must not contain a wrong
 *   identifier
 * @throws Error when the contract cannot express a value
 */
export function toProduct(
  product: CompleteProduct,
  shop: ShopUnits,
  publication = "",
  unnamed: UnnamedImage[] = [],
): Product {
  if (!product.id.startsWith("gid://shopify/Product/"))
    throw new Error(`it was sent with the identifier ${product.id}`);
  const { toLocal } = shop;
  const id = toId(product.legacyResourceId);
  const options = product.options.toSorted(byPosition);
  const sorted = { ...product, variants: product.variants.toSorted(byPosition) };
  const variants = sorted.variants.map((variant) => toVariant(variant, product, options, shop));
  const images = toImages(sorted, id, toLocal, unnamed);
  const publishedAt = publicationTime(product, publication, shop.readAtMs);
  return {
    id,
    title: product.title,
    body_html: product.descriptionHtml ?? "",
    handle: product.handle,
    created_at: toLocal(product.createdAt),
    updated_at: toLocal(product.updatedAt),
    published_at: publishedAt === null ? null : toLocal(publishedAt),
    product_type: product.productType ?? "",
    published_scope: "web",
    status: toStatus(product.status),
    tags: product.tags?.join(", ") ?? "",
    template_suffix: product.templateSuffix ?? null,
    vendor: product.vendor ?? "",
    admin_graphql_api_id: product.id,
    images,
    image: images[0] ?? null,
    options: options.map((option) => toOption(option, id)),
    variants,
    metafields: toMetafields(product.metafields, id, "product", toLocal),
  };
}

function onlyNamespaces(product: CompleteProduct, namespaces: readonly string[]): CompleteProduct {
  const choose = (metafields: readonly ShopifyMetafield[] = []) =>
    metafields.filter(({ namespace }) => namespaces.includes(namespace));
  const variants = product.variants.map((variant) => ({ ...variant, metafields: choose(variant.metafields) }));
  return { ...product, metafields: choose(product.metafields), variants };
}

/** When a product was or will be published where the settings say; null for never. */
function publicationTime(
  { publishedOnPublication, resourcePublications, publishedAt, createdAt }: CompleteProduct,
  wanted: string,
  readAtMs: number,
): string | null {
  if (publishedOnPublication === undefined) return publishedAt;
  const date = resourcePublications?.nodes.find(({ publication }) => publication.id === wanted)?.publishDate;
  // The page may lack some of many publications. A past date of an unpublished product means nothing.
  if (publishedOnPublication) return date ?? createdAt;
  return date !== undefined && Date.parse(date) > readAtMs ? date : null;
}

const byPosition = (a: { readonly position: number }, b: { readonly position: number }) => a.position - b.position;

/** `UNLISTED` is newer than the contract; the REST API of its time reports it as `active`. */
function toStatus(status: string): string {
  if (status === "UNLISTED") return "active";
  // Another one would hide every product that has it.
  if (!["ACTIVE", "ARCHIVED", "DRAFT"].includes(status)) throw new Error(`it has the unknown status ${status}`);
  return status.toLowerCase();
}

const imageGid = "gid://shopify/ProductImage/";
const mediumGid = "gid://shopify/MediaImage/";

/** Null for other kinds of gid, whose numbers may belong to other images. */
const toImageId = (gid: string | null | undefined): Id | null => numberOf(gid, imageGid);

function numberOf(gid: string | null | undefined, prefix: string): Id | null {
  if (!gid?.startsWith(prefix)) return null;
  const digits = gid.slice(prefix.length);
  return parseProductId(digits) === undefined ? null : toId(digits);
}

function toMediumId(gid: string | null | undefined): UnnamedImage["ofMedium"] {
  const id = numberOf(gid, mediumGid);
  return id === null ? undefined : { id, admin_graphql_api_id: `${mediumGid}${id}` };
}

function toImages(product: CompleteProduct, productId: Id, toLocal: ToLocal, unnamed: UnnamedImage[]): Image[] {
  const variantsOf = Map.groupBy(product.variants, ({ image }) => image?.id ?? "");
  const media = mediaOf(product.images, product.media);
  const images: Image[] = [];
  for (const [index, { id: gid, ...read }] of product.images.entries()) {
    const { createdAt, updatedAt } = media[index] ?? product;
    const image = {
      product_id: productId,
      position: index + 1,
      // Shopify reports no size until an image is processed, and the contract has no null here.
      width: read.width ?? 0,
      height: read.height ?? 0,
      src: read.url,
      created_at: toLocal(createdAt),
      updated_at: toLocal(updatedAt),
      variant_ids: (gid ? variantsOf.get(gid) : undefined)?.map((variant) => toId(variant.legacyResourceId)) ?? [],
      alt: read.altText ?? null,
    };
    const id = toImageId(gid);
    if (id === null) unnamed.push({ name: gid ?? "without an ID", image, ofMedium: toMediumId(gid) });
    else images.push({ id, ...image, position: images.length + 1, admin_graphql_api_id: `${imageGid}${id}` });
  }
  const listed = new Set(product.images.map(({ id }) => id ?? ""));
  for (const { image } of product.variants) {
    const name = image?.id ?? "";
    if (image && toImageId(name) === null && (name === "" || !listed.has(name))) {
      unnamed.push({ name: name || "without an ID" });
    }
  }
  return images;
}

type ImageMedium = ShopifyMedia & { readonly image: NonNullable<ShopifyMedia["image"]> };

/** Videos and models have no timestamps; a medium without its image is not processed yet. */
const isImage = (medium: ShopifyMedia): medium is ImageMedium =>
  medium.createdAt !== undefined && medium.updatedAt !== undefined && !!medium.image;

/**
 * Matches each image with the medium of the same address, and the rest in order; undefined if there
 * are too few media.
 */
function mediaOf(images: readonly ShopifyImage[], media: readonly ShopifyMedia[]): (ImageMedium | undefined)[] {
  const candidates = media.filter(isImage);
  const atAddress = Map.groupBy(candidates.toReversed(), (medium) => addressOf(medium.image.url));
  const joined = images.map((image) => atAddress.get(addressOf(image.url))?.pop());
  const taken = new Set(joined);
  const remaining = candidates.filter((medium) => !taken.has(medium)).values();
  return joined.map((medium) => medium ?? remaining.next().value);
}

function toOption({ id, name, position, values }: ShopifyOption, productId: Id): Option {
  return {
    id: toId(id.slice(id.lastIndexOf("/") + 1)),
    product_id: productId,
    position,
    name,
    values: [...values],
  };
}

function toVariant(
  variant: CompleteVariant,
  product: CompleteProduct,
  options: readonly ShopifyOption[],
  { toLocal, weightUnit }: ShopUnits,
): Variant {
  const id = toId(variant.legacyResourceId);
  const { inventoryItem, selectedOptions } = variant;
  const [option1 = null, option2 = null, option3 = null] = options.map(
    ({ name }) => selectedOptions.find((selected) => selected.name === name)?.value,
  );
  return {
    id,
    product_id: toId(product.legacyResourceId),
    inventory_item_id: toId(inventoryItem.legacyResourceId),
    position: variant.position,
    image_id: toImageId(variant.image?.id),
    barcode: variant.barcode ?? "",
    sku: variant.sku ?? "",
    title: variant.title,
    price: requiredMoney(variant.price, "price"),
    compare_at_price: variant.compareAtPrice == null ? null : requiredMoney(variant.compareAtPrice, "compareAtPrice"),
    // Reading other fulfillment or tracking services would require access to locations.
    fulfillment_service: product.isGiftCard ? "gift_card" : "manual",
    inventory_management: inventoryItem.tracked ? "shopify" : null,
    inventory_policy: variant.inventoryPolicy?.toLowerCase() ?? "deny",
    inventory_quantity: variant.inventoryQuantity ?? 0,
    old_inventory_quantity: variant.inventoryQuantity ?? 0,
    requires_shipping: inventoryItem.requiresShipping ?? true,
    taxable: variant.taxable ?? true,
    tax_code: variant.taxCode ?? "",
    ...toWeight(inventoryItem.measurement?.weight ?? { unit: weightUnit, value: 0 }),
    option1,
    option2,
    option3,
    created_at: toLocal(variant.createdAt),
    updated_at: toLocal(variant.updatedAt),
    admin_graphql_api_id: variant.id,
    metafields: toMetafields(variant.metafields, id, "variant", toLocal),
  };
}

/** @throws Error for an amount with more than two decimal places, which rounding would change */
function requiredMoney(amount: string, name: string): string {
  const money = toMoney(`${amount}`);
  if (money !== undefined) return money;
  throw new Error(`the ${name} of a variant is ${amount}, expected at most two decimal places`);
}

/** The contract's name of each weight unit, and its grams. */
const units: Readonly<Record<string, { readonly name: string; readonly grams: number }>> = {
  POUNDS: { name: "lb", grams: 453.59237 },
  OUNCES: { name: "oz", grams: 28.349523125 },
  GRAMS: { name: "g", grams: 1 },
  KILOGRAMS: { name: "kg", grams: 1000 },
};

/** @throws Error for an unknown unit, rather than serve a wrong weight */
function toWeight(weight: {
  readonly unit: string;
  readonly value: number;
}): Pick<Variant, "grams" | "weight" | "weight_unit"> {
  const unit = units[weight.unit];
  if (unit === undefined) throw new Error(`Shopify sent an unknown unit of weight: ${weight.unit}`);
  return { grams: Math.round(weight.value * unit.grams), weight: weight.value, weight_unit: unit.name };
}

function toMetafields(
  metafields: readonly ShopifyMetafield[],
  ownerId: Id,
  ownerResource: Metafield["owner_resource"],
  toLocal: ToLocal,
): Metafield[] {
  return metafields.map((metafield) => ({
    id: toId(metafield.legacyResourceId),
    owner_id: ownerId,
    owner_resource: ownerResource,
    namespace: metafield.namespace,
    key: metafield.key,
    value: metafield.value,
    type: metafield.type,
    description: metafield.description ?? null,
    created_at: toLocal(metafield.createdAt),
    updated_at: toLocal(metafield.updatedAt),
    admin_graphql_api_id: metafield.id,
  }));
}
