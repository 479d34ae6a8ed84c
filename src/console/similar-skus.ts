import { parseJson } from "../base/json.ts";
import { foldWords, searchProducts } from "../catalog/search.ts";
import { findHidingReason } from "../catalog/visibility.ts";
import type { Product } from "../contract/product.ts";
import type { Database } from "../database/database.ts";
import type { Generation } from "../personalization/generation.ts";
import { findSkuFrom, listKnownSkus, listSkusWithPrefix } from "../personalization/store.ts";

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

/** The ASCII characters that folding removes, in order. */
const punctuation = Array.from({ length: 0x5f }, (_, index) => String.fromCharCode(0x20 + index)).filter(
  (character) => fold(character) === "",
);

/**
 * Compares a SKU with a folded one.
 * @returns whether they are alike, and the lowest text with which a later SKU that is alike can
 *   begin; undefined if there is none
 */
export function compareFolded(sku: string, folded: string): { isAlike: boolean; next: string | undefined } {
  const characters = [...sku];
  /** How many characters of the folded SKU were matched before each character. */
  const matched = [0];
  for (const character of characters) {
    const before = matched.at(-1) ?? 0;
    if (!folded.startsWith(fold(character), before)) break;
    matched.push(before + fold(character).length);
  }
  const isPrefix = matched.length > characters.length;
  if (isPrefix) return { isAlike: matched.at(-1) === folded.length, next: `${sku}${punctuation[0]}` };
  for (let index = matched.length - 1; index >= 0; index--) {
    const wanted = String.fromCodePoint(folded.codePointAt(matched[index] ?? 0) ?? 0);
    const following = [...punctuation, wanted, wanted.toUpperCase()].filter(
      (other) => other > (characters[index] ?? ""),
    );
    const [least] = following.sort();
    if (least !== undefined) return { isAlike: false, next: characters.slice(0, index).join("") + least };
  }
  return { isAlike: false, next: undefined };
}

/** Each takes a tenth of a millisecond. Most searches need 30. */
const maxSteps = 100;

/** Walks through the index, and skips all SKUs that cannot be alike. */
async function listAlike(database: Database, generation: number, folded: string): Promise<string[]> {
  const alike: string[] = [];
  let from: string | undefined = punctuation[0];
  for (let step = 0; step < maxSteps && from !== undefined && alike.length < suggestionLimit; step++) {
    const sku = await findSkuFrom(database, generation, from);
    if (sku === undefined) break;
    const { isAlike, next } = compareFolded(sku, folded);
    if (isAlike) alike.push(sku);
    from = next;
  }
  return alike;
}

/** A shorter text begins too many SKUs. */
const minPrefixLength = 3;

/**
 * SKUs with personalization that differ from an unknown one in case, spaces, punctuation, or leading
 * zeros: those of a walk through the index, which knows ASCII, common ways to write it, and the
 * SKUs of products. Also those that begin with it.
 */
export async function listSimilarSkus(
  database: Database,
  sku: string,
  generations: readonly Generation[],
): Promise<string[]> {
  const joined = sku.trim().replace(/\s+/g, " ");
  const spellings = [joined, joined.toUpperCase(), joined.toLowerCase(), joined.replaceAll(" ", "")];
  const folded = fold(sku);
  const ofProducts = (await findProducts(database, sku)).flatMap(({ variants }) =>
    variants.map((variant) => variant.sku),
  );
  const candidates = [...spellings, ...listPaddings(joined), ...ofProducts.filter((other) => fold(other) === folded)];
  const wanted = [...new Set(candidates)].filter((other) => other !== sku && other !== "");
  const inEach = async (list: (generation: number) => Promise<string[]>) =>
    (await Promise.all(generations.map(({ id }) => list(id)))).flat();
  const similar = await Promise.all([
    folded === "" ? [] : inEach((id) => listAlike(database, id, folded)),
    wanted.length === 0 ? [] : inEach((id) => listKnownSkus(database, id, wanted)),
    joined.length < minPrefixLength ? [] : inEach((id) => listSkusWithPrefix(database, id, joined, suggestionLimit)),
  ]);
  return [...new Set(similar.flat())].filter((other) => other !== sku).slice(0, suggestionLimit);
}
