/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { examplePath } from "./shop.ts";

interface LayoutProps {
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
        {/* Keeps browsers from requesting /favicon.ico. */}
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/example/style.css" />
        {scripts.map((url) => (
          <script type="module" src={url} />
        ))}
      </head>
      <body>
        <header>
          <a class="brand" href={examplePath}>
            {brand}
          </a>
          <p>Example product page. Nothing is for sale here.</p>
        </header>
        <main>{children}</main>
      </body>
    </html>
  );
}
