/** @jsxImportSource hono/jsx */
import packageJson from "../../package.json" with { type: "json" };
import { personalizationPath } from "../contract/personalization.ts";
import type { Product } from "../contract/product.ts";
import type { Handler } from "../http/endpoint.ts";
import { fileHandler } from "../http/static-file.ts";
import { operations } from "../operations/index.ts";
import type { OperationRoute } from "../operations/operation.ts";
import { selectVariant } from "../sample/catalog.ts";
import { sampleImagePath } from "../sample/shop.ts";
import { Layout, pageHeaders } from "./page.tsx";

export interface IndexContext {
  /** How addresses begin; empty for relative ones. */
  readonly root: string;
  /** Undefined without an example shop. */
  readonly examplePath: string | undefined;
  /** Returns a stored product, preferably one that can be personalized. */
  readonly findProduct: () => Promise<Product | undefined>;
}

const refreshMs = 60_000;

/**
 * `GET /`: a page for browsers, and a list of addresses for programs, with a stored product as the
 * example.
 */
export function createIndex(context: IndexContext): Handler {
  let handlers: ReturnType<typeof createHandlers> | undefined;
  let refreshAtMs = 0;
  return async (request, ...rest) => {
    if (handlers === undefined || performance.now() >= refreshAtMs) {
      // People need the addresses most when the store is unavailable.
      handlers = createHandlers(context, await context.findProduct().catch(() => undefined));
      refreshAtMs = performance.now() + refreshMs;
    }
    const isForPage = /\btext\/html\b/i.test(request.headers.get("accept") ?? "");
    return await handlers[isForPage ? "page" : "index"](request, ...rest);
  };
}

function createHandlers(context: IndexContext, product: Product | undefined) {
  const headers = { Vary: "Accept, Accept-Encoding" };
  return {
    page: fileHandler(() => ({
      type: "text/html; charset=utf-8",
      body: `<!doctype html>${<IndexPage {...context} product={product} />}`,
      headers: { ...pageHeaders, ...headers },
    })),
    index: fileHandler(() => ({
      type: "application/json",
      body: JSON.stringify(toIndex(context, product)),
      headers,
    })),
  };
}

const routes = operations.flatMap((operation) => operation.routes);

const toIndex = ({ root, examplePath }: IndexContext, product: Product | undefined) => ({
  name: "Product Data Service",
  version: packageJson.version,
  reference: `${root}/docs`,
  openapi: `${root}/openapi.json`,
  widget: `${root}/personalization-options.js`,
  ...(examplePath !== undefined && { example: root + examplePath }),
  operations: routes.map(({ operationId, summary, path, parameters = {} }) => ({
    id: operationId,
    summary,
    // A URI template (RFC 6570).
    url: root + path.replace(/:(\w+)/g, "{$1}") + toQueryTemplate(parameters),
  })),
  ...(product !== undefined && { examples: identifiersOf(product) }),
});

function identifiersOf(product: Product) {
  const sku = selectVariant(product)?.sku ?? "";
  return { id: `${product.id}`, handle: product.handle, ...(sku !== "" && { sku }) };
}

function toQueryTemplate(parameters: OperationRoute["parameters"] & object): string {
  const names = Object.keys(parameters).filter((name) => parameters[name]?.in === "query");
  return names.length === 0 ? "" : `{?${names.map((name) => `${name}*`).join(",")}}`;
}

function IndexPage({ root, examplePath, product }: IndexContext & { product: Product | undefined }) {
  const { sku = "SKU", id = "ID" }: { sku?: string; id?: string } = product === undefined ? {} : identifiersOf(product);
  const calls = [
    ["Which personalization does this SKU offer?", `/api/v1${personalizationPath(sku)}`],
    ["Did the jobs that bring the data run?", "/api/v1/histories/desc"],
    ["What are the details of this product?", `/api/v1/products/${id}`],
  ] as const;
  return (
    <Layout title="Product Data Service">
      <nav aria-label="Contents">
        <ul>
          <li>
            <a href="/docs">API reference</a>
          </li>
          <li>
            <a href="/openapi.json">OpenAPI</a>
          </li>
          {examplePath !== undefined && (
            <li>
              <a href={examplePath}>Example shop</a>
            </li>
          )}
        </ul>
      </nav>
      <main>
        <h1>
          Product Data Service <small>{packageJson.version}</small>
        </h1>
        <p>{packageJson.description}</p>
        {calls.map(([question, path]) => (
          <>
            <h2>{question}</h2>
            <pre>
              {/* Without a product, there is nothing to link to. */}
              <code>GET {product === undefined ? root + path : <a href={path}>{root + path}</a>}</code>
            </pre>
          </>
        ))}
        {product === undefined ? <p>No product that shoppers may see is stored.</p> : <ProductCard product={product} />}
      </main>
    </Layout>
  );
}

function ProductCard({ product: { title, images, vendor } }: { product: Product }) {
  const image = images[0] && sampleImagePath(images[0].src);
  return (
    <>
      {image !== undefined && <img src={image} alt={images[0]?.alt ?? title} />}
      <p>
        {title} <small>{vendor}</small>
      </p>
    </>
  );
}
