/** @jsxImportSource hono/jsx */
import { ServiceError } from "../base/errors.ts";
import type { Product } from "../contract/product.ts";
import { htmlPage, type Page, type PageRequest, type RenderPage, staticFile } from "../http/page.ts";
import { CartPage } from "./cart-page.tsx";
import { findDefaultProduct, findSampleProduct, listSampleProducts, type SampleContext } from "./catalog.ts";
import { ProductPage } from "./product-page.tsx";
import script from "./script.js" with { type: "text" };
import type { SampleRoute } from "./shop.ts";
import { examplePath } from "./shop.ts";
import style from "./style.css" with { type: "text" };

const recommendationLimit = 8;
const fileCaching = "public, max-age=300";

/** A demo shop, built from the public operations the way a storefront would. */
export function createPages(context: SampleContext): Readonly<Record<SampleRoute, RenderPage>> {
  const { brand, publicUrl } = context;
  const renderProduct = async (product: Product, { url }: PageRequest): Promise<Page> => {
    const others = (await listSampleProducts(context)).filter(({ id }) => id !== product.id);
    const widgetPath = await context.findWidgetPath();
    const props = { product, variantId: url.searchParams.get("variant") ?? undefined, brand, publicUrl, widgetPath };
    return htmlPage(<ProductPage {...props} recommendations={others.slice(0, recommendationLimit)} />);
  };
  return {
    [examplePath]: async (request) => {
      const product = await findDefaultProduct(context);
      if (product === undefined) {
        throw new ServiceError("not_found", "No sample products are stored. Import sample/products.ndjson.");
      }
      return await renderProduct(product, request);
    },
    "/example/products/:id": async (request) => {
      const product = await findSampleProduct(context, request.parameter("id"));
      return product && (await renderProduct(product, request));
    },
    "/example/products/:id/cart": async ({ url, parameter }) => {
      const product = await findSampleProduct(context, parameter("id"));
      return product && htmlPage(<CartPage product={product} fields={[...url.searchParams]} brand={brand} />);
    },
    "/example/style.css": staticFile({ type: "text/css; charset=utf-8", body: style }, fileCaching),
    "/example/script.js": staticFile({ type: "text/javascript; charset=utf-8", body: script }, fileCaching),
  };
}
