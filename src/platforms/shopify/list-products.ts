import type { ListedProduct } from "../platform.ts";
import type { RequestOptions, SendRequest } from "./client.ts";
import type { Responses } from "./responses.ts";
import { ShopifyError } from "./retry.ts";

const pageSize = 250;
/** Shopify ends a list after 25,000 objects; a new list continues where the last one ended. */
const maxPages = 90;

/** Lists products by their last change, oldest first; see `Platform.listProducts`. */
export async function* listProducts(
  request: SendRequest,
  sinceMs: number | undefined,
  options: RequestOptions,
): AsyncGenerator<ListedProduct[]> {
  let from = sinceMs === undefined ? undefined : toTimestamp(sinceMs);
  for (;;) {
    let last: string | undefined;
    let after: string | null = null;
    for (let page = 0; page < maxPages; page++) {
      const query: string | null = from === undefined ? null : `updated_at:>='${from}'`;
      const { products }: Responses["ProductsUpdatedSince"] = await request(
        "ProductsUpdatedSince",
        { query, first: pageSize, after },
        options,
      );
      if (products.nodes.length > 0) {
        yield products.nodes.map(({ legacyResourceId, updatedAt }) => ({ id: BigInt(legacyResourceId), updatedAt }));
      }
      last = products.nodes.at(-1)?.updatedAt ?? last;
      if (!products.pageInfo.hasNextPage) return;
      after = products.pageInfo.endCursor;
    }
    if (last === undefined || last === from) {
      const message = "too many products changed in the same second to list them; run catalog-reconcile";
      throw new ShopifyError("ProductsUpdatedSince", { kind: "graphql", codes: ["PAGINATION"], message });
    }
    from = last;
  }
}

/** Shopify's timestamps have whole seconds. */
export const toTimestamp = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

export async function findProductId(
  request: SendRequest,
  handle: string,
  options: RequestOptions,
): Promise<bigint | undefined> {
  const { productByIdentifier } = await request("ProductByHandle", { handle }, options);
  return productByIdentifier === null ? undefined : BigInt(productByIdentifier.legacyResourceId);
}

export async function countProducts(request: SendRequest, options: RequestOptions): Promise<number> {
  const { productsCount } = await request("ProductsCount", {}, options);
  return productsCount?.count ?? 0;
}
