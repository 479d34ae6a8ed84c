import type { ConsolePages } from "../admin/routes.ts";
import { errorPage } from "../console/error-page.tsx";
import { consolePages } from "../console/index.tsx";
import { listFirstProducts } from "../database/product.ts";
import { examplePages, examplePath } from "../example/index.tsx";
import { listJobHealth } from "../jobs/status.ts";
import type { OperationContext } from "../operations/operation.ts";
import { GenerationComparer } from "../personalization/comparison.ts";
import { PersonalizationReader, parsePersonalization } from "../personalization/reader.ts";
import { isSampleShop } from "../sample.ts";
import { widgetPath } from "../widget.ts";
import type { ServiceContext } from "./context.ts";
import type { PublicContext } from "./public.ts";

export function createConsole(context: ServiceContext, publicUrl: string): ConsolePages {
  const { config, connections } = context;
  const { brand, shopDomain } = config;
  const database = connections.background;
  const comparisons = new GenerationComparer(database);
  const pages = consolePages({
    database,
    brand,
    jobs: () => listJobHealth(database, context.jobs),
    findPersonalization: async (ofBrand, sku) =>
      parsePersonalization(await new PersonalizationReader(ofBrand).find(database, sku)),
    compare: (from, to) => comparisons.find(from, to),
    publicUrl,
    widgetPath,
    ...(isSampleShop(shopDomain) && { examplePath, servesSampleImages: true }),
  });
  return { pages, toFailure: errorPage };
}

/**
 * Creates the example shop's pages. They read the store through the same concurrency limit as the
 * operations.
 */
export function createExample({
  config,
  query,
  findProduct,
  findPersonalization,
}: OperationContext): PublicContext["pages"] {
  const { brand, shopDomain } = config;
  if (!isSampleShop(shopDomain)) return {};
  return examplePages({
    brand,
    widgetPath,
    listProducts: (limit) => query((database) => listFirstProducts(database, limit)),
    findProduct,
    findPersonalization: async (sku) => parsePersonalization(await findPersonalization(sku)),
  });
}

/**
 * Returns the URL of the example's product page; undefined unless the shop is the sample brand's.
 */
export const exampleUrlOf = (shopDomain: string, publicUrl: string): string | undefined =>
  isSampleShop(shopDomain) ? publicUrl + examplePath : undefined;
