import { setTimeout as sleep } from "node:timers/promises";
import { ChangingProductError, type ProductReading, UnusableProductError } from "../platform.ts";
import type { RequestOptions, SendRequest } from "./client.ts";
import type { CompleteProduct, CompleteVariant, FirstPage, PagedVariant } from "./complete-product.ts";
import { convert, settleMs, unitsOf } from "./mapping.ts";
import { describeFailure, isOfProducts, isTooLarge, ShopifyError } from "./retry.ts";

interface NodePage<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: FirstPage["variants"]["pageInfo"];
}

const noPage = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } };

/** Page sizes of the first request: enough for most products, at a cost of about 100 points. */
export const firstSizes = { images: 25, variants: 25, variantMetafields: 10, metafields: 25 };
/** The largest pages cost 242 points. Unused points are returned. */
const fullSizes = { images: 250, variants: 250, variantMetafields: 250, metafields: 250 };
const nextSizes = { images: 250, variants: 50, variantMetafields: 25, metafields: 250 };

/** The platform's clock is known in whole seconds. */
const dateMs = 1000;
/** Attempts to read a product that keeps changing. */
const maxReadings = 4;

class ChangedWhileRead extends Error {
  readonly updatedAt: string;
  /** How long to wait before reading it again. */
  readonly waitMs: number;

  constructor(times: readonly (string | undefined)[], waitMs = 0) {
    super();
    this.updatedAt = times.reduce<string>((newest, time = "") => (time > newest ? time : newest), "");
    this.waitMs = waitMs;
  }
}

/**
 * A single response shows one state, even of a product that keeps changing. Several responses are
 * only read when the last change is old enough that they agree.
 * @throws ShopifyError when Shopify does not answer; ChangingProductError when the responses do not
 *   agree; UnusableProductError when only this product cannot be read or converted
 */
export async function readProduct(request: SendRequest, id: bigint, options: RequestOptions): Promise<ProductReading> {
  let newest = "";
  // A client gets an answer at once, and a job reads others meanwhile; both try again later.
  let canWait = options.priority === "push" || options.priority === "refresh";
  for (let reading = 1; reading <= maxReadings; reading++) {
    try {
      return await readOnce(request, id, options);
    } catch (error) {
      if (error instanceof ShopifyError && !error.isGeneral && isOfProducts(error.failure)) {
        throw new UnusableProductError(`cannot be read: ${describeFailure(error.failure)}`, { cause: error });
      }
      if (!(error instanceof ChangedWhileRead)) throw error;
      if (error.updatedAt > newest) newest = error.updatedAt;
      if (error.waitMs === 0) continue;
      if (!canWait) break;
      canWait = false;
      await sleep(Math.min(error.waitMs, settleMs) + dateMs, undefined, { signal: options.signal });
    }
  }
  throw new ChangingProductError("the product keeps changing while it is read", newest);
}

async function readOnce(request: SendRequest, id: bigint, options: RequestOptions): Promise<ProductReading> {
  const beganMs = performance.now();
  const gid = `gid://shopify/Product/${id}`;
  const readDocument = async (sizes: typeof firstSizes) => {
    const response = await request("ProductById", { id: gid, ...sizes }, options);
    const { product } = response;
    if (product !== null && product.id !== gid) {
      throw new ShopifyError("ProductById", { kind: "network", message: "the response is about another product" });
    }
    return { ...response, complete: product === null ? undefined : toComplete(product) };
  };
  let read = await readDocument(firstSizes);
  if (read.product !== null && read.complete === undefined) {
    const first = read;
    read = await readDocument(fullSizes).catch((error) => {
      if (error instanceof ShopifyError && isTooLarge(error.failure)) return first;
      throw error;
    });
  }
  const { shop, product, sent } = read;
  const all = [sent];
  const readAtMs = () => Math.min(...all.map(({ sentAtMs }) => sentAtMs));
  const reading = () => ({ shopId: shop.id, readAtMs: readAtMs(), beganMs, isPaged: all.length > 1 });
  if (product === null) return { ...reading(), found: undefined };
  let { complete } = read;
  if (complete === undefined) {
    const waitMs = Date.parse(product.updatedAt) + settleMs - readAtMs();
    if (waitMs > 0) throw new ChangedWhileRead([product.updatedAt], waitMs);
    const requestPage: SendRequest = async (operation, variables, options) => {
      const page = await request(operation, variables, options);
      all.push(page.sent);
      return page;
    };
    complete = await completeProduct(requestPage, gid, product, options);
  }
  // A field was refused, or is asked for again, between two pages.
  if (all.some(({ documents }) => documents !== sent.documents)) throw new ChangedWhileRead([product.updatedAt]);
  const found = convert(complete, unitsOf(shop.ianaTimezone, shop.weightUnit, readAtMs()), sent.documents);
  if ("unusable" in found) throw new UnusableProductError(found.unusable);
  return { ...reading(), found };
}

/** @returns undefined if the product has more pages */
export function toComplete(product: FirstPage): CompleteProduct | undefined {
  const { images, media = noPage, metafields = noPage, variants } = product;
  const pages = [images, media, metafields, variants, ...variants.nodes.map((variant) => variant.metafields ?? noPage)];
  if (pages.some(({ pageInfo }) => pageInfo.hasNextPage)) return undefined;
  return {
    ...product,
    images: images.nodes,
    media: media.nodes,
    metafields: metafields.nodes,
    variants: variants.nodes.map((variant) => ({ ...variant, metafields: (variant.metafields ?? noPage).nodes })),
  };
}

async function completeProduct(
  request: SendRequest,
  id: string,
  product: FirstPage,
  options: RequestOptions,
): Promise<CompleteProduct> {
  const { updatedAt } = product;
  const checkState = <Product extends { readonly updatedAt: string }>(next: Product | null): Product => {
    if (next?.updatedAt !== updatedAt) throw new ChangedWhileRead([updatedAt, next?.updatedAt]);
    return next;
  };

  const images = await readRemaining("images", product.images, async (after) => {
    const next = await request("ProductImagesPage", { id, after, first: nextSizes.images }, options);
    return checkState(next.product).images;
  });
  const media = await readRemaining("media", product.media ?? noPage, async (after) => {
    const next = await request("ProductMediaPage", { id, after, first: nextSizes.images }, options);
    return checkState(next.product).media;
  });
  const metafields = await readRemaining("metafields", product.metafields ?? noPage, async (after) => {
    const next = await request("ProductMetafieldsPage", { id, after, first: nextSizes.metafields }, options);
    return checkState(next.product).metafields;
  });
  const variants = await readRemaining("variants", product.variants, async (after) => {
    const { variants: first, variantMetafields } = nextSizes;
    const next = await request("ProductVariantsPage", { id, after, first, variantMetafields }, options);
    return checkState(next.product).variants;
  });
  return {
    ...product,
    images,
    media,
    metafields,
    variants: await completeVariants(request, product, variants, options),
  };
}

async function completeVariants(
  request: SendRequest,
  { id: productId, updatedAt }: FirstPage,
  variants: readonly PagedVariant[],
  options: RequestOptions,
): Promise<CompleteVariant[]> {
  const complete: CompleteVariant[] = [];
  for (const variant of variants) {
    const metafields = await readRemaining("metafields of a variant", variant.metafields ?? noPage, async (after) => {
      const variables = { id: variant.id, productId, first: nextSizes.metafields, after };
      const { product, productVariant } = await request("VariantMetafieldsPage", variables, options);
      if (product?.updatedAt !== updatedAt || productVariant === null) {
        throw new ChangedWhileRead([updatedAt, product?.updatedAt]);
      }
      return productVariant.metafields;
    });
    complete.push({ ...variant, metafields });
  }
  return complete;
}

async function readRemaining<Node>(
  name: string,
  first: NodePage<Node>,
  next: (after: string | null) => Promise<NodePage<Node> | undefined>,
): Promise<Node[]> {
  const nodes = [...first.nodes];
  for (let { pageInfo } = first; pageInfo.hasNextPage; ) {
    const page = await next(pageInfo.endCursor);
    if (page === undefined) throw new UnusableProductError(`was sent without its ${name}`);
    if (page.pageInfo.hasNextPage && page.pageInfo.endCursor === pageInfo.endCursor) {
      throw new UnusableProductError(`was sent with pages of its ${name} that do not end`);
    }
    nodes.push(...page.nodes);
    ({ pageInfo } = page);
  }
  return nodes;
}
