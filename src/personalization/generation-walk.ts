import type { Queryable } from "../database/database.ts";
import { tablesOf } from "../database/generation-tables.ts";

/** More would block the process longer than a request may. */
const skusPerQuery = 5000;
const fragmentsPerQuery = 500;
/** Fragments per query: a single choice group may take megabytes. */
const maxPageBytes = 4 * 2 ** 20;

/** A SKU with its packed lines, or the name of a style or choice group with its rows as JSON. */
export interface Walked {
  /** In UTF-8. */
  readonly key: Uint8Array;
  readonly content: Uint8Array;
}

/** Every SKU of a generation, in byte order of UTF-8. */
export async function* walkSkus({ read, engine }: Queryable, generation: number): AsyncGenerator<Walked[]> {
  const { skus } = tablesOf(generation);
  const columns = `${engine.toBytes("sku")} AS key, lines AS content, sku`;
  for (let after = ""; ; ) {
    const rows = await read<Walked & { sku: string }>(
      `SELECT ${columns} FROM ${skus} WHERE sku > $1 ORDER BY sku LIMIT ${skusPerQuery}`,
      [after],
    );
    if (rows.length === 0) return;
    yield rows;
    after = rows.at(-1)?.sku ?? "";
  }
}

/** Every style or choice group of a generation that has rows, in byte order of UTF-8. */
export async function* walkFragments(
  { read, engine }: Queryable,
  generation: number,
  kind: "styles" | "groups",
): AsyncGenerator<Walked[]> {
  const name = kind === "styles" ? "code" : "name";
  const table = tablesOf(generation)[kind];
  // Fragments with rows are numbered in order.
  for (let after = 0; ; ) {
    const sizes = await read<{ number: number; bytes: number }>(
      `SELECT number, length(rows) AS bytes FROM ${table}
      WHERE number > $1 AND length(rows) > 0 ORDER BY number LIMIT ${fragmentsPerQuery}`,
      [after],
    );
    if (sizes.length === 0) return;
    const last = lastOfPage(sizes);
    yield await read<Walked>(
      `SELECT ${engine.toBytes(name)} AS key, rows AS content FROM ${table}
      WHERE number > $1 AND number <= $2 AND length(rows) > 0 ORDER BY number`,
      [after, last],
    );
    after = last;
  }
}

/** The last fragment of a page, which has at least one. */
function lastOfPage(sizes: readonly { readonly number: number; readonly bytes: number }[]): number {
  let total = 0;
  let last = 0;
  for (const { number, bytes } of sizes) {
    total += bytes;
    if (last > 0 && total > maxPageBytes) break;
    last = number;
  }
  return last;
}

export interface StyleCode {
  readonly number: number;
  readonly code: Uint8Array;
}

/** Includes styles without rows. */
export async function* walkStyleCodes({ read, engine }: Queryable, generation: number): AsyncGenerator<StyleCode[]> {
  for (let after = 0; ; ) {
    const rows = await read<StyleCode>(
      `SELECT number, ${engine.toBytes("code")} AS code FROM ${tablesOf(generation).styles}
      WHERE number > $1 ORDER BY number LIMIT ${skusPerQuery}`,
      [after],
    );
    if (rows.length === 0) return;
    yield rows;
    after = rows.at(-1)?.number ?? 0;
  }
}
