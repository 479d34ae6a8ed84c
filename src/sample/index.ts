import type { RenderPage } from "../http/page.ts";
import type { SampleContext } from "./catalog.ts";
import { examplePath } from "./shop.ts";

const routes = [
  examplePath,
  "/example/products/:id",
  "/example/products/:id/cart",
  "/example/style.css",
  "/example/script.js",
] as const;

export type SampleRoute = (typeof routes)[number];

/**
 * A demo shop: a product page and a cart, built from the public operations the way a storefront
 * would. Its code is loaded with the first request for a page.
 */
export function samplePages(context: SampleContext): Readonly<Record<string, RenderPage>> {
  const load = async () => (await import("./pages.tsx")).createPages(context);
  let pages: ReturnType<typeof load> | undefined;
  const render = async (route: SampleRoute, request: Parameters<RenderPage>[0]) => {
    pages ??= load();
    return await (await pages)[route](request);
  };
  return Object.fromEntries(routes.map((route) => [route, (request) => render(route, request)]));
}
