import type { RenderPage } from "../http/page.ts";
import type { SampleContext } from "./catalog.ts";
import { type SampleRoute, sampleRoutes } from "./shop.ts";

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
  return Object.fromEntries(sampleRoutes.map((route) => [route, (request) => render(route, request)]));
}
