import { getLiveness } from "../admin/health.ts";
import { pageHandler } from "../admin/routes.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import { getSampleImage } from "../example/sample-image.ts";
import type { Handler, Resources } from "../http/endpoint.ts";
import { getHistories, type HistorySource } from "../operations/histories/operation.ts";
import { getPersonalization, type PersonalizationSource } from "../operations/personalization/operation.ts";
import { getProduct, type ProductSource, productFailure } from "../operations/products/operation.ts";
import type { RenderPage } from "../page.ts";
import { getOpenApi, getReference, getReferenceStyle } from "../reference/page.tsx";
import { isSampleShop } from "../sample.ts";
import { getWidget, getWidgetVersion } from "../widget.ts";

export interface PublicContext {
  readonly memory: ResponseCache;
  readonly personalization: PersonalizationSource;
  readonly product: ProductSource;
  readonly histories: HistorySource;
  readonly readiness: Handler;
  /** HTML pages by route template. */
  readonly pages: Readonly<Record<string, RenderPage>>;
}

/** What the public listener answers. */
export function publicResources(context: PublicContext): Resources {
  const { memory, personalization, product, histories, readiness } = context;
  const pages = Object.entries(context.pages).map(([route, render]) => [route, { get: pageHandler(render) }]);
  const getRuns = getHistories(memory, histories);
  return {
    "/api/v1/products/pz/:sku": { get: getPersonalization(memory, personalization) },
    "/api/v1/products/:id": { get: getProduct(memory, product), toFailure: productFailure(product.shop) },
    "/api/v1/histories": { get: getRuns },
    "/api/v1/histories/:order": { get: getRuns },
    "/openapi.json": { get: getOpenApi() },
    "/docs": { get: getReference() },
    "/docs/style.css": { get: getReferenceStyle },
    "/personalization-options.js": { get: getWidget },
    "/personalization-options/:file": { get: getWidgetVersion },
    ...(isSampleShop(product.shop) && { "/sample/images/:name": { get: getSampleImage } }),
    ...Object.fromEntries(pages),
    "/livez": { get: getLiveness, isProbe: true },
    "/readyz": { get: readiness, isProbe: true },
  };
}
