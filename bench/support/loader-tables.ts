import { SQL } from "bun";

/**
 * Creates empty tables with a row for each line, style, and choice, and the indexes to find those of
 * a SKU: what the engines' own loaders fill.
 */
export async function createLoaderTables(url: string): Promise<void> {
  await using sql = new SQL(url, { max: 1 });
  const isEmbedded = url.startsWith("sqlite:");
  const key = isEmbedded ? "TEXT" : 'TEXT COLLATE "C"';
  const clustered = isEmbedded ? "WITHOUT ROWID" : "";
  if (isEmbedded) await sql.unsafe("PRAGMA journal_mode = WAL");
  await sql.unsafe(`CREATE TABLE personalization_line (
    generation INTEGER NOT NULL, sku_id ${key} NOT NULL, style_code ${key} NOT NULL, style_display_seq TEXT NOT NULL,
    style_sku_status TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (generation, sku_id, style_code)
  ) ${clustered}`);
  await sql.unsafe(`CREATE TABLE personalization_style (
    generation INTEGER NOT NULL, style_code ${key} NOT NULL, line_status TEXT NOT NULL, line_display_seq ${key} NOT NULL,
    choice_type TEXT NOT NULL, instruct_text TEXT NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (generation, style_code, line_display_seq)
  ) ${clustered}`);
  await sql.unsafe(
    "CREATE INDEX personalization_style_by_group ON personalization_style (generation, choice_type, style_code)",
  );
  await sql.unsafe(`CREATE TABLE personalization_choice (
    generation INTEGER NOT NULL, choice_type ${key} NOT NULL, choice_status TEXT NOT NULL,
    choice_display_seq TEXT NOT NULL, choice_value ${key} NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (generation, choice_type, choice_value)
  ) ${clustered}`);
}
