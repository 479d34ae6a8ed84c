import type { Queryable } from "../database/database.ts";
import type { Value } from "../database/engines/engine.ts";
import { tablesOf } from "../database/generation-tables.ts";
import { unpackNumbers } from "./packed-lines.ts";

export interface StyleFragment {
  readonly number: number;
  readonly code: string;
  /** JSON objects, separated by commas; empty if only lines name the style. */
  readonly rows: Uint8Array;
  /** Numbers of its choice groups, in the order of its rows. */
  readonly groups: readonly number[];
}

export interface GroupFragment {
  readonly number: number;
  readonly name: string;
  /** JSON objects, separated by commas; empty if only styles name the group. */
  readonly rows: Uint8Array;
}

/** @returns packed lines; undefined for an unknown SKU */
export async function findLines({ read }: Queryable, generation: number, sku: string): Promise<Uint8Array | undefined> {
  const [row] = await read<{ lines: Uint8Array }>(`SELECT lines FROM ${tablesOf(generation).skus} WHERE sku = $1`, [
    sku,
  ]);
  return row?.lines;
}

export async function listKnownSkus(
  { read, engine }: Queryable,
  generation: number,
  skus: readonly string[],
): Promise<string[]> {
  const rows = await read<{ sku: string }>(
    `SELECT sku FROM ${tablesOf(generation).skus} WHERE ${engine.keyList.contains("sku", "$1")} ORDER BY sku`,
    [engine.keyList.toValue(skus)],
  );
  return rows.map(({ sku }) => sku);
}

/** The first SKU of a generation, in order, that is not before a text. */
export async function findSkuFrom(database: Queryable, generation: number, text: string): Promise<string | undefined> {
  return (await listSkusFrom(database, generation, text, 1))[0];
}

/** The first SKUs of a generation that begin with a text, in order. */
export async function listSkusWithPrefix(
  database: Queryable,
  generation: number,
  prefix: string,
  limit: number,
): Promise<string[]> {
  // They are adjacent in the index, so the condition needs no pattern.
  return (await listSkusFrom(database, generation, prefix, limit)).filter((sku) => sku.startsWith(prefix));
}

async function listSkusFrom({ read }: Queryable, generation: number, text: string, limit: number): Promise<string[]> {
  const rows = await read<{ sku: string }>(
    `SELECT sku FROM ${tablesOf(generation).skus} WHERE sku >= $1 ORDER BY sku LIMIT ${limit}`,
    [text],
  );
  return rows.map(({ sku }) => sku);
}

export async function listStyleFragments(
  database: Queryable,
  generation: number,
  numbers: readonly number[],
): Promise<StyleFragment[]> {
  const { styles } = tablesOf(generation);
  const rows = await readByNumber<Omit<StyleFragment, "groups"> & { readonly groups: Uint8Array }>(
    database,
    `SELECT number, code, rows, groups FROM ${styles}`,
    numbers,
  );
  return rows.map((row) => ({ ...row, groups: unpackNumbers(row.groups) }));
}

export function listGroupFragments(
  database: Queryable,
  generation: number,
  numbers: readonly number[],
): Promise<GroupFragment[]> {
  return readByNumber(database, `SELECT number, name, rows FROM ${tablesOf(generation).groups}`, numbers);
}

/** The last number is repeated to fill a statement, so that it stays prepared. */
const numbersPerStatement = 8;
const numberPlaceholders = Array.from({ length: numbersPerStatement }, (_, index) => `$${index + 1}`).join(", ");

async function readByNumber<Row>({ read }: Queryable, select: string, numbers: readonly number[]): Promise<Row[]> {
  const found: Row[] = [];
  for (let start = 0; start < numbers.length; start += numbersPerStatement) {
    const values = numbers.slice(start, start + numbersPerStatement);
    while (values.length < numbersPerStatement) values.push(values.at(-1) as number);
    found.push(...(await read<Row>(`${select} WHERE number IN (${numberPlaceholders})`, values)));
  }
  return found;
}

/** As served; empty if it has none. */
export async function listRows(
  { read }: Queryable,
  generation: number,
  kind: "styles" | "groups",
  name: string,
): Promise<Readonly<Record<string, string>>[]> {
  const column = kind === "styles" ? "code" : "name";
  const [row] = await read<{ rows: Uint8Array }>(
    `SELECT rows FROM ${tablesOf(generation)[kind]} WHERE ${column} = $1`,
    [name],
  );
  return row === undefined ? [] : JSON.parse(`[${new TextDecoder().decode(row.rows)}]`);
}

export interface UsedStyle {
  /** Number in the generation; styles with rows are numbered by code. */
  readonly number: number;
  readonly style: string;
  /** How many SKUs offer it. */
  readonly skus: number;
  /** The first SKUs that offer it. */
  readonly examples: readonly string[];
}

/** @returns undefined when the generation has no such style */
export async function findUsedStyle(
  database: Queryable,
  generation: number,
  style: string,
): Promise<UsedStyle | undefined> {
  const [found] = await listUsedStyles(database, generation, "AND code = $1", [style]);
  return found;
}

/** At most {@link maxStylesOfGroup}. */
export async function listStylesOfGroup(database: Queryable, generation: number, group: string): Promise<UsedStyle[]> {
  const [found] = await database.read<{ styles: Uint8Array }>(
    `SELECT styles FROM ${tablesOf(generation).groups} WHERE name = $1`,
    [group],
  );
  const numbers = unpackNumbers(found?.styles ?? new Uint8Array());
  if (numbers.length === 0) return [];
  return await listUsedStyles(database, generation, `AND number IN (${numbers.join(", ")}) ORDER BY number`, []);
}

/** Styles that are stored with a choice group. */
export const maxStylesOfGroup = 100;

/** The choice groups that have a choice with this value, at most `limit`. */
export async function listGroupsOfChoice(
  { read, engine }: Queryable,
  generation: number,
  choice: string,
  limit: number,
): Promise<string[]> {
  // JSON escapes quotes inside values, so nothing else contains this text.
  const text = `"choice_value":${JSON.stringify(choice)}}`;
  const rows = await read<{ name: string }>(
    `SELECT name FROM ${tablesOf(generation).groups} WHERE ${engine.contains("rows", "$1")} ORDER BY name LIMIT ${limit}`,
    [text],
  );
  return rows.map(({ name }) => name);
}

/**
 * Ordered by code, at most `limit`.
 * @param after only styles with a higher number
 */
export function listStyles(database: Queryable, generation: number, limit: number, after = 0): Promise<UsedStyle[]> {
  return listUsedStyles(database, generation, `AND number > $1 ORDER BY number LIMIT ${limit}`, [after]);
}

async function listUsedStyles(
  { read }: Queryable,
  generation: number,
  condition: string,
  values: Value[],
): Promise<UsedStyle[]> {
  const rows = await read<Omit<UsedStyle, "examples"> & { readonly examples: string }>(
    `SELECT number, code AS style, skus, examples FROM ${tablesOf(generation).styles} WHERE length(rows) > 0 ${condition}`,
    values,
  );
  return rows.map(({ examples, ...row }) => ({ ...row, examples: JSON.parse(examples) as string[] }));
}
