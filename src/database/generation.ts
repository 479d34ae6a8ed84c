import type { ListName } from "../model/personalization.ts";
import type { Queryable } from "./database.ts";
import { tables } from "./generation-tables.ts";

/** Each brand's current generation. */
export async function listCurrentGenerations({
  sql,
}: Queryable): Promise<{ readonly brand: string; readonly generation: number }[]> {
  return await sql`SELECT brand, generation FROM current_generation ORDER BY brand`;
}

/** A complete generation and its size. */
export interface Generation {
  readonly id: number;
  readonly brand: string;
  readonly loadedAt: string;
  readonly isCurrent: boolean;
  /** When it became the current one; null when it isn't. */
  readonly since: string | null;
  /** Rows of the three files. */
  readonly rows: number;
  /** Counted by its digest; null without one. */
  readonly skus: number | null;
  readonly styles: number | null;
  readonly choices: number | null;
}

/** Bytes that a digest has for each SKU, style, or choice. */
const digestEntryBytes = 12;

/** Every brand's complete generations, the newest first. */
export async function listGenerations({ read }: Queryable): Promise<Generation[]> {
  const sizeOf = (list: ListName) =>
    `(SELECT CAST(sum(length(data)) / ${digestEntryBytes} AS INTEGER) FROM generation_digest
      WHERE generation = generation.id AND list = '${list}')`;
  const rows = await read<Omit<Generation, "isCurrent"> & { readonly current: number | null }>(
    `SELECT generation.id, generation.brand, loaded_at AS "loadedAt", current_generation.generation AS current, since, row_count AS rows,
      ${sizeOf("pzlines")} AS skus, ${sizeOf("pzstyles")} AS styles, ${sizeOf("pzchoices")} AS choices
    FROM generation LEFT JOIN current_generation ON current_generation.generation = generation.id
    WHERE state = 'complete' ORDER BY generation.brand, generation.id DESC`,
    [],
  );
  return rows.map(({ current, ...generation }) => ({ ...generation, isCurrent: current !== null }));
}

export interface LastGeneration {
  readonly id: number;
  /** The files it was loaded from, as JSON. */
  readonly feed: string | null;
  /** The brand's current generation, which is an older one after a rollback. */
  readonly current: number;
  /** The files that the current one was loaded from. */
  readonly currentFeed: string | null;
}

/** The generation of the brand that was loaded last. */
export async function findLastGeneration({ sql }: Queryable, brand: string): Promise<LastGeneration | undefined> {
  const [last] = await sql<LastGeneration[]>`
    SELECT last.id, last.feed, now.id AS current, now.feed AS "currentFeed"
    FROM generation last
    JOIN current_generation ON current_generation.brand = last.brand
    JOIN generation now ON now.id = current_generation.generation
    WHERE last.brand = ${brand} AND last.state = 'complete' ORDER BY last.id DESC LIMIT 1`;
  return last;
}

/** The brand's current generation and the one before it; undefined when that one was removed. */
export async function findPreviousGeneration(
  { sql }: Queryable,
  brand: string,
): Promise<{ readonly current: number; readonly previous: number } | undefined> {
  const [found] = await sql<{ current: number; previous: number }[]>`
    SELECT now.id AS current, before.id AS previous FROM current_generation
    JOIN generation now ON now.id = current_generation.generation
    JOIN generation before ON before.id = now.previous AND before.state = 'complete'
    WHERE current_generation.brand = ${brand}`;
  return found;
}

/** SKUs of a generation after a given one, in order: one page of all of them. */
export async function listSkusAfter(
  { read }: Queryable,
  generation: number,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await read<{ sku: string }>(
    `SELECT DISTINCT sku_id AS sku FROM personalization_line WHERE generation = $1 AND sku_id > $2 ORDER BY sku_id LIMIT ${limit}`,
    [generation, after],
  );
  return rows.map(({ sku }) => sku);
}

/** Those of the given styles or choice groups that a generation has. */
export async function listPresentNames(
  { sql }: Queryable,
  list: "pzstyles" | "pzchoices",
  generation: number,
  names: readonly string[],
): Promise<Set<string>> {
  if (names.length === 0) return new Set();
  const { table, key } = tables[list];
  const name = sql.unsafe(key[0]);
  const rows = await sql<{ name: string }[]>`
    SELECT DISTINCT ${name} AS name FROM ${sql.unsafe(table)} WHERE generation = ${generation} AND ${name} IN ${sql(names)}`;
  return new Set(rows.map((row) => row.name));
}

/** Styles or choice groups that differ between two generations: at most `limit` and one more. */
export async function listDifferingNames(
  { sql }: Queryable,
  list: "pzstyles" | "pzchoices",
  from: number,
  to: number,
  limit: number,
): Promise<string[]> {
  const { table, columns, key } = tables[list];
  const [name] = key;
  const rowsOf = (generation: number) => `SELECT ${columns.join(", ")} FROM ${table} WHERE generation = ${generation}`;
  const only = (one: number, other: number) => `SELECT ${name} FROM (${rowsOf(one)} EXCEPT ${rowsOf(other)}) AS rows`;
  const rows = await sql.unsafe<Record<string, string>[]>(
    `${only(from, to)} UNION ${only(to, from)} LIMIT ${limit + 1}`,
  );
  return rows.map((row) => row[name] ?? "");
}

/** The parts of a list's digest, in order. */
export async function* readDigest({ sql }: Queryable, generation: number, list: ListName): AsyncGenerator<Uint8Array> {
  for (let part = 0; ; part++) {
    const [row] = await sql<{ data: Uint8Array }[]>`
      SELECT data FROM generation_digest WHERE generation = ${generation} AND list = ${list} AND part = ${part}`;
    if (row === undefined) return;
    yield row.data;
  }
}
