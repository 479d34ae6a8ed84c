import type { Personalization } from "../personalization.ts";
import type { Database } from "./database.ts";

type Row = { list: "line" | "style" | "choice"; a: string; b: string; c: string; d: string; e: string | null };

const query = `
  WITH chosen AS (
    SELECT current_generation.generation FROM current_generation
    WHERE EXISTS (
      SELECT 1 FROM personalization_line line
      WHERE line.generation = current_generation.generation AND line.sku_id = $1
    )
    ORDER BY CASE brand WHEN $2 THEN 0 ELSE 1 END, brand
    LIMIT 1
  ), line AS (
    SELECT * FROM personalization_line WHERE generation = (SELECT generation FROM chosen) AND sku_id = $1
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

/**
 * The rows of a SKU, each list as loaded, from one generation: the brand's own, or, where that does not know the SKU, the first
 * other brand's that does. One statement, so that an import in between is seen as a whole or not at all.
 */
export async function findPersonalization({ read }: Database, brand: string, sku: string): Promise<Personalization> {
  const rows = await read<Row>(query, [sku, brand]);
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
