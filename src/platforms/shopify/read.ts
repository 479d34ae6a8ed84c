import { setTimeout as sleep } from "node:timers/promises";
import type { Product } from "../../model/product.ts";
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
  /**
   * Whether `updatedAt` tells this state from later ones. It has whole seconds, so a product that is read within moments of a change may
   * change again without a later `updatedAt`.
   */
  readonly isSettled: boolean;
}

/** What the platform answers about one product. */
export interface ProductReading {
  /** The shop that answered. */
  readonly shopId: string;
  /** Undefined when the shop has no such product. */
  readonly found: ReadProduct | undefined;
}

/** How old a product's last change must be before a reading of it counts as current. */
export const settleMs = 2000;

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

/** @returns the shop, and the platform's time at which it was asked: milliseconds since 1970 */
export async function readShop(
  request: Request,
  options: RequestOptions,
): Promise<{ readonly shop: PlatformShop; readonly askedAtMs: number }> {
  let askedAtMs = 0;
  const onSentAt = (platformMs: number) => {
    askedAtMs = platformMs;
  };
  const { shop } = await request<{ shop: PlatformShop }>("Shop", {}, { ...options, onSentAt });
  return { shop, askedAtMs };
}

/**
 * Reads one product whole, all of its lists to their end. A product that takes several responses is read again until it is settled, since
 * they may show different states of it; one that takes a single response is returned as it is.
 * @throws PlatformError when the platform cannot be asked, or the product keeps changing
 */
export async function readProduct(request: Request, id: bigint, options: RequestOptions): Promise<ProductReading> {
  for (let reading = 1; reading <= maxReadings; reading++) {
    try {
      const { responses, ...read } = await readOnce(request, `gid://shopify/Product/${id}`, options);
      if (read.found === undefined || read.found.isSettled || responses === 1) return read;
      await sleep(settleMs, undefined, { signal: options.signal });
    } catch (error) {
      if (!(error instanceof ChangedWhileRead)) throw error;
    }
  }
  const message = "the product keeps changing while it is read";
  throw new PlatformError("ProductById", { kind: "network", message });
}

async function readOnce(
  request: Request,
  id: string,
  options: RequestOptions,
): Promise<ProductReading & { readonly responses: number }> {
  let responses = 0;
  let beganAtMs = Number.POSITIVE_INFINITY;
  const onSentAt = (platformMs: number) => {
    responses++;
    beganAtMs = Math.min(beganAtMs, platformMs);
  };
  const { shop, product } = await request<FirstPages>("ProductById", { id, ...firstSizes }, { ...options, onSentAt });
  if (product === null) return { shopId: shop.id, found: undefined, responses };
  const complete = await completeProduct(request, id, product, { ...options, onSentAt });
  return {
    shopId: shop.id,
    found: {
      product: toProduct(complete, createZone(shop.ianaTimezone)),
      updatedAt: product.updatedAt,
      isSettled: beganAtMs >= Date.parse(product.updatedAt) + settleMs,
    },
    responses,
  };
}

/** Reads what the first response left out. */
async function completeProduct(
  request: Request,
  id: string,
  product: NonNullable<FirstPages["product"]>,
  options: RequestOptions,
): Promise<CompleteProduct> {
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
  return {
    ...product,
    images,
    media,
    metafields,
    variants: await completeVariants(request, product, variants, options),
  };
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
