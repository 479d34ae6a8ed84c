import { findPersonalization } from "../../database/personalization.ts";
import { listFirstProducts } from "../../database/product.ts";
import { parseJson } from "../../json.ts";
import { type Product, parseProductId, type Variant } from "../../product.ts";
import { sampleImagePath } from "../../sample.ts";
import type { PersonalizationSource } from "../personalization.ts";
import type { ProductSource } from "../product.ts";

/** Where the example's products come from: what the operations answer. */
export interface ExampleSource {
  readonly personalization: PersonalizationSource;
  readonly product: ProductSource;
}

/** How many products the example knows of when it is asked for none. */
const mostProducts = 24;

/** Some products on sale that have pictures, by identifier. */
export async function listExamples({ personalization: { database, gate } }: ExampleSource): Promise<Product[]> {
  const documents = await gate.run(() => listFirstProducts(database, mostProducts));
  const products = documents.map((document) => parseJson(document) as Product);
  return products.filter((product) => product.status === "active" && picturesOf(product).length > 0);
}

/** The first of them of which a variant can be personalized, else the first. */
export async function findFirstExample(source: ExampleSource): Promise<Product | undefined> {
  const { database, gate, brand } = source.personalization;
  const products = await listExamples(source);
  for (const product of products) {
    const sku = firstVariant(product)?.sku ?? "";
    const { pzlines } = await gate.run(() => findPersonalization(database, brand, sku));
    if (pzlines.length > 0) return product;
  }
  return products[0];
}

export async function findExample({ product }: ExampleSource, id: string): Promise<Product | undefined> {
  const known = parseProductId(id);
  const found = known === undefined ? undefined : await product.find(known);
  return found && (parseJson(new TextDecoder().decode(found.document)) as Product);
}

export interface Picture {
  readonly id: Product["id"];
  readonly path: string;
  readonly alt: string;
}

/** The pictures of a product that the service draws; the page lets in no others. */
export function picturesOf({ images, title }: Product): Picture[] {
  return images.flatMap(({ id, src, alt }) => {
    const path = sampleImagePath(src);
    return path === undefined ? [] : [{ id, path, alt: alt ?? title }];
  });
}

/** By the rules of the platform: what is not in stock can be bought where it may be oversold, or where nobody counts it. */
export const isOnSale = ({ inventory_quantity, inventory_policy, inventory_management }: Variant) =>
  inventory_quantity > 0 || inventory_policy === "continue" || inventory_management === null;

/** The variant of an identifier, else the first that is in stock. */
export function firstVariant({ variants }: Product, id?: string): Variant | undefined {
  return variants.find((variant) => `${variant.id}` === id) ?? variants.find(isOnSale) ?? variants[0];
}

/** Money as a page of the sample brand, which is in the United States, shows it. */
export const money = (amount: string) => dollars.format(Number(amount));
const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
