import type { SQL } from "bun";
import type { Choice, Line, Personalization, Style } from "../personalization.ts";
import type { Database } from "./database.ts";
import { writing } from "./database.ts";

/** How many generations of a brand are kept, the current one included. */
const keptGenerations = 3;

type Row = { list: "line" | "style" | "choice"; a: string; b: string; c: string; d: string; e: string | null };

/**
 * The rows of a SKU, each list as loaded, from one generation: the brand's own, or, where that does not know the SKU, the first
 * other brand's that does. One statement, so that an import in between is seen as a whole or not at all.
 */
export async function findPersonalization({ sql }: Database, brand: string, sku: string): Promise<Personalization> {
  const rows = await sql<Row[]>`
    WITH chosen AS (
      SELECT current_generation.generation FROM current_generation
      WHERE EXISTS (
        SELECT 1 FROM personalization_line line
        WHERE line.generation = current_generation.generation AND line.sku_id = ${sku}
      )
      ORDER BY CASE brand WHEN ${brand} THEN 0 ELSE 1 END, brand
      LIMIT 1
    ), line AS (
      SELECT * FROM personalization_line WHERE generation = (SELECT generation FROM chosen) AND sku_id = ${sku}
    ), style AS (
      SELECT * FROM personalization_style
      WHERE generation = (SELECT generation FROM chosen) AND style_code IN (SELECT style_code FROM line)
    ), choice AS (
      SELECT * FROM personalization_choice
      WHERE generation = (SELECT generation FROM chosen) AND choice_type IN (SELECT choice_type FROM style)
    )
    SELECT 'line' AS list, position, sku_id AS a, style_code AS b, style_display_seq AS c, style_sku_status AS d, NULL AS e
    FROM line
    UNION ALL
    SELECT 'style', position, style_code, line_status, line_display_seq, choice_type, instruct_text FROM style
    UNION ALL
    SELECT 'choice', position, choice_type, choice_status, choice_display_seq, choice_value, NULL FROM choice
    ORDER BY position`;
  const found: Personalization = { pzlines: [], pzstyles: [], pzchoices: [] };
  for (const { list, a, b, c, d, e } of rows) {
    if (list === "line") found.pzlines.push({ sku_id: a, style_code: b, style_display_seq: c, style_sku_status: d });
    else if (list === "style") {
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

/** Rows of one list, each with its place in the feed; no key twice within a batch. */
export type PersonalizationBatch =
  | { readonly list: "pzlines"; readonly rows: readonly (Line & Placed)[] }
  | { readonly list: "pzstyles"; readonly rows: readonly (Style & Placed)[] }
  | { readonly list: "pzchoices"; readonly rows: readonly (Choice & Placed)[] };

export interface Placed {
  readonly position: number;
}

/**
 * Loads a new generation beside the brand's current one, makes it current in one update, and removes the oldest.
 * A batch source that throws leaves everything as it was. In a later batch a key's later row wins.
 */
export function replacePersonalization(
  database: Database,
  brand: string,
  batches: AsyncIterable<PersonalizationBatch>,
): Promise<void> {
  return writing(database, async (transaction) => {
    const now = transaction.unsafe(database.dialect.now);
    const [created] = await transaction<{ id: number }[]>`
      INSERT INTO generation (brand, loaded_at) VALUES (${brand}, ${now}) RETURNING id`;
    if (created === undefined) throw new Error("the database made no generation");
    for await (const batch of batches) await insertBatch(transaction, created.id, batch);
    await makeCurrent(transaction, brand, created.id);
    await removeOldGenerations(transaction, brand);
  });
}

/**
 * Makes the brand's generation before the current one current again.
 * @returns whether there was one
 */
export function rollbackPersonalization(database: Database, brand: string): Promise<boolean> {
  return writing(database, async (transaction) => {
    const [previous] = await transaction<{ id: number | null }[]>`
      SELECT max(id) AS id FROM generation
      WHERE brand = ${brand} AND id < (SELECT generation FROM current_generation WHERE brand = ${brand})`;
    if (typeof previous?.id !== "number") return false;
    await makeCurrent(transaction, brand, previous.id);
    return true;
  });
}

async function insertBatch(sql: SQL, generation: number, { list, rows }: PersonalizationBatch): Promise<void> {
  if (rows.length === 0) return;
  const values = sql(rows.map((row) => ({ generation, ...row })));
  if (list === "pzlines") {
    await sql`
      INSERT INTO personalization_line ${values}
      ON CONFLICT (generation, sku_id, style_code) DO UPDATE SET
        style_display_seq = excluded.style_display_seq, style_sku_status = excluded.style_sku_status,
        position = excluded.position`;
  } else if (list === "pzstyles") {
    await sql`
      INSERT INTO personalization_style ${values}
      ON CONFLICT (generation, style_code, line_display_seq) DO UPDATE SET
        line_status = excluded.line_status, choice_type = excluded.choice_type,
        instruct_text = excluded.instruct_text, position = excluded.position`;
  } else {
    await sql`
      INSERT INTO personalization_choice ${values}
      ON CONFLICT (generation, choice_type, choice_value) DO UPDATE SET
        choice_status = excluded.choice_status, choice_display_seq = excluded.choice_display_seq,
        position = excluded.position`;
  }
}

async function makeCurrent(sql: SQL, brand: string, generation: number): Promise<void> {
  await sql`
    INSERT INTO current_generation (brand, generation) VALUES (${brand}, ${generation})
    ON CONFLICT (brand) DO UPDATE SET generation = excluded.generation`;
}

async function removeOldGenerations(sql: SQL, brand: string): Promise<void> {
  const generations = await sql<{ id: number }[]>`SELECT id FROM generation WHERE brand = ${brand} ORDER BY id DESC`;
  const old = generations.slice(keptGenerations).map(({ id }) => id);
  if (old.length === 0) return;
  await sql`DELETE FROM personalization_line WHERE generation IN ${sql(old)}`;
  await sql`DELETE FROM personalization_style WHERE generation IN ${sql(old)}`;
  await sql`DELETE FROM personalization_choice WHERE generation IN ${sql(old)}`;
  await sql`DELETE FROM generation WHERE id IN ${sql(old)}`;
}
