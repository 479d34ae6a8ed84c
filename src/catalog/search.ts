import type { Product } from "../contract/product.ts";
import type { Database, Queryable } from "../database/database.ts";
import type { ProductFact, ProductSearch } from "../database/engines/engine.ts";

/** Longer words are cut; people do not type that much of a word. */
const maxWordLength = 60;
const maxCodeLength = 200;
/** Enough for a product with a thousand variants. */
const maxWordsOfProduct = 10_000;
const maxWordsOfSearch = 20;

/** Private-use characters, which no text contains, mark a word as a whole handle or SKU. */
const prefixOf = { handle: "\uE000", sku: "\uE001" } as const;

/** Lowercase words of letters and digits, without accents: engines differ in other characters. */
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

/** The words that a search can match, and the whole handle and SKUs. */
export function toWords({ title, handle, variants }: Searchable): string {
  const words = new Set([...foldWords(title), ...foldWords(handle), ...toCodeWords("handle", handle)]);
  for (const { sku } of variants) {
    for (const word of [...foldWords(sku), ...toCodeWords("sku", sku)]) words.add(word);
    if (words.size > maxWordsOfProduct) break;
  }
  return [...words].join(" ");
}

/** The document is the contract's `product` as JSON. */
export interface SearchedProduct {
  readonly id: string;
  readonly document: string;
}

export interface ProductFilter {
  /** Words, of which the last may be incomplete; or a whole handle or SKU. */
  readonly text?: string | undefined;
  readonly status?: string | undefined;
  readonly vendor?: string | undefined;
  readonly tag?: string | undefined;
  readonly after?: bigint | undefined;
}

const lowestId = -(2n ** 63n);

/** Returns products by ascending id, but on the first page, exact matches of handle or SKU come first. */
export async function searchProducts(
  database: Database,
  { text, after = lowestId, ...filter }: ProductFilter,
  limit: number,
): Promise<SearchedProduct[]> {
  const all = { after, words: undefined, isLastPrefix: false, facts: toFacts(filter), limit };
  const find = (search: Partial<ProductSearch>) => database.engine.findProductIds(database, { ...all, ...search });
  if (text === undefined) return await listDocuments(database, await find({}));
  const words = foldWords(text).slice(0, maxWordsOfSearch);
  if (words.length === 0) return [];
  const exact = new Set<string>();
  for (const code of [...toCodeWords("handle", text), ...toCodeWords("sku", text)]) {
    for (const id of await find({ words: [code], after: lowestId })) exact.add(id);
  }
  const found = await find({ words, isLastPrefix: true, limit: limit + exact.size });
  const others = found.filter((id) => !exact.has(id));
  return await listDocuments(database, [...(after === lowestId ? exact : []), ...others].slice(0, limit));
}

function toFacts(filter: Pick<ProductFilter, ProductFact>): Map<ProductFact, string> {
  const facts = new Map<ProductFact, string>();
  for (const fact of ["status", "vendor", "tag"] as const) {
    const value = filter[fact];
    if (value !== undefined) facts.set(fact, JSON.stringify(value).slice(1, -1));
  }
  return facts;
}

async function listDocuments({ sql }: Queryable, ids: readonly string[]): Promise<SearchedProduct[]> {
  if (ids.length === 0) return [];
  const rows = await sql<SearchedProduct[]>`
    SELECT CAST(id AS TEXT) AS id, document FROM product WHERE id IN ${sql(ids.map(BigInt))}`;
  return rows.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
}
