import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { listVisibleProducts } from "../catalog/product.ts";
import type { Config } from "../config/index.ts";
import type { Product } from "../contract/product.ts";
import type { Handler } from "../http/endpoint.ts";
import { pageHandler } from "../http/page-handler.ts";
import type { OperationContext } from "../operations/operation.ts";
import { parsePersonalization } from "../personalization/reader.ts";
import type { SampleContext } from "../sample/catalog.ts";
import { examplePath, isSampleBrand, isSampleShop, type SampleRoute } from "../sample/shop.ts";

/** When run from source, the first call bundles the widget. */
export const findWidgetPath = async (): Promise<string> => (await import("./widget.ts")).widgetPath;

function contextOf(
  { brand, publicUrl }: Config,
  { query, findProduct, personalization }: OperationContext,
): SampleContext {
  return {
    brand,
    publicUrl,
    findWidgetPath,
    listProducts: async (limit) => query((database) => listVisibleProducts(database, limit)),
    findProduct,
    findPersonalization: async (sku) =>
      parsePersonalization(await query((database) => personalization.find(database, sku))),
  };
}

export async function createSamplePage(
  route: SampleRoute,
  config: Config,
  context: OperationContext,
): Promise<Handler> {
  const { createPages } = await import("../sample/pages.tsx");
  return pageHandler(createPages(contextOf(config, context))[route]);
}

/** Prefers a product that can be personalized. */
export async function findDefaultSampleProduct(
  config: Config,
  context: OperationContext,
): Promise<Product | undefined> {
  const { findDefaultProduct } = await import("../sample/catalog.ts");
  return await findDefaultProduct(contextOf(config, context));
}

/** The example's product page; undefined unless the shop is the sample brand's. */
export const exampleUrlOf = (shopDomain: string, publicUrl: string): string | undefined =>
  isSampleShop(shopDomain) ? publicUrl + examplePath : undefined;

/** The folder of the sample brand's feeds; undefined if this service imports other feeds. */
export function sampleFolderOf({ shopDomain, jobs }: Config): string | undefined {
  const [options] = jobs["personalization-import"] ?? [];
  if (!isSampleBrand(shopDomain) || options === undefined) return undefined;
  const folder = dirname(options.source);
  return existsSync(join(folder, "earlier")) && existsSync(join(folder, "broken")) ? folder : undefined;
}
