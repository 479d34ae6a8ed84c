/** @jsxImportSource hono/jsx */
import type { Database } from "../../database/database.ts";
import { countHiddenProducts, countProducts, findProduct } from "../../database/product.ts";
import { type SearchedProduct, searchProducts } from "../../database/search.ts";
import { pluralize } from "../../format.ts";
import { parseJson } from "../../json.ts";
import { type Product, parseProductId } from "../../model/product.ts";
import type { PageRequest } from "../../page.ts";
import { EmptyState } from "../components/elements.tsx";
import { NumberCell, numeric, Table } from "../components/table.tsx";
import type { ConsoleContext, PageContent } from "../context.ts";
import { queryParameter } from "../urls.ts";

const productLimit = 25;
const skusPerRow = 3;

/** `GET /products?q=`: products by ID, handle, SKU, or title words. */
export async function productsPage({ database }: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const query = queryParameter(request, "q")?.slice(0, 200);
  const total = await countProducts(database);
  const found = query === undefined ? [] : await findProducts(database, query);
  return {
    body: (
      <>
        <form class="filter" action="/products">
          <label class="wide">
            <span>Product ID, handle, SKU, or title words</span>
            <input type="search" name="q" value={query ?? ""} autocomplete="off" spellcheck={false} />
          </label>
          <button type="submit">Search</button>
        </form>
        {query === undefined ? (
          <SearchHelp total={total} hidden={await countHiddenProducts(database)} />
        ) : (
          <SearchResult query={query} found={found} />
        )}
      </>
    ),
  };
}

/** Returns one product more than is shown if there are more. */
async function findProducts(database: Database, query: string): Promise<SearchedProduct[]> {
  const id = parseProductId(query);
  const product = id === undefined ? undefined : await findProduct(database, id);
  if (product !== undefined) return [{ id: `${id}`, document: new TextDecoder().decode(product.document) }];
  return await searchProducts(database, query, productLimit + 1);
}

interface SearchResultProps {
  readonly query: string;
  readonly found: readonly SearchedProduct[];
}

function SearchResult({ query, found }: SearchResultProps) {
  const products = found.slice(0, productLimit).map(({ document }) => parseJson(document) as Product);
  if (products.length === 0) {
    return (
      <EmptyState title={`No products match “${query}”.`}>
        <p>
          Try fewer words, or only the start of a word. Recent changes on the platform appear after the next run of a
          catalog job.
        </p>
      </EmptyState>
    );
  }
  return (
    <>
      <p class="muted">
        {found.length > productLimit
          ? `Showing the first ${productLimit} products. Add a word to narrow the search.`
          : `${pluralize(products.length, "product")} found.`}
      </p>
      <ProductTable products={products} />
    </>
  );
}

const ProductTable = ({ products }: { readonly products: readonly Product[] }) => (
  <Table columns={["Product", "ID", "Vendor", "Status", numeric("Variants"), "First SKUs"]} label="Products">
    {products.map(({ id, title, handle, vendor, status, variants }) => (
      <tr>
        <th scope="row">
          <a href={`/products/${id}`}>{title === "" ? "Untitled" : title}</a>
          <div class="muted">{handle}</div>
        </th>
        <td>{`${id}`}</td>
        <td>{vendor}</td>
        <td>{status}</td>
        <NumberCell value={variants.length} />
        <td class="muted">{summarizeSkus(variants.map(({ sku }) => sku))}</td>
      </tr>
    ))}
  </Table>
);

function summarizeSkus(skus: readonly string[]): string {
  const present = skus.filter((sku) => sku !== "");
  const first = present.slice(0, skusPerRow).join(", ");
  return present.length > skusPerRow ? `${first}, and ${present.length - skusPerRow} more` : first;
}

const SearchHelp = ({ total, hidden }: { readonly total: number; readonly hidden: number }) =>
  total === 0 ? (
    <EmptyState title="No products are stored.">
      <p>
        Import a file with <code>pds import products FILE</code>, or configure the <code>catalog-import</code> or{" "}
        <code>catalog-reconcile</code> job.
      </p>
    </EmptyState>
  ) : (
    <EmptyState title={`Search ${pluralize(total, "product")}`}>
      <p>
        Products must match every word, in any order. The last word may be incomplete. Case and accents are ignored.
      </p>
      {hidden > 0 && (
        <p>
          {`Hidden products: ${hidden} of ${total}, because they are drafts, archived, or not published. `}
          They are served only with <code>VISIBLE=all</code>.
        </p>
      )}
    </EmptyState>
  );
