import { parseJson } from "../base/json.ts";
import { foldWords, searchProducts } from "../catalog/search.ts";
import { findHidingReason } from "../catalog/visibility.ts";
import type { Product } from "../contract/product.ts";
import type { Database } from "../database/database.ts";
import type { Generation } from "../personalization/generation.ts";
import { listKnownSkus, listSkusWithPrefix } from "../personalization/store.ts";

export interface ProductOfSku {
  readonly id: string;
  readonly title: string;
  readonly variants: readonly string[];
  /** Why shoppers may not see it; undefined if they may. */
  readonly hiddenBecause: string | undefined;
}

const productLimit = 10;
const suggestionLimit = 5;

/** Products with this SKU, or with one that is spelled similarly. */
async function findProducts(database: Database, sku: string): Promise<Product[]> {
  const found = await searchProducts(database, { text: sku }, productLimit);
  return found.map(({ document }) => parseJson(document) as Product);
}

export async function listProductsOfSku(database: Database, sku: string, now: number): Promise<ProductOfSku[]> {
  return (await findProducts(database, sku)).flatMap((product) => {
    const variants = product.variants.filter((variant) => variant.sku === sku).map(({ title }) => title);
    if (variants.length === 0) return [];
    return [{ id: `${product.id}`, title: product.title, variants, hiddenBecause: findHidingReason(product, now) }];
  });
}

const fold = (sku: string) => foldWords(sku).join("");

/** Spreadsheets remove leading zeros; systems pad numbers up to this length. */
const paddedLength = 18;

/** The same code without leading zeros, and with any number of them. */
function listPaddings(sku: string): string[] {
  const bare = sku.replace(/^0+(?=.)/, "");
  if (!/^\d/.test(sku)) return [];
  return Array.from({ length: Math.max(paddedLength - bare.length, 0) + 1 }, (_, zeros) => "0".repeat(zeros) + bare);
}

/** Too many SKUs begin with a shorter text. */
const minPrefixLength = 3;

/**
 * SKUs with personalization that differ from an unknown one in case, spaces, punctuation, or leading
 * zeros: common ways to write it, and the SKUs of products. Also those that begin with it.
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
  const candidates = [
    ...spellings,
    ...listPaddings(joined),
    ...ofProducts.filter((other) => fold(other) === fold(sku)),
  ];
  const wanted = [...new Set(candidates)].filter((other) => other !== sku && other !== "");
  const found = await Promise.all(
    generations.map(async ({ id }) => ({
      spelled: wanted.length === 0 ? [] : await listKnownSkus(database, id, wanted),
      longer: joined.length < minPrefixLength ? [] : await listSkusWithPrefix(database, id, joined, suggestionLimit),
    })),
  );
  const similar = [...found.flatMap(({ spelled }) => spelled), ...found.flatMap(({ longer }) => longer)];
  return [...new Set(similar)].slice(0, suggestionLimit);
}
