import type { Request, RequestOptions } from "./client.ts";
import type { Page } from "./queries.ts";
import { PlatformError } from "./retry.ts";

/** A product in a list: enough to tell whether it changed. */
export interface ListedProduct {
  readonly id: bigint;
  readonly updatedAt: string;
}

interface Answer {
  readonly products: Page<{ readonly legacyResourceId: string; readonly updatedAt: string }>;
}

const pageSize = 250;
/** The platform ends a list after 25,000 objects; a new list goes on where the last one ended. */
const pagesOfList = 90;

/**
 * Lists products by their last change, the oldest first, in pages.
 * @param since an instant of the platform; all products when undefined
 */
export async function* listProducts(
  request: Request,
  since: string | undefined,
  options: RequestOptions,
): AsyncGenerator<ListedProduct[]> {
  let from = since;
  for (;;) {
    let last: string | undefined;
    let after: string | null = null;
    for (let page = 0; page < pagesOfList; page++) {
      const query: string | null = from === undefined ? null : `updated_at:>='${from}'`;
      const { products }: Answer = await request("ProductsUpdatedSince", { query, first: pageSize, after }, options);
      if (products.nodes.length > 0) {
        yield products.nodes.map(({ legacyResourceId, updatedAt }) => ({ id: BigInt(legacyResourceId), updatedAt }));
      }
      last = products.nodes.at(-1)?.updatedAt ?? last;
      if (!products.pageInfo.hasNextPage) return;
      after = products.pageInfo.endCursor;
    }
    if (last === undefined || last === from) {
      const message = "too many products changed at the same instant to be listed; run catalog-reconcile";
      throw new PlatformError("ProductsUpdatedSince", { kind: "graphql", codes: ["PAGINATION"], message });
    }
    from = last;
  }
}
