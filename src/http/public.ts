import type { Database } from "../database/database.ts";
import type { Log } from "../log.ts";
import { getLiveness } from "./health.ts";
import { getHistories } from "./history.ts";
import { getPersonalization } from "./personalization.ts";
import { type FindProduct, getProduct, productFailure } from "./product.ts";
import { getOpenApi, getReference, getReferenceStyle } from "./reference.tsx";
import { endpoint, type Handler, type Routes } from "./server.ts";

export interface PublicContext {
  readonly database: Database;
  readonly shop: string;
  readonly brand: string;
  readonly log: Log;
  readonly findProduct: FindProduct;
  readonly readiness: Handler;
}

/** What the public listener answers. */
export function publicRoutes({ database, shop, brand, log, findProduct, readiness }: PublicContext): Routes {
  return {
    "/api/v1/products/pz/:sku": endpoint(log, getPersonalization(database, brand)),
    "/api/v1/products/:id": endpoint(log, getProduct(findProduct, shop), productFailure(shop)),
    "/api/v1/histories": endpoint(log, getHistories(database)),
    "/api/v1/histories/:order": endpoint(log, getHistories(database)),
    "/openapi.json": endpoint(log, getOpenApi()),
    "/docs": endpoint(log, getReference()),
    "/docs/style.css": endpoint(log, getReferenceStyle),
    "/livez": endpoint(log, getLiveness),
    "/readyz": endpoint(log, readiness),
  };
}
