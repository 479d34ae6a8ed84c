import { parseJson } from "../base/json.ts";
import { foldWords, searchProducts } from "../catalog/search.ts";
import type { Product } from "../contract/product.ts";
import type { Database } from "../database/database.ts";
import type { Generation } from "../personalization/generation.ts";
import { listKnownSkus } from "../personalization/store.ts";

/** A product with a variant that has a SKU. */
export interface ProductOfSku {
  readonly id: string;
  readonly title: string;
  readonly variants: readonly string[];
}

const productLimit = 10;
const suggestionLimit = 5;

/** The products that sell a SKU; it may be written in another way. */
async function findProducts(database: Database, sku: string): Promise<Product[]> {
  const found = await searchProducts(database, { text: sku }, productLimit);
  return found.map(({ document }) => parseJson(document) as Product);
}

/** The products with a variant of exactly this SKU. */
export async function listProductsOfSku(database: Database, sku: string): Promise<ProductOfSku[]> {
  return (await findProducts(database, sku)).flatMap(({ id, title, variants }) => {
    const matching = variants.filter((variant) => variant.sku === sku);
    return matching.length === 0 ? [] : [{ id: `${id}`, title, variants: matching.map((variant) => variant.title) }];
  });
}

const fold = (sku: string) => foldWords(sku).join("");

/**
 * SKUs with personalization that differ from an unknown one in case, spaces, or punctuation: common
 * ways to write it, and the SKUs of products.
 */
export async function listSimilarSkus(
  database: Database,
  sku: string,
  generations: readonly Generation[],
): Promise<string[]> {
  const joined = sku.trim().replace(/\s+/g, " ");
  const spellings = [joined, joined.toUpperCase(), joined.toLowerCase(), joined.replaceAll(" ", "")];
  const ofProducts = (await findProducts(database, sku)).flatMap(({ variants }) =>
    variants.map((variant) => variant.sku),
  );
  const candidates = [...spellings, ...ofProducts.filter((other) => fold(other) === fold(sku))];
  const wanted = [...new Set(candidates)].filter((other) => other !== sku && other !== "");
  if (wanted.length === 0) return [];
  const known = await Promise.all(generations.map(({ id }) => listKnownSkus(database, id, wanted)));
  return [...new Set(known.flat())].slice(0, suggestionLimit);
}
