import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/**
 * A generated feed: every SKU offers three of 2,000 styles; each style has two lines, which use 500
 * groups of 20 choices by default.
 */
const styles = 2000;
const linesPerStyle = 2;
const groups = 500;
const choicesPerGroup = 20;
export const linesPerSku = 3;

export const skuOf = (index: number) => `SKU${`${index}`.padStart(8, "0")}`;
const styleOf = (index: number) => `ST${`${index % styles}`.padStart(4, "0")}`;
const groupOf = (index: number) => `GROUP${`${index % groups}`.padStart(3, "0")}`;

/** @param status status code of every row, which identifies the feed in a response */
function* linesOf(skus: number, status: string): Generator<string> {
  for (let sku = 0; sku < skus; sku++) {
    for (let line = 0; line < linesPerSku; line++) {
      yield `${skuOf(sku)},${styleOf(sku * 7 + line * 661)},${line + 1},${status}`;
    }
  }
}

function* stylesOf(status: string): Generator<string> {
  for (let style = 0; style < styles; style++) {
    for (let line = 0; line < linesPerStyle; line++) {
      const group = groupOf(style * linesPerStyle + line);
      yield `${styleOf(style)},${status},${line + 1},${group},"Line ${line + 1}, up to 20 characters"`;
    }
  }
}

function* choicesOf(status: string, perGroup: number): Generator<string> {
  for (let group = 0; group < groups; group++) {
    for (let choice = 0; choice < perGroup; choice++) {
      yield `${groupOf(group)},${status},${choice + 1},Choice ${choice + 1} of ${group + 1}`;
    }
  }
}

const headers = {
  pzlines: "sku_id,style_code,style_display_seq,style_sku_status",
  pzstyles: "style_code,line_status,line_display_seq,choice_type,instruct_text",
  pzchoices: "choice_type,choice_status,choice_display_seq,choice_value",
};

export type ListName = keyof typeof headers;

function rowsOf(skus: number, status: string, choices = choicesPerGroup): Record<ListName, Generator<string>> {
  return { pzlines: linesOf(skus, status), pzstyles: stylesOf(status), pzchoices: choicesOf(status, choices) };
}

/**
 * Writes the three files of a feed.
 * @param choices number of choices per group
 * @returns the folder
 */
export async function writeFeed(folder: string, skus: number, status: string, choices?: number): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const [list, rows] of Object.entries(rowsOf(skus, status, choices))) {
    await writeLines(join(folder, `${list}.csv`), headers[list as ListName], rows);
  }
  return folder;
}

/**
 * Writes the same rows for the engine's own loader: with the columns of the tables, without a
 * header.
 */
export async function writeTables(folder: string, skus: number, status: string, generation: number): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const [list, rows] of Object.entries(rowsOf(skus, status))) {
    await writeLines(join(folder, `${list}.csv`), undefined, placed(rows, generation));
  }
  return folder;
}

function* placed(rows: Iterable<string>, generation: number): Generator<string> {
  let position = 0;
  for (const row of rows) yield `${generation},${row},${position++}`;
}

async function writeLines(path: string, header: string | undefined, rows: Iterable<string>): Promise<void> {
  const writer = Bun.file(path).writer({ highWaterMark: 1024 * 1024 });
  if (header !== undefined) writer.write(`${header}\n`);
  let piece = "";
  for (const row of rows) {
    piece += `${row}\n`;
    if (piece.length < 65_536) continue;
    writer.write(piece);
    await writer.flush();
    piece = "";
  }
  writer.write(piece);
  await writer.end();
}
