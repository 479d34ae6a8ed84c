import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/**
 * A generated feed: every SKU offers three of 2,000 styles; each style has two lines, which use 500
 * groups of 20 choices by default.
 */
const styles = 2000;
const linesPerStyle = 2;
const groups = 500;
const defaultChoicesPerGroup = 20;
export const linesPerSku = 3;

export const skuOf = (index: number) => `SKU${`${index}`.padStart(8, "0")}`;
const styleOf = (index: number) => `ST${`${index % styles}`.padStart(4, "0")}`;
const groupOf = (index: number) => `GROUP${`${index % groups}`.padStart(3, "0")}`;

/** Differences between feeds. */
export interface FeedShape {
  /** Status code of every row, which identifies the feed in a response. */
  readonly status: string;
  readonly choicesPerGroup?: number;
  /** Whether the lines of a SKU lie anywhere in the file; by default it is sorted by SKU. */
  readonly isShuffled?: boolean;
  /** Whether each SKU offers one style that no other offers. */
  readonly isUnshared?: boolean;
}

function* linesOf(skus: number, { status, isShuffled = false, isUnshared = false }: FeedShape): Generator<string> {
  const perSku = isUnshared ? 1 : linesPerSku;
  const count = skus * perSku;
  // A step that has no divisor in common with the count visits every line once.
  const step = isShuffled ? coprimeOf(count, Math.floor(count * 0.618)) : 1;
  for (let index = 0, at = 0; index < count; index++, at = (at + step) % count) {
    const [sku, line] = [Math.floor(at / perSku), at % perSku];
    const style = isUnshared ? unsharedStyleOf(sku) : styleOf(sku * 7 + line * 661);
    yield `${skuOf(sku)},${style},${line + 1},${status}`;
  }
}

function coprimeOf(count: number, from: number): number {
  const divisor = (one: number, other: number): number => (other === 0 ? one : divisor(other, one % other));
  let step = Math.max(from, 1);
  while (divisor(count, step) !== 1) step++;
  return step;
}

const unsharedStyleOf = (sku: number) => `ST${`${sku}`.padStart(8, "0")}`;

function* stylesOf(skus: number, { status, isUnshared = false }: FeedShape): Generator<string> {
  const count = isUnshared ? skus : styles;
  for (let style = 0; style < count; style++) {
    for (let line = 0; line < linesPerStyle; line++) {
      const group = groupOf(style * linesPerStyle + line);
      const code = isUnshared ? unsharedStyleOf(style) : styleOf(style);
      yield `${code},${status},${line + 1},${group},"Line ${line + 1}, up to 20 characters"`;
    }
  }
}

function* choicesOf({ status, choicesPerGroup = defaultChoicesPerGroup }: FeedShape): Generator<string> {
  for (let group = 0; group < groups; group++) {
    for (let choice = 0; choice < choicesPerGroup; choice++) {
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

function rowsOf(skus: number, shape: FeedShape): Record<ListName, Generator<string>> {
  return { pzlines: linesOf(skus, shape), pzstyles: stylesOf(skus, shape), pzchoices: choicesOf(shape) };
}

/** Writes the three files of a feed. @returns the folder */
export async function writeFeed(folder: string, skus: number, shape: FeedShape): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const [list, rows] of Object.entries(rowsOf(skus, shape))) {
    await writeLines(join(folder, `${list}.csv`), headers[list as ListName], rows);
  }
  return folder;
}

/**
 * Writes the same rows for the engine's own loader: with the columns of its tables, without a
 * header.
 */
export async function writeTables(folder: string, skus: number, shape: FeedShape): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const [list, rows] of Object.entries(rowsOf(skus, shape))) {
    await writeLines(join(folder, `${list}.csv`), undefined, placed(rows));
  }
  return folder;
}

function* placed(rows: Iterable<string>): Generator<string> {
  let position = 0;
  for (const row of rows) yield `1,${row},${position++}`;
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
