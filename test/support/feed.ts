import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { writeFiles } from "./pds.ts";

const headers = {
  pzlines: "sku_id,style_code,style_display_seq,style_sku_status",
  pzstyles: "style_code,line_status,line_display_seq,choice_type,instruct_text",
  pzchoices: "choice_type,choice_status,choice_display_seq,choice_value",
} as const;

/** A list's file in CSV, with its header. */
export const toListFile = (list: keyof typeof headers, rows: readonly string[]) =>
  [headers[list], ...rows, ""].join("\n");

/** A cell of CSV, whatever its characters. */
export const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`;

/** The rows of a list's file in CSV as NDJSON. */
export const toNdjson = (csv: string) =>
  (parse(csv, { columns: true }) as object[]).map((row) => `${JSON.stringify(row)}\n`).join("");

/**
 * The three files of a small feed, not in display order: SKU "MUG" with two styles, "A/B é+" with
 * free text.
 */
export const feedFiles = {
  "pzlines.csv": toListFile("pzlines", ["MUG,SCRIPT,10,A", "MUG,BLOCK,9,I", "A/B é+,NOTE,010,A"]),
  "pzstyles.csv": toListFile("pzstyles", [
    'SCRIPT,A,2,MOTIF,"Pick one, or ""none"""',
    "SCRIPT,A,1,FONT,Choose a font",
    "BLOCK,A,1,FONT,Choose a font",
    "NOTE,A,1,TEXT,Up to 12 characters",
    "UNUSED,A,1,FONT,Nobody offers this",
  ]),
  "pzchoices.csv": toListFile("pzchoices", ["MOTIF,A,1,Heart", "FONT,A,2,Serif", "FONT,A,x,Other", "FONT,H,1,Sans"]),
};

/** The three files of a feed in which all SKUs offer one style with one choice. */
export const feedOf = (skus: readonly string[], choice = "Serif") => ({
  "pzlines.csv": toListFile(
    "pzlines",
    skus.map((sku) => `${sku},S,1,A`),
  ),
  "pzstyles.csv": toListFile("pzstyles", ["S,A,1,F,Font"]),
  "pzchoices.csv": toListFile("pzchoices", [`F,A,1,${choice}`]),
});

export async function writeFeed(
  parent: string,
  name: string,
  files: Readonly<Record<string, string | Uint8Array>> = feedFiles,
): Promise<string> {
  const folder = join(parent, name);
  await mkdir(folder, { recursive: true });
  await writeFiles(folder, files);
  return folder;
}
