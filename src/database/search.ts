import type { Product } from "../model/product.ts";
import type { Queryable } from "./database.ts";

/** Longer words are cut. Nobody types more of one. */
const maxWordLength = 60;
const maxCodeLength = 200;
/** Enough for a product with a thousand variants. */
const maxWordsOfProduct = 10_000;
const maxWordsOfSearch = 20;

/** Private-use characters, which no text contains. They mark a word as a whole handle or SKU. */
const prefixOf = { handle: "\uE000", sku: "\uE001" } as const;

/** The words of a text: letters and digits only, without case and accents. */
export function foldWords(text: string): string[] {
  const folded = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  return (folded.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.slice(0, maxWordLength).toWellFormed());
}

const toCodeWords = (kind: keyof typeof prefixOf, text: string) => {
  const code = foldWords(text).join("").slice(0, maxCodeLength).toWellFormed();
  return code === "" ? [] : [prefixOf[kind] + code];
};

type Searchable = Pick<Product, "title" | "handle"> & {
  readonly variants: readonly Pick<Product["variants"][number], "sku">[];
};

/** The words that search matches: those of title, handle, and SKUs, and whole handles and SKUs. */
export function toWords({ title, handle, variants }: Searchable): string {
  const words = new Set([...foldWords(title), ...foldWords(handle), ...toCodeWords("handle", handle)]);
  for (const { sku } of variants) {
    for (const word of [...foldWords(sku), ...toCodeWords("sku", sku)]) words.add(word);
    if (words.size > maxWordsOfProduct) break;
  }
  return [...words].join(" ");
}

/** A product that matches a search. Its document is the contract's `product` as JSON. */
export interface SearchedProduct {
  readonly id: string;
  readonly document: string;
}

/**
 * Searches products: first those whose handle or SKU is the text, then those that have all its
 * words, of which the last may be a prefix.
 * @param limit the maximum number of results, ordered by id
 */
export async function searchProducts(database: Queryable, text: string, limit: number): Promise<SearchedProduct[]> {
  const { read, engine } = database;
  const words = foldWords(text).slice(0, maxWordsOfSearch);
  if (words.length === 0) return [];
  const codes = [...toCodeWords("handle", text), ...toCodeWords("sku", text)];
  const searches = [...codes.map((code) => engine.toSearchText([code], false)), engine.toSearchText(words, true)];
  const query = `SELECT CAST(id AS TEXT) AS id FROM (${engine.searchQuery}) AS found`;
  const ids = new Set<string>();
  for (const search of searches) for (const { id } of await read<{ id: string }>(query, [search, limit])) ids.add(id);
  return await listDocuments(database, [...ids].slice(0, limit));
}

async function listDocuments({ sql }: Queryable, ids: readonly string[]): Promise<SearchedProduct[]> {
  if (ids.length === 0) return [];
  const rows = await sql<SearchedProduct[]>`
    SELECT CAST(id AS TEXT) AS id, document FROM product WHERE id IN ${sql(ids.map(BigInt))}`;
  return rows.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
}
