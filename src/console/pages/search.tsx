/** @jsxImportSource hono/jsx */
import { parseId } from "../../base/id.ts";
import { parseJson } from "../../base/json.ts";
import type { Product } from "../../contract/product.ts";
import type { Database } from "../../database/database.ts";
import type { PageRequest } from "../../http/page.ts";
import { findRun } from "../../jobs/runs.ts";
import { type Generation, listGenerations } from "../../personalization/generation.ts";
import { findUsedStyle, listStylesOfGroup } from "../../personalization/store.ts";
import { EmptyState } from "../components/elements.tsx";
import { type Column, Table } from "../components/table.tsx";
import type { ConsoleContext, PageContent, Redirect } from "../context.ts";
import { unlessRemoved } from "../order-mark.ts";
import { listSimilarSkus } from "../similar-skus.ts";
import { listWithSku } from "../sku-facts.ts";
import { queryParameter, toName, urlWithQuery } from "../urls.ts";
import { findProducts } from "./products.tsx";

const productLimit = 20;

/** `GET /search?q=`: redirects to the only hit, or lists all. */
export async function searchPage({ database }: ConsoleContext, request: PageRequest): Promise<PageContent | Redirect> {
  const text = toName(queryParameter(request, "q") ?? "");
  if (text === "") return { body: <SearchHelp /> };
  const { hits, hasMore } = await search(database, text);
  const [first] = hits;
  if (first !== undefined && hits.length === 1) return { location: first.url };
  return {
    title: `Search for ${text}`,
    body: (
      <>
        <Table columns={columns} rows={hits} label="Hits">
          <EmptyState title={`Nothing is stored under ${text}.`} />
        </Table>
        {hasMore && (
          <p>
            <a href={urlWithQuery("/products", { q: text })}>All products that match</a>
          </p>
        )}
        <p>
          <a href={urlWithQuery("/personalization", { sku: text })}>Find out why the SKU {text} shows nothing</a>
        </p>
      </>
    ),
  };
}

const SearchHelp = () => (
  <EmptyState title="Enter a SKU, product, run, style, or choice group.">
    <p>Products are found by ID, handle, and words of their titles; runs by number.</p>
  </EmptyState>
);

type Hit = ReturnType<typeof hitOf>;

const columns: readonly Column<Hit>[] = [
  { title: "Kind", value: ({ kind }) => kind },
  { title: "Name", cell: ({ name, url }) => <a href={url}>{name}</a>, isHeader: true },
  { title: "About", value: ({ about }) => about, class: "muted" },
];

async function search(database: Database, text: string) {
  const generations = await listGenerations(database);
  const current = generations.filter(({ isCurrent }) => isCurrent);
  const [runs, found, having, styles, groups] = await Promise.all([
    findRuns(database, text),
    findProducts(database, { text }, productLimit + 1),
    listWithSku(database, generations, text),
    findInEach(database, current, async ({ id }) => (await findUsedStyle(database, id, text)) !== undefined),
    findInEach(database, current, async ({ id }) => (await listStylesOfGroup(database, id, text)).length > 0),
  ]);
  const products = found.slice(0, productLimit).map(({ document }) => parseJson(document) as Product);
  const isSku = having.length > 0 || products.some((product) => hasSku(product, text));
  const skus = isSku ? [text] : await listSimilarSkus(database, text, current);
  const named = (kind: string, parameter: string) => (brand: string) =>
    hitOf(kind, text, brand, urlWithQuery("/personalization", { [parameter]: text, brand }));
  return {
    hits: [
      ...skus.map((sku) => hitOf("SKU", sku, "", urlWithQuery("/personalization", { sku }))),
      // The page of a SKU lists its products.
      ...products.filter((product) => !skus.some((sku) => hasSku(product, sku))).map(toProductHit),
      ...runs,
      ...styles.map(named("Style", "style")),
      ...groups.map(named("Choice group", "group")),
    ],
    hasMore: found.length > productLimit,
  };
}

const hasSku = ({ variants }: Product, text: string) => variants.some(({ sku }) => sku === text);

const hitOf = (kind: string, name: string, about: string, url: string) => ({ kind, name, about, url });

const toProductHit = ({ id, title, handle }: Product) =>
  hitOf("Product", title === "" ? "Untitled" : title, handle, `/products/${id}`);

async function findRuns(database: Database, text: string): Promise<Hit[]> {
  const id = parseId(text);
  const run = id === undefined ? undefined : await findRun(database, id);
  return run === undefined ? [] : [hitOf("Run", text, `${run.job} for ${run.brand}`, `/runs/${run.id}`)];
}

async function findInEach(
  database: Database,
  current: readonly Generation[],
  has: (generation: Generation) => Promise<boolean>,
): Promise<string[]> {
  const found = await Promise.all(current.map((generation) => has(generation).catch(unlessRemoved(database))));
  return current.filter((_, index) => found[index] === true).map(({ brand }) => brand);
}
