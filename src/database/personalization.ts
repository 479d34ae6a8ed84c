import type { Personalization } from "../model/personalization.ts";
import type { Queryable } from "./database.ts";

/** The current generation that has the SKU: the brand's own, or else another brand's. */
const generationQuery = `
  SELECT generation FROM current_generation
  WHERE EXISTS (
    SELECT 1 FROM personalization_line line WHERE line.generation = current_generation.generation AND line.sku_id = $1
  )
  ORDER BY CASE brand WHEN $2 THEN 0 ELSE 1 END, brand
  LIMIT 1`;

const styles = "SELECT style_code FROM personalization_line WHERE generation = $1 AND sku_id = $2";
const groups = `SELECT choice_type FROM personalization_style WHERE generation = $1 AND style_code IN (${styles})`;
const rowsQuery = `
  SELECT 0 AS list, position, sku_id AS a, style_code AS b, style_display_seq AS c, style_sku_status AS d, NULL AS e
  FROM personalization_line WHERE generation = $1 AND sku_id = $2
  UNION ALL
  SELECT 1, position, style_code, line_status, line_display_seq, choice_type, instruct_text
  FROM personalization_style WHERE generation = $1 AND style_code IN (${styles})
  UNION ALL
  SELECT 2, position, choice_type, choice_status, choice_display_seq, choice_value, NULL
  FROM personalization_choice WHERE generation = $1 AND choice_type IN (${groups})`;

interface Row {
  /** 0 a line, 1 a style, 2 a choice. Numbers, because a string would be created for every row. */
  readonly list: 0 | 1 | 2;
  readonly position: number;
  readonly a: string;
  readonly b: string;
  readonly c: string;
  readonly d: string;
  readonly e: string | null;
}

/**
 * The rows of a SKU, each list as loaded, all from one generation: the brand's own, or else the
 * first other brand's that has the SKU. Rows of a generation never change. One statement reads
 * them, so a generation that is being removed, lines first, is seen whole or not at all.
 */
export async function findPersonalization(database: Queryable, brand: string, sku: string): Promise<Personalization> {
  const { read } = database;
  const [current] = await read<{ generation: number }>(generationQuery, [sku, brand]);
  if (current === undefined) return { pzlines: [], pzstyles: [], pzchoices: [] };
  const rows = await read<Row>(rowsQuery, [current.generation, sku]);
  // It was removed since the first query, so another generation is current now.
  if (rows.length === 0) return await findPersonalization(database, brand, sku);
  return toPersonalization(rows.sort((one, other) => one.position - other.position));
}

/** A style of a generation, and the SKUs that offer it. */
export interface UsedStyle {
  readonly style: string;
  /** How many SKUs offer it; null when they were not counted. */
  readonly skus: number | null;
  /** The first of them in the feed. */
  readonly examples: readonly string[];
}

const usedStyleQuery = `
  SELECT DISTINCT style.style_code AS style, skus, examples FROM personalization_style style
  LEFT JOIN generation_style users ON users.generation = style.generation AND users.style_code = style.style_code
  WHERE style.generation = $1`;

/** @returns undefined when the generation has no such style */
export async function findUsedStyle(
  database: Queryable,
  generation: number,
  style: string,
): Promise<UsedStyle | undefined> {
  const [found] = await listUsedStyles(database, "AND style.style_code = $2", generation, style);
  return found;
}

/** The styles of a generation that use a choice group, at most `limit`. */
export function listStylesOfGroup(
  database: Queryable,
  generation: number,
  group: string,
  limit: number,
): Promise<UsedStyle[]> {
  return listUsedStyles(database, `AND choice_type = $2 ORDER BY style LIMIT ${limit}`, generation, group);
}

/** The choice groups of a generation that have a choice of this value, at most `limit`. */
export async function listGroupsOfChoice(
  { read }: Queryable,
  generation: number,
  choice: string,
  limit: number,
): Promise<string[]> {
  const rows = await read<{ group: string }>(
    `SELECT choice_type AS "group" FROM personalization_choice
    WHERE generation = $1 AND choice_value = $2 ORDER BY choice_type LIMIT ${limit}`,
    [generation, choice],
  );
  return rows.map(({ group }) => group);
}

/** The styles of a generation, ordered by code, at most `limit`. */
export function listStyles(database: Queryable, generation: number, limit: number): Promise<UsedStyle[]> {
  return listUsedStyles(database, `ORDER BY style LIMIT ${limit}`, generation);
}

async function listUsedStyles(
  { read }: Queryable,
  condition: string,
  generation: number,
  ...names: readonly string[]
): Promise<UsedStyle[]> {
  type Row = { style: string; skus: number | null; examples: string | null };
  const rows = await read<Row>(`${usedStyleQuery} ${condition}`, [generation, ...names]);
  return rows.map(({ examples, ...row }) => ({ ...row, examples: JSON.parse(examples ?? "[]") as string[] }));
}

function toPersonalization(rows: readonly Row[]): Personalization {
  const found: Personalization = { pzlines: [], pzstyles: [], pzchoices: [] };
  for (const { list, a, b, c, d, e } of rows) {
    if (list === 0) found.pzlines.push({ sku_id: a, style_code: b, style_display_seq: c, style_sku_status: d });
    else if (list === 1) {
      found.pzstyles.push({
        style_code: a,
        line_status: b,
        line_display_seq: c,
        choice_type: d,
        instruct_text: e ?? "",
      });
    } else found.pzchoices.push({ choice_type: a, choice_status: b, choice_display_seq: c, choice_value: d });
  }
  return found;
}
