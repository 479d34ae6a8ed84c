import type { SQL } from "bun";
import { parseJson } from "../json.ts";
import type { Product } from "../model/product.ts";
import type { Database } from "./database.ts";

/** Longer words are cut: nobody searches for more of one. */
const longestWord = 60;
const longestWhole = 200;
/** Words of a product that a search goes by: those of a thousand variants and more. */
const mostWords = 10_000;

/** Letters of nobody's alphabet: what stands behind one is a whole handle, or a whole SKU, as one word. */
const markOf = { handle: "\uE000", sku: "\uE001" } as const;

/** The words of a text, without case, accents and whatever is neither letter nor digit. */
export function foldWords(text: string): string[] {
  const folded = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  return (folded.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.slice(0, longestWord).toWellFormed());
}

const wholeWord = (kind: keyof typeof markOf, text: string) => {
  const whole = foldWords(text).join("").slice(0, longestWhole).toWellFormed();
  return whole === "" ? [] : [markOf[kind] + whole];
};

type Named = Pick<Product, "title" | "handle"> & {
  readonly variants: readonly Pick<Product["variants"][number], "sku">[];
};

/** What a product is found by: the words of its title, its handle and its SKUs, and the latter two as a whole. */
export function toWords({ title, handle, variants }: Named): string {
  const words = new Set([...foldWords(title), ...foldWords(handle), ...wholeWord("handle", handle)]);
  for (const { sku } of variants) {
    for (const word of [...foldWords(sku), ...wholeWord("sku", sku)]) words.add(word);
    if (words.size > mostWords) break;
  }
  return [...words].join(" ");
}

/** A product that a search has found; its document is the contract's `product` as JSON. */
export interface SearchedProduct {
  readonly id: string;
  readonly document: string;
}

/**
 * The products that a text means: first those whose handle or SKU it is, then those that have all its words, of which the last may
 * be only begun.
 * @param most how many there are at most, by identifier
 */
export async function searchProducts(database: Database, text: string, most: number): Promise<SearchedProduct[]> {
  const { read, dialect } = database;
  const words = foldWords(text).slice(0, 20);
  if (words.length === 0) return [];
  const searches = [
    ...wholeWord("handle", text).map((word) => dialect.toSearch([word], false)),
    ...wholeWord("sku", text).map((word) => dialect.toSearch([word], false)),
    dialect.toSearch(words, true),
  ];
  const ids = new Set<string>();
  for (const search of searches) {
    const found = await read<{ id: string }>(`SELECT CAST(id AS TEXT) AS id FROM (${dialect.search}) AS found`, [
      search,
      most,
    ]);
    for (const { id } of found) ids.add(id);
  }
  return await listDocuments(database, [...ids].slice(0, most));
}

async function listDocuments({ sql }: Database, ids: readonly string[]): Promise<SearchedProduct[]> {
  if (ids.length === 0) return [];
  const rows = await sql<SearchedProduct[]>`
    SELECT CAST(id AS TEXT) AS id, document FROM product WHERE id IN ${sql(ids.map(BigInt))}`;
  return rows.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
}

const productsPerStep = 200;

/** Gives the products their words that were stored before these were kept. */
export async function fillWords(sql: SQL): Promise<void> {
  for (let after = 0n; ; ) {
    const rows = await sql<SearchedProduct[]>`
      SELECT CAST(id AS TEXT) AS id, document FROM product WHERE id > ${after} ORDER BY id LIMIT ${productsPerStep}`;
    if (rows.length === 0) return;
    for (const { id, document } of rows) {
      await sql`UPDATE product SET words = ${toWords(parseJson(document) as Named)} WHERE id = ${BigInt(id)}`;
      after = BigInt(id);
    }
  }
}
