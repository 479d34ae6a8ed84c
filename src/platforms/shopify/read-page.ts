import type { CatalogPage, PlatformProduct, UnusableProduct } from "../platform.ts";
import type { RequestOptions, SendRequest, SentRequest } from "./client.ts";
import { convert, unitsOf } from "./mapping.ts";
import { firstSizes, toComplete } from "./read-product.ts";
import { product as productShape, type Responses } from "./responses.ts";
import { isOfProducts, isTooLarge, ShopifyError } from "./retry.ts";

/** A request for 50 products costs only seven times as much as one for a single product. */
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
    const variables = { ...position, first };
    let read: PageRead;
    try {
      read = await readPage(request, variables, options);
    } catch (error) {
      if (!(error instanceof ShopifyError)) throw error;
      if (isTooLarge(error.failure) && first > 1) {
        first = Math.floor(first / 2);
        continue;
      }
      if (error.isGeneral || !isOfProducts(error.failure)) throw error;
      read = await readIds(request, variables, options);
    }
    const { nodes, pageInfo } = read.products;
    const lastNode = nodes.at(-1);
    if (lastNode === undefined) return;
    last = BigInt(lastNode.legacyResourceId);
    yield { ...read.page, lastId: last };
    listed += nodes.length;
    if (listed + maxPageSize > maxListed) {
      listed = 0;
      position = startAfter(last);
    } else if (pageInfo.hasNextPage) position = { ...position, after: pageInfo.endCursor };
    else return;
  }
}

interface PageRead {
  readonly products: Responses["ProductIdsPage"]["products"];
  readonly page: Omit<CatalogPage, "lastId">;
}

async function readPage(request: SendRequest, variables: object, options: RequestOptions): Promise<PageRead> {
  const response = await request("ProductsPage", { ...variables, ...firstSizes }, options);
  return { products: response.products, page: toCatalogPage(response, response.sent) };
}

/** One of the products cannot be read, but the error does not say which. */
async function readIds(request: SendRequest, variables: object, options: RequestOptions): Promise<PageRead> {
  const { shop, products } = await request("ProductIdsPage", variables, options);
  const unread = products.nodes.map(({ legacyResourceId }) => BigInt(legacyResourceId));
  return { products, page: { shopId: shop.id, readAtMs: 0, products: [], unread } };
}

const startAfter = (id: bigint | undefined): { query: string | null; after: string | null } => ({
  query: id === undefined ? null : `id:>${id}`,
  after: null,
});

function toCatalogPage(
  { shop, products }: Responses["ProductsPage"],
  { sentAtMs: readAtMs, documents }: SentRequest,
): PageRead["page"] {
  const units = unitsOf(shop.ianaTimezone, shop.weightUnit, readAtMs);
  const converted: (PlatformProduct | UnusableProduct)[] = [];
  const unread: bigint[] = [];
  for (const product of products.nodes) {
    // Read alone, such a product is named, and the others of the page are stored.
    const complete = productShape(product) === undefined ? toComplete(product) : undefined;
    if (complete === undefined) unread.push(BigInt(product.legacyResourceId));
    else converted.push(convert(complete, units, documents));
  }
  return { shopId: shop.id, readAtMs, products: converted, unread };
}

const probeSizes = { first: 5, images: 1, variants: 1, variantMetafields: 1, metafields: 1 };

/**
 * Finds refused fields before a bulk operation, which would fail without naming them.
 * @throws ShopifyError when a required field is refused
 */
export async function findRefusedFields(request: SendRequest, options: RequestOptions): Promise<void> {
  try {
    await request("ProductsPage", { query: null, after: null, ...probeSizes }, options);
  } catch (error) {
    // One of these products cannot be read, which says nothing about fields.
    if (!(error instanceof ShopifyError) || error.isGeneral || !isOfProducts(error.failure)) throw error;
  }
}
