import { existsSync } from "node:fs";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { ServiceError } from "../errors.ts";
import type { RejectedRow } from "../job.ts";
import { choiceSchema, lineSchema, maxSkuLength, styleSchema } from "../personalization.ts";
import { JsonSplitter } from "./json.ts";
import { checkFile, readText } from "./source.ts";

/** The three files of a feed: their columns in the contract's order, and which of them make a row's key. */
export const lists = {
  pzlines: { columns: Object.keys(lineSchema.shape), key: ["sku_id", "style_code"] },
  pzstyles: { columns: Object.keys(styleSchema.shape), key: ["style_code", "line_display_seq"] },
  pzchoices: { columns: Object.keys(choiceSchema.shape), key: ["choice_type", "choice_value"] },
} as const;

export type ListName = keyof typeof lists;
export const listNames = Object.keys(lists) as ListName[];

/** A row of a feed's file, what is wrong with it, or something worth knowing about the file. */
export type ReadRow =
  | { readonly row: Record<string, string>; readonly file: string; readonly line: number }
  | { readonly rejected: RejectedRow }
  | { readonly note: string };

/**
 * The files of a feed: each list once, as `.csv` or `.ndjson`.
 * @throws ServiceError `invalid_input` when one is missing or there twice.
 */
export async function findFiles(folder: string): Promise<Record<ListName, string>> {
  const found = {} as Record<ListName, string>;
  for (const list of listNames) {
    const candidates = [`${list}.csv`, `${list}.ndjson`]
      .map((name) => join(folder, name))
      .filter((path) => existsSync(path));
    const [path] = candidates;
    if (path === undefined) {
      throw new ServiceError("invalid_input", `${folder}: there is no ${list}.csv and no ${list}.ndjson`);
    }
    if (candidates.length > 1)
      throw new ServiceError("invalid_input", `${folder}: both ${candidates.join(" and ")} are there`);
    await checkFile(path);
    found[list] = path;
  }
  return found;
}

/** Reads one file of a feed, row by row. All values are text and stay as they are. */
export function readRows(list: ListName, path: string): AsyncGenerator<ReadRow> {
  return path.endsWith(".csv") ? readCsv(list, path) : readNdjson(list, path);
}

interface CsvRecord {
  readonly record: string[];
  readonly info: { readonly lines: number };
}

async function* readCsv(list: ListName, file: string): AsyncGenerator<ReadRow> {
  const { columns } = lists[list];
  const parser = parse({
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: 1024 * 1024,
  });
  // An error of the source ends the parser with it, and so comes out of the loop below.
  pipeline(Readable.from(readText(file)), parser, () => {});
  let header: string[] | undefined;
  let line = 1;
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      // The parser tells the line that a record ends in; a value's own line ends lie between.
      line = info.lines - record.join("").split("\n").length + 1;
      if (header === undefined) {
        header = record.map((name) => name.trim());
        yield* checkHeader(header, columns, file, line);
        continue;
      }
      if (record.length === header.length) {
        yield checkRow(list, Object.fromEntries(header.map((name, index) => [name, record[index]])), file, line);
      } else {
        const reason = `has ${record.length} fields where the header has ${header.length}`;
        yield { rejected: { file, line, reason } };
      }
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines = line } = error as CsvError & { lines?: number };
    yield { rejected: { file, line: lines, reason: error.message } };
    return;
  }
  if (header === undefined)
    throw new ServiceError("invalid_input", `${file}: empty; expected a header of ${columns.join(", ")}`);
}

function* checkHeader(header: string[], columns: readonly string[], file: string, line: number): Generator<ReadRow> {
  const missing = columns.filter((column) => !header.includes(column));
  if (missing.length > 0) {
    throw new ServiceError(
      "invalid_input",
      `${file}:${line}: the header lacks ${missing.join(", ")}; it has ${header.join(", ")}`,
    );
  }
  const twice = header.find((column, index) => header.indexOf(column) !== index);
  if (twice !== undefined) throw new ServiceError("invalid_input", `${file}:${line}: the header has ${twice} twice`);
  const unknown = header.filter((column) => !columns.includes(column));
  if (unknown.length > 0) yield { note: `${file}: unknown columns, left out: ${unknown.join(", ")}` };
}

async function* readNdjson(list: ListName, file: string): AsyncGenerator<ReadRow> {
  const splitter = new JsonSplitter(0, file);
  const unknown = new Set<string>();
  const { columns } = lists[list];
  const read = function* (text: string, line: number): Generator<ReadRow> {
    let row: unknown;
    try {
      row = JSON.parse(text);
    } catch {
      yield { rejected: { file, line, reason: "not JSON" } };
      return;
    }
    if (typeof row !== "object" || row === null || Array.isArray(row)) {
      yield { rejected: { file, line, reason: "expected an object" } };
      return;
    }
    for (const column of Object.keys(row)) if (!(columns as string[]).includes(column)) unknown.add(column);
    yield checkRow(list, row as Record<string, unknown>, file, line);
  };
  for await (const chunk of readText(file)) {
    for (const { text, line } of splitter.push(chunk)) yield* read(text, line);
  }
  const { piece, unfinished } = splitter.end();
  if (piece !== undefined) yield* read(piece.text, piece.line);
  if (unfinished !== undefined) yield { rejected: { file, ...unfinished } };
  if (splitter.isEmpty)
    yield { rejected: { file, line: 1, reason: "the file is empty; an empty list is written as []" } };
  if (unknown.size > 0) yield { note: `${file}: unknown fields, left out: ${[...unknown].join(", ")}` };
}

/** The row's known columns in the contract's order, or the first thing that is wrong with them. */
function checkRow(list: ListName, values: Record<string, unknown>, file: string, line: number): ReadRow {
  const { columns, key } = lists[list];
  const row: Record<string, string> = {};
  for (const field of columns) {
    const value = values[field];
    const reason = problemOf(value, field, (key as readonly string[]).includes(field));
    if (reason !== undefined || typeof value !== "string") {
      return { rejected: { file, line, field, reason: reason ?? "expected text" } };
    }
    row[field] = value;
  }
  return { row, file, line };
}

function problemOf(value: unknown, field: string, isKey: boolean): string | undefined {
  if (value === undefined) return "is missing";
  if (typeof value !== "string") return `expected text, got ${JSON.stringify(value)}`;
  if (isKey && value === "") return "is empty";
  if (value.includes("\0")) return "holds a NUL character";
  if (!value.isWellFormed()) return "holds half of a surrogate pair";
  if (field === "sku_id" && value.length > maxSkuLength) return `is longer than ${maxSkuLength} characters`;
  return undefined;
}
