import { listFirstProducts } from "../database/product.ts";
import { examplePages } from "../example/index.ts";
import type { OperationContext } from "../operations/operation.ts";
import { parsePersonalization } from "../personalization/reader.ts";
import { examplePath, isSampleShop } from "../sample.ts";
import type { PublicContext } from "./public.ts";

/** From source, the first call bundles the widget. */
export const findWidgetPath = async (): Promise<string> => (await import("../widget.ts")).widgetPath;

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
  const { brand, publicUrl, shopDomain } = config;
  if (!isSampleShop(shopDomain)) return {};
  return examplePages({
    brand,
    publicUrl,
    findWidgetPath,
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
