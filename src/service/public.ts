import { getLiveness } from "../admin/health.ts";
import type { ResponseCache } from "../cache/response-cache.ts";
import { getSampleImage } from "../example/sample-image.ts";
import type { Handler, Routes } from "../http/endpoint.ts";
import { pageHandler } from "../http/page-handler.ts";
import { operations } from "../operations/index.ts";
import type { OperationContext } from "../operations/operation.ts";
import { operationRoutes } from "../operations/routes.ts";
import type { RenderPage } from "../page.ts";
import { getOpenApi, getReference, getReferenceStyle } from "../reference/page.tsx";
import { isSampleShop } from "../sample.ts";
import { getWidget, getWidgetVersion } from "../widget.ts";

export interface PublicContext {
  readonly cache: ResponseCache;
  readonly operationContext: OperationContext;
  readonly readiness: Handler;
  /** HTML pages by route template. */
  readonly pages: Readonly<Record<string, RenderPage>>;
  /** Routes of the platform's deliveries. */
  readonly webhooks: Routes;
}

/** All routes of the public listener. */
export function publicRoutes({ cache, operationContext, readiness, pages, webhooks }: PublicContext): Routes {
  const { shopDomain } = operationContext.config;
  const apiRoutes = operations.flatMap((each) => Object.entries(operationRoutes(each, cache, operationContext)));
  return {
    ...Object.fromEntries(apiRoutes),
    "/openapi.json": { get: getOpenApi() },
    "/docs": { get: getReference() },
    "/docs/style.css": { get: getReferenceStyle },
    "/personalization-options.js": { get: getWidget },
    "/personalization-options/:file": { get: getWidgetVersion },
    ...(isSampleShop(shopDomain) && { "/sample/images/:name": { get: getSampleImage } }),
    ...Object.fromEntries(Object.entries(pages).map(([path, render]) => [path, { get: pageHandler(render) }])),
    ...webhooks,
    "/livez": { get: getLiveness, isUnlimited: true },
    "/readyz": { get: readiness, isUnlimited: true },
  };
}
