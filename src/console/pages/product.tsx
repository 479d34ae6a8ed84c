/** @jsxImportSource hono/jsx */
import { formatNumber } from "../../base/format.ts";
import { parseJson, toReadableJson } from "../../base/json.ts";
import { type FoundProduct, findProduct, findProductState, type ProductState } from "../../catalog/product.ts";
import type { Metafield, Product, Variant } from "../../contract/product.ts";
import { parseProductId } from "../../contract/product-values.ts";
import { readNow } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import {
  CommaSeparated,
  EmptyState,
  ExactTime,
  type Fact,
  Facts,
  Preformatted,
  Section,
  SkuLink,
} from "../components/elements.tsx";
import { imageOrigins, ProductImages, withSampleImageUrls } from "../components/product-images.tsx";
import { type Column, Table } from "../components/table.tsx";
import { type ConsoleContext, type PageContent, publicRoot } from "../context.ts";
import { queryParameter, urlWithQuery } from "../urls.ts";

/** `GET /products/:id?variant=`: everything stored about a product. */
export async function productPage(context: ConsoleContext, request: PageRequest): Promise<PageContent | undefined> {
  const { database } = context;
  const id = parseProductId(request.parameter("id"));
  const found = id === undefined ? undefined : await findProduct(database, id);
  if (id === undefined || found === undefined) return undefined;
  const state = await findProductState(database, id);
  const product = parseJson(new TextDecoder().decode(found.document)) as Product;
  const root = publicRoot(context, request);
  const images = context.servesSampleImages === true ? withSampleImageUrls(product.images, root) : product.images;
  const origins = imageOrigins(images);
  const now = Date.parse(await readNow(database));
  return {
    title: product.title === "" ? `Product ${product.id}` : product.title,
    body: (
      <>
        <Facts
          facts={[
            ...factsOf(product, found, state, now),
            ["Public API", <a href={`${root}/api/v1/products/${product.id}`}>View response</a>],
          ]}
        />
        <ProductImages images={images} allowedOrigins={origins} />
        <ProductDetails product={product} variant={queryParameter(request, "variant")} />
      </>
    ),
    allowedOrigins: { images: origins },
  };
}

/** @param state undefined if the product has just been removed */
function factsOf(product: Product, found: FoundProduct, state: ProductState | undefined, now: number): Fact[] {
  const { id, handle, status, vendor, product_type, tags, created_at, updated_at, published_at } = product;
  const time = (at: string | null, otherwise: string) =>
    at === null ? otherwise : <ExactTime at={new Date(at).toISOString()} now={now} />;
  return [
    ["ID", <code>{`${id}`}</code>],
    ["Handle", <code>{handle}</code>],
    ["Status", <a href={urlWithQuery("/products", { status })}>{status}</a>],
    ["Vendor", vendor === "" ? "none" : <a href={urlWithQuery("/products", { vendor })}>{vendor}</a>],
    ["Type", product_type === "" ? "none" : product_type],
    ["Tags", tags === "" ? "none" : <CommaSeparated items={tags.split(", ").map(linkToTag)} />],
    ["Created", time(created_at, "")],
    ["Updated", time(updated_at, "")],
    ["Published", time(published_at, "not published")],
    [
      "Last verified",
      time(found.checkedAt, state?.way === "import" ? "never compared with the platform" : "will be read again"),
    ],
    ["Last read", time(state?.readFrom || null, "unknown")],
    ["Read by", readBy(state)],
    ["Entity tag", <code>{found.tag}</code>],
    ["Size", `${formatNumber(found.document.length)} bytes of JSON`],
  ];
}

const linkToTag = (tag: string) => <a href={urlWithQuery("/products", { tag })}>{tag}</a>;

function readBy(state: ProductState | undefined): string {
  if (state === undefined || state.way === "") return "unknown";
  const tookMs = Date.parse(state.readUntil) - Date.parse(state.readFrom);
  return state.way === "import" ? "import" : `${state.way}, in ${formatNumber(tookMs)} ms`;
}

function ProductDetails({ product, variant }: { readonly product: Product; readonly variant: string | undefined }) {
  const selected = product.variants.find(({ id }) => `${id}` === variant);
  return (
    <>
      <Section id="options" title="Options">
        <Facts facts={product.options.map(({ name, values }) => [name, values.join(", ")] as const)} />
      </Section>
      <Section id="variants" title={`Variants (${formatNumber(product.variants.length)})`}>
        <Table columns={variantColumns(product)} rows={product.variants} label="Variants">
          <EmptyState title="No variants" />
        </Table>
        {selected === undefined ? (
          <p class="muted">Select a variant to see its metafields.</p>
        ) : (
          <section aria-labelledby="variant">
            <h3 id="variant">
              Metafields of {selected.title} {selected.sku}
            </h3>
            <Metafields metafields={selected.metafields} owner={`the variant ${selected.title} ${selected.sku}`} />
          </section>
        )}
      </Section>
      <Section id="metafields" title="Metafields">
        <Metafields metafields={product.metafields} owner="the product" />
      </Section>
      <Section id="json" title="JSON">
        <details>
          <summary>Show the stored product</summary>
          <Preformatted label="Product as JSON" text={toReadableJson(product)} />
        </details>
      </Section>
    </>
  );
}

const variantColumns = (product: Product): readonly Column<Variant>[] => [
  {
    title: "Variant",
    cell: ({ id, title }) => (
      <a href={`/products/${product.id}?variant=${id}#variant`}>{title === "" ? "Untitled" : title}</a>
    ),
  },
  { title: "SKU", cell: ({ sku }) => (sku === "" ? <span class="muted">none</span> : <SkuLink sku={sku} />) },
  { title: "Price", value: ({ price }) => price, isNumber: true },
  { title: "Compare-at price", value: (variant) => variant.compare_at_price, isNumber: true },
  { title: "Stock", value: (variant) => variant.inventory_quantity, isNumber: true },
  { title: "Barcode", value: ({ barcode }) => barcode },
  { title: "Weight", value: (variant) => `${variant.weight} ${variant.weight_unit}` },
  { title: "ID", value: ({ id }) => `${id}` },
];

const metafieldColumns: readonly Column<Metafield>[] = [
  {
    title: "Key",
    cell: ({ namespace, key }) => (
      <>
        <code>{key}</code>
        {namespace === "global" ? "" : <div class="muted">{namespace}</div>}
      </>
    ),
  },
  { title: "Value", value: ({ value }) => value, class: "break-anywhere" },
];

const Metafields = ({ metafields, owner }: { readonly metafields: readonly Metafield[]; readonly owner: string }) => (
  <Table columns={metafieldColumns} rows={metafields} label={`Metafields of ${owner}`}>
    <p class="muted">None.</p>
  </Table>
);
