/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { type Answer, toAnswer } from "../answer.ts";
import { notStored } from "../endpoint.ts";

/** Where the example begins. */
export const examplePath = "/example";

/** Its own files only; data of products is text and does nothing. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

export function toPage(html: { toString(): string }): Answer {
  return toAnswer({
    type: "text/html; charset=utf-8",
    body: `<!doctype html>${html}`,
    headers: { ...notStored, "Content-Security-Policy": contentPolicy },
  });
}

export interface LayoutProps {
  readonly title: string;
  readonly brand: string;
  readonly scripts?: readonly string[];
  readonly children?: Child;
}

export function Layout({ title, brand, scripts = [], children }: LayoutProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · ${brand}`}</title>
        {/* Without one a browser asks for /favicon.ico. */}
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/example/style.css" />
        {scripts.map((address) => (
          <script type="module" src={address} />
        ))}
      </head>
      <body>
        <header>
          <a class="brand" href={examplePath}>
            {brand}
          </a>
          <p>An example of a product page. Nothing can be bought here.</p>
        </header>
        <main>{children}</main>
      </body>
    </html>
  );
}
