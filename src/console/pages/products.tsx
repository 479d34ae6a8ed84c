/** @jsxImportSource hono/jsx */
import { formatNumber, pluralize } from "../../base/format.ts";
import { parseJson } from "../../base/json.ts";
import { countHiddenProducts, countStoredProducts, findProduct } from "../../catalog/product.ts";
import { type ProductFilter, type SearchedProduct, searchProducts } from "../../catalog/search.ts";
import type { Product } from "../../contract/product.ts";
import { parseProductId } from "../../contract/product-values.ts";
import type { Database } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import { EmptyState } from "../components/elements.tsx";
import { Select, TextField } from "../components/fields.tsx";
import { type Column, Table } from "../components/table.tsx";
import type { ConsoleContext, PageContent } from "../context.ts";
import { queryParameter, urlOf, urlWithQuery } from "../urls.ts";

const productsPerPage = 25;
const skusPerRow = 3;
const maxTextLength = 200;
const statuses = ["active", "unlisted", "draft", "archived"];

/**
 * `GET /products?q=&status=&vendor=&tag=&after=`: products by ID, handle, SKU, or title words, and by
 * what they have, in pages.
 */
export async function productsPage({ database }: ConsoleContext, request: PageRequest): Promise<PageContent> {
  const filter = filterOf(request);
  const [total, hidden, found] = await Promise.all([
    countStoredProducts(database),
    countHiddenProducts(database),
    findProducts(database, filter, productsPerPage + 1),
  ]);
  const products = found.slice(0, productsPerPage).map(({ document }) => parseJson(document) as Product);
  const next = found.length > productsPerPage ? `${products.at(-1)?.id}` : undefined;
  return {
    body: (
      <>
        <SearchForm filter={filter} />
        {total === 0 ? (
          <NoProducts />
        ) : (
          <>
            <p class="muted">
              {pluralize(total, "product")} stored.{" "}
              {hidden > 0 && (
                <>
                  {formatNumber(hidden)} of them {hidden === 1 ? "is" : "are"} hidden: drafts, archived, or not
                  published. They are served only with <code>VISIBLE=all</code>.
                </>
              )}
            </p>
            <Table columns={columns} rows={products} label="Products">
              <NoMatch />
            </Table>
            <nav class="pagination" aria-label="Pages">
              {filter.after !== undefined && <a href={urlOf(request, { after: undefined })}>First products</a>}
              {next !== undefined && <a href={urlOf(request, { after: next })}>Next products</a>}
            </nav>
          </>
        )}
      </>
    ),
  };
}

function filterOf(request: PageRequest): ProductFilter {
  const text = (name: string) => queryParameter(request, name)?.slice(0, maxTextLength);
  return {
    text: text("q"),
    status: text("status"),
    vendor: text("vendor"),
    tag: text("tag"),
    after: parseProductId(queryParameter(request, "after") ?? ""),
  };
}

/** The product with this ID, or else at most `limit` products that match. */
export async function findProducts(
  database: Database,
  filter: ProductFilter,
  limit: number,
): Promise<SearchedProduct[]> {
  const id = filter.text === undefined ? undefined : parseProductId(filter.text);
  const product = id === undefined ? undefined : await findProduct(database, id);
  if (product !== undefined) return [{ id: `${id}`, document: new TextDecoder().decode(product.document) }];
  return await searchProducts(database, filter, limit);
}

const SearchForm = ({ filter: { text, status, vendor, tag } }: { readonly filter: ProductFilter }) => (
  <form class="filter" action="/products">
    <TextField type="search" name="q" label="Product ID, handle, SKU, or title words" value={text} class="wide" />
    <Select name="status" label="Status" options={[{ value: "", text: "All" }, ...statuses]} selected={status} />
    <TextField name="vendor" label="Vendor, exactly" value={vendor} />
    <TextField name="tag" label="Tag, exactly" value={tag} />
    <button type="submit" class="primary">
      Search
    </button>
  </form>
);

const columns: readonly Column<Product>[] = [
  {
    title: "Product",
    cell: ({ id, title, handle }) => (
      <>
        <a href={`/products/${id}`}>{title === "" ? "Untitled" : title}</a>
        <div class="muted">{handle}</div>
      </>
    ),
  },
  { title: "ID", value: ({ id }) => `${id}` },
  {
    title: "Vendor",
    cell: ({ vendor }) => (vendor === "" ? "" : <a href={urlWithQuery("/products", { vendor })}>{vendor}</a>),
  },
  { title: "Status", value: ({ status }) => status },
  { title: "Variants", value: ({ variants }) => variants.length, isNumber: true },
  { title: "First SKUs", value: ({ variants }) => summarizeSkus(variants.map(({ sku }) => sku)), class: "muted" },
];

function summarizeSkus(skus: readonly string[]): string {
  const present = skus.filter((sku) => sku !== "");
  const first = present.slice(0, skusPerRow).join(", ");
  return present.length > skusPerRow ? `${first}, and ${present.length - skusPerRow} more` : first;
}

const NoMatch = () => (
  <EmptyState title="No products match.">
    <p>
      Products must match every word, in any order, and every other field. The last word may be incomplete; case and
      accents are ignored. Recent changes on the platform appear after the next run of a catalog job.
    </p>
    <p>
      <a href="/products">Show all products</a>
    </p>
  </EmptyState>
);

const NoProducts = () => (
  <EmptyState title="No products are stored.">
    <p>
      Import a file with <code>pds import products FILE</code>, or configure the <code>catalog-import</code> or{" "}
      <code>catalog-reconcile</code> job.
    </p>
  </EmptyState>
);
