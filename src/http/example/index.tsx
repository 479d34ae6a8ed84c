/** @jsxImportSource hono/jsx */
import { ServiceError } from "../../errors.ts";
import type { Product } from "../../product.ts";
import type { Answer } from "../answer.ts";
import type { Handler, Resources } from "../endpoint.ts";
import { fileHandler } from "../file.ts";
import { parameter, targetOf } from "../request.ts";
import { CartPage } from "./cart-page.tsx";
import { examplePath, toPage } from "./layout.tsx";
import { ProductPage } from "./product-page.tsx";
import script from "./script.js" with { type: "text" };
import { type ExampleSource, findExample, findFirstExample, listExamples } from "./source.ts";
import style from "./style.css" with { type: "text" };

export { examplePath };

/** How many other products a page leads to. */
const mostOthers = 8;

/** An example of a product page, as a storefront makes one of what the operations answer, and of the cart behind it. */
export function exampleResources(source: ExampleSource): Resources {
  const { brand } = source.personalization;
  const productPage = async (product: Product, request: Request): Promise<Answer> => {
    const others = (await listExamples(source)).filter(({ id }) => id !== product.id).slice(0, mostOthers);
    const variantId = parametersOf(request).get("variant") ?? undefined;
    return toPage(<ProductPage product={product} variantId={variantId} others={others} brand={brand} />);
  };
  const getFirst: Handler = async (request) => {
    const product = await findFirstExample(source);
    if (product === undefined) {
      throw new ServiceError("not_found", "No product of the sample is stored: import sample/products.ndjson.");
    }
    return await productPage(product, request);
  };
  const getProduct: Handler = async (request) => {
    const product = await findExample(source, parameter(request, "id"));
    return product && (await productPage(product, request));
  };
  const getCart: Handler = async (request) => {
    const product = await findExample(source, parameter(request, "id"));
    return product && toPage(<CartPage product={product} entries={[...parametersOf(request)]} brand={brand} />);
  };
  return {
    [examplePath]: { get: getFirst },
    "/example/products/:id": { get: getProduct },
    "/example/products/:id/cart": { get: getCart },
    "/example/style.css": { get: fileHandler(() => ({ type: "text/css; charset=utf-8", body: style })) },
    "/example/script.js": { get: fileHandler(() => ({ type: "text/javascript; charset=utf-8", body: script })) },
  };
}

const parametersOf = (request: Request) => new URL(`http://localhost${targetOf(request)}`).searchParams;
