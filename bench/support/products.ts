import { writeFile } from "node:fs/promises";
import type { Product, Variant } from "../../src/contract/product.ts";

const sample = new URL("../../sample/products.ndjson", import.meta.url);
/** Bytes per document, typical for a store with a dozen variants per product. */
const documentBytes = 30_000;
const firstId = 7_000_000_000_000;

/**
 * Writes products of about 30 KB of JSON, made from the sample's by adding variants.
 * @returns their ids
 */
export async function writeProducts(file: string, count: number): Promise<string[]> {
  const models = (await Bun.file(sample).text())
    .trim()
    .split("\n")
    .filter((line) => line.length > documentBytes / 2 && line.length < documentBytes)
    .map((line) => JSON.parse(line) as Product)
    // Only these are served.
    .filter(({ status }) => status === "active");
  if (models.length === 0) throw new Error("the sample has no product of that size");
  const ids = Array.from({ length: count }, (_, index) => firstId + index);
  const products = ids.map((id, index) => enlarge(models[index % models.length] as Product, id));
  await writeFile(file, products.map((product) => `${JSON.stringify(product)}\n`).join(""));
  return ids.map(String);
}

function enlarge(model: Product, id: number): Product {
  const images = model.images.map((image) => ({ ...image, product_id: id }));
  const product: Product = {
    ...model,
    id,
    handle: `${model.handle}-${id}`,
    admin_graphql_api_id: `gid://shopify/Product/${id}`,
    images,
    image: images[0] ?? null,
    options: model.options.map((option) => ({ ...option, product_id: id })),
    variants: model.variants.map((variant) => ({ ...variant, product_id: id })),
    metafields: model.metafields.map((metafield) => ({ ...metafield, owner_id: id })),
  };
  let bytes = JSON.stringify(product).length;
  for (let turn = 0; bytes < documentBytes; turn++) {
    const variant = addVariant(model.variants[turn % model.variants.length] as Variant, product, turn);
    product.variants.push(variant);
    bytes += JSON.stringify(variant).length + 1;
  }
  return product;
}

function addVariant(model: Variant, product: Product, turn: number): Variant {
  const id = Number(product.id) * 100 + turn;
  return {
    ...model,
    id,
    product_id: product.id,
    position: product.variants.length + 1,
    sku: `${model.sku}-${turn}`,
    title: `${model.title}, ${turn}`,
    admin_graphql_api_id: `gid://shopify/ProductVariant/${id}`,
    metafields: model.metafields.map((metafield) => ({ ...metafield, owner_id: id })),
  };
}
