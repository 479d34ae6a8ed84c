import { parseJson } from "../base/json.ts";
import type { Personalization } from "../contract/personalization.ts";
import type { Product, Variant } from "../contract/product.ts";
import { parseProductId } from "../contract/product-values.ts";
import { sampleImagePath } from "./shop.ts";

export interface SampleContext {
  readonly brand: string;
  /** How the service's URLs begin for other sites; empty for relative URLs. */
  readonly publicUrl: string;
  /** Includes the version. */
  readonly findWidgetPath: () => Promise<string>;
  /** Returns products that shoppers may see, as JSON, ordered by ID. */
  readonly listProducts: (limit: number) => Promise<string[]>;
  readonly findProduct: (id: bigint) => Promise<{ readonly document: Uint8Array } | undefined>;
  readonly findPersonalization: (sku: string) => Promise<Personalization>;
}

const candidateLimit = 24;

async function listActiveProducts({ listProducts }: SampleContext): Promise<Product[]> {
  const documents = await listProducts(candidateLimit);
  return documents.map((document) => parseJson(document) as Product).filter(({ status }) => status === "active");
}

export const listSampleProducts = async (context: SampleContext): Promise<Product[]> =>
  (await listActiveProducts(context)).filter((product) => drawnImagesOf(product).length > 0);

/** The first active product that can be personalized, otherwise the first active one. */
export async function findDefaultProduct(context: SampleContext): Promise<Product | undefined> {
  const products = await listActiveProducts(context);
  for (const product of products) {
    const { pzlines } = await context.findPersonalization(selectVariant(product)?.sku ?? "");
    if (pzlines.length > 0) return product;
  }
  return products[0];
}

export async function findSampleProduct({ findProduct }: SampleContext, text: string): Promise<Product | undefined> {
  const id = parseProductId(text);
  const found = id === undefined ? undefined : await findProduct(id);
  return found && (parseJson(new TextDecoder().decode(found.document)) as Product);
}

export interface DrawnImage {
  readonly id: Product["id"];
  readonly path: string;
  readonly alt: string;
}

/** The images that this service generates; the page's policy blocks all others. */
export function drawnImagesOf({ images, title }: Product): DrawnImage[] {
  return images.flatMap(({ id, src, alt }) => {
    const path = sampleImagePath(src);
    return path === undefined ? [] : [{ id, path, alt: alt ?? title }];
  });
}

/**
 * The platform's rule: a variant without stock is still for sale if it may be oversold or its stock
 * is not tracked.
 */
export const isForSale = ({ inventory_quantity, inventory_policy, inventory_management }: Variant) =>
  inventory_quantity > 0 || inventory_policy === "continue" || inventory_management === null;

/** Returns the variant with the ID, otherwise the first one for sale. */
export function selectVariant({ variants }: Product, id?: string): Variant | undefined {
  return variants.find((variant) => `${variant.id}` === id) ?? variants.find(isForSale) ?? variants[0];
}

const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });

export const formatPrice = (amount: string) => dollars.format(Number(amount));
