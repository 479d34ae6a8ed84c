import type { ResponseCache } from "../cache/response-cache.ts";
import type { Config } from "../config/index.ts";
import type { Handler, Route, Routes } from "../http/endpoint.ts";
import { getLiveness } from "../http/health.ts";
import { operations } from "../operations/index.ts";
import type { OperationContext } from "../operations/operation.ts";
import { operationRoutes } from "../operations/routes.ts";
import { examplePath, isSampleShop, sampleRoutes } from "../sample/shop.ts";

export interface PublicContext {
  readonly cache: ResponseCache;
  readonly config: Config;
  readonly operationContext: OperationContext;
  readonly readiness: Handler;
  readonly webhooks: Routes;
}

export function publicRoutes({ cache, config, operationContext, readiness, webhooks }: PublicContext): Routes {
  const { shopDomain, publicUrl } = config;
  const isSample = isSampleShop(shopDomain);
  const apiRoutes = operations.flatMap((each) => Object.entries(operationRoutes(each, cache, operationContext)));
  const indexRoute = onDemand(async () =>
    (await import("../reference/index-page.tsx")).createIndex({
      root: publicUrl,
      examplePath: isSample ? examplePath : undefined,
      findProduct: async () => (await import("./sample.ts")).findDefaultSampleProduct(config, operationContext),
    }),
  );
  return {
    ...Object.fromEntries(apiRoutes),
    "/": indexRoute,
    // The first address that the service prints.
    "/api/v1": indexRoute,
    "/openapi.json": onDemand(async () => (await import("../reference/page.tsx")).createOpenApi(publicUrl)),
    "/docs": onDemand(async () => (await import("../reference/page.tsx")).createReference(publicUrl)),
    "/docs/style.css": onDemand(async () => (await import("../reference/page.tsx")).getReferenceStyle),
    "/docs/script.js": onDemand(async () => (await import("../reference/page.tsx")).getReferenceScript),
    "/personalization-options.js": onDemand(async () => (await import("./widget.ts")).getWidget),
    "/personalization-options/:file": onDemand(async () => (await import("./widget.ts")).getWidgetVersion),
    ...(isSample && {
      "/sample/images/:name": onDemand(async () => (await import("../sample/sample-image.ts")).getSampleImage),
      ...Object.fromEntries(
        sampleRoutes.map((route) => [
          route,
          onDemand(async () => (await import("./sample.ts")).createSamplePage(route, config, operationContext)),
        ]),
      ),
    }),
    ...webhooks,
    "/livez": { get: getLiveness, isUnlimited: true },
    "/readyz": { get: readiness, isUnlimited: true },
  };
}

/** Loads code with the first request, so that the service starts faster. */
function onDemand(load: () => Promise<Handler>): Route {
  let handler: Handler | undefined;
  return {
    get: async (...request) => {
      handler ??= await load();
      return await handler(...request);
    },
  };
}
