import type { Product } from "../product.ts";
import type { Request, RequestOptions } from "./client.ts";
import { toProduct } from "./product.ts";
import type {
  CompleteProduct,
  CompleteVariant,
  Page,
  PlatformImage,
  PlatformMedia,
  PlatformMetafield,
  PlatformProductCore,
  PlatformShop,
  PlatformVariant,
} from "./queries.ts";
import { PlatformError } from "./retry.ts";
import { createZone } from "./time.ts";

/** A product as it was at the platform, and when it was last changed there. */
export interface ReadProduct {
  readonly product: Product;
  /** As the platform gives it, in UTC. */
  readonly updatedAt: string;
}

interface FirstPages {
  readonly shop: PlatformShop;
  readonly product:
    | (PlatformProductCore & {
        readonly images: Page<PlatformImage>;
        readonly media: Page<PlatformMedia>;
        readonly metafields: Page<PlatformMetafield>;
        readonly variants: Page<PagedVariant>;
      })
    | null;
}

type PagedVariant = PlatformVariant & { readonly metafields: Page<PlatformMetafield> };

/** Sizes of the first pages: room for most products whole, at about 100 points. */
const firstSizes = { images: 25, variants: 25, variantMetafields: 10, metafields: 25 };
/** Sizes of the pages behind them. */
const nextSizes = { images: 250, variants: 50, variantMetafields: 25, metafields: 250 };

/** A product that changes at every reading is given up after this many. */
const maxReadings = 4;

/** The product changed between two of its pages: what was read is of two states. */
class ChangedWhileRead extends Error {}

export async function readShop(request: Request, options: RequestOptions): Promise<PlatformShop> {
  return (await request<{ shop: PlatformShop }>("Shop", {}, options)).shop;
}

/**
 * Reads one product whole, all of its lists to their end.
 * @returns undefined when the platform has no such product
 * @throws PlatformError when it cannot be asked
 */
export async function readProduct(
  request: Request,
  id: bigint,
  options: RequestOptions,
): Promise<ReadProduct | undefined> {
  for (let reading = 1; ; reading++) {
    try {
      return await readOnce(request, `gid://shopify/Product/${id}`, options);
    } catch (error) {
      if (!(error instanceof ChangedWhileRead)) throw error;
      if (reading === maxReadings) {
        throw new PlatformError("ProductById", {
          kind: "network",
          message: "the product keeps changing while it is read",
        });
      }
    }
  }
}

async function readOnce(request: Request, id: string, options: RequestOptions): Promise<ReadProduct | undefined> {
  const { shop, product } = await request<FirstPages>("ProductById", { id, ...firstSizes }, options);
  if (product === null) return undefined;

  const { updatedAt } = product;
  /** The rest of one of the product's lists. */
  const rest = <Node>(operation: ProductPageOperation, field: string, page: Page<Node>, variables: object) =>
    readRest(page, async (after) => {
      type Answer = { product: ({ updatedAt: string } & Record<string, Page<Node>>) | null };
      const { product: next } = await request<Answer>(operation, { id, after, ...variables }, options);
      if (next === null || next.updatedAt !== updatedAt) throw new ChangedWhileRead();
      return next[field] as Page<Node>;
    });

  const images = await rest("ProductImagesPage", "images", product.images, { first: nextSizes.images });
  const media = await rest("ProductMediaPage", "media", product.media, { first: nextSizes.images });
  const metafields = await rest("ProductMetafieldsPage", "metafields", product.metafields, {
    first: nextSizes.metafields,
  });
  const variants = await rest("ProductVariantsPage", "variants", product.variants, {
    first: nextSizes.variants,
    variantMetafields: nextSizes.variantMetafields,
  });
  const complete: CompleteProduct = {
    ...product,
    images,
    media,
    metafields,
    variants: await completeVariants(request, product, variants, options),
  };
  return { product: toProduct(complete, createZone(shop.ianaTimezone)), updatedAt };
}

type ProductPageOperation = "ProductImagesPage" | "ProductMediaPage" | "ProductMetafieldsPage" | "ProductVariantsPage";

async function completeVariants(
  request: Request,
  { id: productId, updatedAt }: PlatformProductCore,
  variants: readonly PagedVariant[],
  options: RequestOptions,
): Promise<CompleteVariant[]> {
  type Answer = {
    product: { updatedAt: string } | null;
    productVariant: { metafields: Page<PlatformMetafield> } | null;
  };
  const complete: CompleteVariant[] = [];
  for (const variant of variants) {
    const metafields = await readRest(variant.metafields, async (after) => {
      const variables = { id: variant.id, productId, first: nextSizes.metafields, after };
      const { product, productVariant } = await request<Answer>("VariantMetafieldsPage", variables, options);
      if (product?.updatedAt !== updatedAt || productVariant === null) throw new ChangedWhileRead();
      return productVariant.metafields;
    });
    complete.push({ ...variant, metafields });
  }
  return complete;
}

async function readRest<Node>(first: Page<Node>, next: (after: string | null) => Promise<Page<Node>>): Promise<Node[]> {
  const nodes = [...first.nodes];
  for (let page = first; page.pageInfo.hasNextPage; ) {
    page = await next(page.pageInfo.endCursor);
    nodes.push(...page.nodes);
  }
  return nodes;
}
