import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeFiles } from "./pds.ts";

/**
 * The three files of a small feed, not in display order: SKU "MUG" with two styles, "A/B é+" with
 * free text.
 */
export const feedFiles = {
  "pzlines.csv": [
    "sku_id,style_code,style_display_seq,style_sku_status",
    "MUG,SCRIPT,10,A",
    "MUG,BLOCK,9,I",
    "A/B é+,NOTE,010,A",
    "",
  ].join("\n"),
  "pzstyles.csv": [
    "style_code,line_status,line_display_seq,choice_type,instruct_text",
    'SCRIPT,A,2,MOTIF,"Pick one, or ""none"""',
    "SCRIPT,A,1,FONT,Choose a font",
    "BLOCK,A,1,FONT,Choose a font",
    "NOTE,A,1,TEXT,Up to 12 characters",
    "UNUSED,A,1,FONT,Nobody offers this",
    "",
  ].join("\n"),
  "pzchoices.csv": [
    "choice_type,choice_status,choice_display_seq,choice_value",
    "MOTIF,A,1,Heart",
    "FONT,A,2,Serif",
    "FONT,A,x,Other",
    "FONT,H,1,Sans",
    "",
  ].join("\n"),
};

/** The three files of a feed in which all SKUs offer one style with one choice. */
export const feedOf = (skus: readonly string[], choice = "Serif") => ({
  "pzlines.csv": [
    "sku_id,style_code,style_display_seq,style_sku_status",
    ...skus.map((sku) => `${sku},S,1,A`),
    "",
  ].join("\n"),
  "pzstyles.csv": "style_code,line_status,line_display_seq,choice_type,instruct_text\nS,A,1,F,Font\n",
  "pzchoices.csv": `choice_type,choice_status,choice_display_seq,choice_value\nF,A,1,${choice}\n`,
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
