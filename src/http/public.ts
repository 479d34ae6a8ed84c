import type { RenderPage } from "../page.ts";
import { isSampleShop } from "../sample.ts";
import { pageHandler } from "./admin.ts";
import type { Handler, Resources } from "./endpoint.ts";
import { getLiveness } from "./health.ts";
import { getHistories, type HistorySource } from "./history.ts";
import type { Memory } from "./memory.ts";
import { getPersonalization, type PersonalizationSource } from "./personalization.ts";
import { getProduct, type ProductSource, productFailure } from "./product.ts";
import { getOpenApi, getReference, getReferenceStyle } from "./reference.tsx";
import { getSampleImage } from "./sample-image.ts";
import { getWidget, getWidgetVersion } from "./widget.ts";

export interface PublicContext {
  readonly memory: Memory;
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
