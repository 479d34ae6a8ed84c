/** @jsxImportSource hono/jsx */
import { countProducts, findProduct } from "../database/product.ts";
import { type SearchedProduct, searchProducts } from "../database/search.ts";
import { parseJson } from "../json.ts";
import { type Product, parseProductId } from "../product.ts";
import type { ConsoleContext } from "./context.ts";
import { counted } from "./format.ts";
import { Layout } from "./layout.tsx";
import { asked, type Render, toPage } from "./page.ts";
import { Empty, Table } from "./parts.tsx";

const shownProducts = 25;

/** `GET /products?q=`: products by identifier, handle, SKU or words of the title. */
export function productsPage({ database }: ConsoleContext): Render {
  return async (request) => {
    const text = asked(request, "q")?.slice(0, 200);
    const total = await countProducts(database);
    // One more, to know whether there are more.
    const found = text === undefined ? [] : await findProducts(database, text);
    const products = found.slice(0, shownProducts).map(({ document }) => parseJson(document) as Product);
    return toPage(
      <Layout title="Products" section="/products">
        <form class="filter" action="/products">
          <label class="wide">
            <span>Identifier, handle, SKU or words of the title</span>
            <input type="search" name="q" value={text ?? ""} autocomplete="off" spellcheck={false} />
          </label>
          <button type="submit">Find</button>
        </form>
        {text === undefined ? (
          <Invitation total={total} />
        ) : products.length === 0 ? (
          <NothingFound text={text} />
        ) : (
          <>
            <p class="quiet">
              {found.length > shownProducts
                ? `The first ${shownProducts} of more; another word says which.`
                : `${counted(products.length, "product")} found.`}
            </p>
            <Products products={products} />
          </>
        )}
      </Layout>,
    );
  };
}

async function findProducts(database: ConsoleContext["database"], text: string): Promise<SearchedProduct[]> {
  const id = parseProductId(text);
  const one = id === undefined ? undefined : await findProduct(database, id);
  if (one !== undefined) return [{ id: `${id}`, document: new TextDecoder().decode(one.document) }];
  return await searchProducts(database, text, shownProducts + 1);
}

function Products({ products }: { readonly products: readonly Product[] }) {
  return (
    <Table head={["Product", "Identifier", "Vendor", "Status", "Variants", "First SKUs"]} label="Products">
      {products.map(({ id, title, handle, vendor, status, variants }) => (
        <tr>
          <th scope="row">
            <a href={`/products/${id}`}>{title === "" ? "Without a title" : title}</a>
            <div class="quiet">{handle}</div>
          </th>
          <td>{`${id}`}</td>
          <td>{vendor}</td>
          <td>{status}</td>
          <td class="number">{variants.length}</td>
          <td class="quiet">{someSkus(variants.map(({ sku }) => sku))}</td>
        </tr>
      ))}
    </Table>
  );
}

function someSkus(skus: readonly string[]): string {
  const named = skus.filter((sku) => sku !== "");
  return named.length > 3 ? `${named.slice(0, 3).join(", ")} and ${named.length - 3} more` : named.join(", ");
}

const Invitation = ({ total }: { readonly total: number }) =>
  total === 0 ? (
    <Empty title="No product is stored.">
      <p>
        Import a file with <code>pds import products FILE</code>, or configure the job <code>catalog-import</code> or{" "}
        <code>catalog-reconcile</code>.
      </p>
    </Empty>
  ) : (
    <Empty title={`${counted(total, "product")} to look among.`}>
      <p>All words must be there, in any order; the last one may be only begun. Case and accents do not matter.</p>
    </Empty>
  );

const NothingFound = ({ text }: { readonly text: string }) => (
  <Empty title={`No stored product is found by “${text}”.`}>
    <p>
      Try fewer words, or the beginning of one. A product that was changed on the platform a moment ago comes with the
      next run.
    </p>
  </Empty>
);
