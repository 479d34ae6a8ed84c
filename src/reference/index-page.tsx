/** @jsxImportSource hono/jsx */
import packageJson from "../../package.json" with { type: "json" };
import type { Handler } from "../http/endpoint.ts";
import { fileHandler } from "../http/static-file.ts";
import { operations } from "../operations/index.ts";
import { pageHeaders } from "./page.tsx";

const example = "/api/v1/products/pz?sku=SKU";

/**
 * `GET /`: a page for browsers, and a list of addresses for programs.
 * @param root how the addresses begin; empty for paths
 * @param examplePath path of the example shop, if there is one
 */
export function createIndex(root: string, examplePath: string | undefined): Handler {
  const headers = { Vary: "Accept, Accept-Encoding" };
  const getPage = fileHandler(() => ({
    type: "text/html; charset=utf-8",
    body: `<!doctype html>${<IndexPage root={root} examplePath={examplePath} />}`,
    headers: { ...pageHeaders, ...headers },
  }));
  const getIndex = fileHandler(() => ({
    type: "application/json",
    body: JSON.stringify(toIndex(root, examplePath)),
    headers,
  }));
  return (request, ...rest) =>
    (/\btext\/html\b/i.test(request.headers.get("accept") ?? "") ? getPage : getIndex)(request, ...rest);
}

const toIndex = (root: string, examplePath: string | undefined) => ({
  name: "Product Data Service",
  version: packageJson.version,
  reference: `${root}/docs`,
  openapi: `${root}/openapi.json`,
  widget: `${root}/personalization-options.js`,
  ...(examplePath !== undefined && { example: root + examplePath }),
  operations: operations
    .flatMap(({ routes }) => routes)
    .map(({ operationId, summary, path, parameters = {} }) => ({
      id: operationId,
      summary,
      // A URI template (RFC 6570).
      url: root + path.replace(/:(\w+)/g, "{$1}") + toQueryTemplate(parameters),
    })),
});

function toQueryTemplate(parameters: Readonly<Record<string, { readonly in?: "query" }>>): string {
  const names = Object.keys(parameters).filter((name) => parameters[name]?.in === "query");
  return names.length === 0 ? "" : `{?${names.map((name) => `${name}*`).join(",")}}`;
}

function IndexPage({ root, examplePath }: { root: string; examplePath: string | undefined }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Product Data Service</title>
        {/* Prevents a request for /favicon.ico. */}
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/docs/style.css" />
      </head>
      <body>
        <nav aria-label="Contents">
          <ul>
            <li>
              <a href="/docs">API reference</a>
            </li>
            <li>
              <a href="/openapi.json">OpenAPI</a>
            </li>
            {examplePath === undefined ? (
              ""
            ) : (
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
          <p>Pages and programs read it without credentials. For example, the personalization of a SKU:</p>
          <pre>
            <code>{root === "" ? `GET ${example}` : `curl '${root}${example}'`}</code>
          </pre>
        </main>
      </body>
    </html>
  );
}
