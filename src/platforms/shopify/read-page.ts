import type { CatalogPage, PlatformProduct, UnusableProduct } from "../platform.ts";
import type { RequestOptions, SendRequest, SentRequest } from "./client.ts";
import { localTimeFormatter } from "./local-time.ts";
import { convert } from "./mapping.ts";
import type { Page, ShopifyShop } from "./queries.ts";
import { type FirstPage, firstSizes, settleMs, toComplete } from "./read-product.ts";
import { type Failure, ShopifyError } from "./retry.ts";

interface PageResponse {
  readonly shop: ShopifyShop;
  readonly products: Page<FirstPage>;
}

/** The most products per request. 50 cost seven times as much as one. */
const maxPageSize = 50;
/** Shopify ends a list after 25,000 objects; a new list continues where the last one ended. */
const maxListed = 25_000;

/** Reads all products in the order of their ids, several per request; see `Platform.readPages`. */
export async function* readPages(
  request: SendRequest,
  after: bigint | undefined,
  options: RequestOptions,
): AsyncGenerator<CatalogPage> {
  let first = maxPageSize;
  let last = after;
  let position = startAfter(last);
  for (let listed = 0; ; ) {
    let sent: SentRequest | undefined;
    const onResponse = (request: SentRequest) => {
      sent = request;
    };
    let page: PageResponse;
    try {
      page = await request("ProductsPage", { ...position, first, ...firstSizes }, { ...options, onResponse });
    } catch (error) {
      if (!(error instanceof ShopifyError) || !isTooLarge(error.failure) || first === 1) throw error;
      first = Math.floor(first / 2);
      continue;
    }
    last = lastIdOf(page);
    if (last === undefined) return;
    yield toCatalogPage(page, last, sent);
    listed += page.products.nodes.length;
    const { hasNextPage, endCursor } = page.products.pageInfo;
    if (listed + maxPageSize > maxListed) {
      listed = 0;
      position = startAfter(last);
    } else if (hasNextPage) position = { ...position, after: endCursor };
    else return;
  }
}

/** Where a list starts: at the first product, or after an id. */
const startAfter = (id: bigint | undefined): { query: string | null; after: string | null } => ({
  query: id === undefined ? null : `id:>${id}`,
  after: null,
});

function lastIdOf({ products }: PageResponse): bigint | undefined {
  const last = products.nodes.at(-1);
  return last && BigInt(last.legacyResourceId);
}

function toCatalogPage({ shop, products }: PageResponse, lastId: bigint, sent: SentRequest | undefined): CatalogPage {
  const startedAtMs = sent?.sentAtMs ?? 0;
  const toLocal = localTimeFormatter(shop.ianaTimezone);
  const converted: (PlatformProduct | UnusableProduct)[] = [];
  const unread: bigint[] = [];
  for (const product of products.nodes) {
    const complete = toComplete(product);
    if (complete === undefined) {
      unread.push(BigInt(product.legacyResourceId));
      continue;
    }
    const read = convert(complete, toLocal, sent?.documents);
    const isSettled = startedAtMs >= Date.parse(product.updatedAt) + settleMs;
    converted.push("unusable" in read ? read : { ...read, isSettled });
  }
  return { shopId: shop.id, readAtMs: startedAtMs, products: converted, unread, lastId };
}

/** Whether a smaller page may succeed. */
function isTooLarge(failure: Failure): boolean {
  if (failure.kind === "status") return failure.status === 504;
  return failure.kind === "graphql" && failure.codes.some((code) => code === "MAX_COST_EXCEEDED" || code === "TIMEOUT");
}

const probeSizes = { first: 5, images: 1, variants: 1, variantMetafields: 1, metafields: 1 };

/**
 * Reads a few products, so that the refused fields are known before a bulk operation, which would
 * fail without naming them.
 * @throws ShopifyError when a required field is refused
 */
export async function findRefusedFields(request: SendRequest, options: RequestOptions): Promise<void> {
  await request("ProductsPage", { query: null, after: null, ...probeSizes }, options);
}
