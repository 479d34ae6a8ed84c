/** @jsxImportSource hono/jsx */
import { personalizationPath } from "../contract/personalization.ts";
import type { Product } from "../contract/product.ts";

interface HowItWorksProps {
  readonly id: Product["id"];
  readonly sku: string;
  readonly publicUrl: string;
  /** Includes the version. */
  readonly widgetPath: string;
}

export function HowItWorks({ id, sku, publicUrl, widgetPath }: HowItWorksProps) {
  const requestPath = `/api/v1${personalizationPath(sku)}`;
  return (
    <section class="explanation">
      <h2>How this page is built</h2>
      <p>The product and its personalization come from two operations:</p>
      <ul>
        <li>
          <a href={`/api/v1/products/${id}`}>{`GET /api/v1/products/${id}`}</a>
        </li>
        <li>
          <a id="personalization-request" href={requestPath}>{`GET ${requestPath}`}</a>
        </li>
      </ul>
      <p>To add personalization to any page, add a script, and an element inside the product form:</p>
      <pre>
        <code>
          {markupBeforeSku(publicUrl)}
          <span id="sku">{sku}</span>
          {markupAfterSku}
        </code>
      </pre>
      <p>
        The script's URL has no version, so browsers check for a new one every five minutes. Browsers cache the
        versioned URL permanently: <code>{publicUrl + widgetPath}</code>.
      </p>
      <p>
        <a href="/docs">API reference</a>
      </p>
    </section>
  );
}

const markupBeforeSku = (root: string) => `<script type="module" src="${root}/personalization-options.js"></script>

<form action="/cart/add" method="post" novalidate>
  …
  <personalization-options sku="`;

const markupAfterSku = `"></personalization-options>
</form>`;
