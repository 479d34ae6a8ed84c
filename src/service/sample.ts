import { listVisibleProducts } from "../catalog/product.ts";
import type { Product } from "../model/product.ts";
import type { OperationContext } from "../operations/operation.ts";
import { parsePersonalization } from "../personalization/reader.ts";
import type { SampleContext } from "../sample/catalog.ts";
import { samplePages } from "../sample/index.ts";
import { examplePath, isSampleShop } from "../sample/shop.ts";
import type { PublicContext } from "./public.ts";

/** From source, the first call bundles the widget. */
export const findWidgetPath = async (): Promise<string> => (await import("./widget.ts")).widgetPath;

/** Reads the store through the same concurrency limit as the operations. */
function contextOf({ config, query, findProduct, findPersonalization }: OperationContext): SampleContext {
  const { brand, publicUrl } = config;
  return {
    brand,
    publicUrl,
    findWidgetPath,
    listProducts: (limit) => query((database) => listVisibleProducts(database, limit)),
    findProduct,
    findPersonalization: async (sku) => parsePersonalization(await findPersonalization(sku)),
  };
}

/** Creates the example shop's pages. */
export const createSamplePages = (context: OperationContext): PublicContext["pages"] =>
  isSampleShop(context.config.shopDomain) ? samplePages(contextOf(context)) : {};

/** Finds an active product, if possible one that can be personalized. */
export async function findSampleProduct(context: OperationContext): Promise<Product | undefined> {
  const { findDefaultProduct } = await import("../sample/catalog.ts");
  return await findDefaultProduct(contextOf(context));
}

/**
 * Returns the URL of the example's product page; undefined unless the shop is the sample brand's.
 */
export const exampleUrlOf = (shopDomain: string, publicUrl: string): string | undefined =>
  isSampleShop(shopDomain) ? publicUrl + examplePath : undefined;
