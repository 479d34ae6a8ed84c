import { setImmediate } from "node:timers/promises";
import type { PersonalizationOptions } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { excerpt, type RejectedRow } from "../job.ts";
import { maxSkuLength } from "../personalization.ts";
import { CsvReader, type CsvRecord } from "./csv.ts";
import { TextDecoding } from "./decode.ts";
import { JsonSplitter } from "./json.ts";
import { type ListName, listNames, lists } from "./lists.ts";
import { readBytes } from "./source.ts";

/** A file of a feed, on this machine. */
export interface FeedFile {
  readonly path: string;
  /** What messages call it: its path, or the address that it came from. */
  readonly name: string;
  /** As it lies there. */
  readonly bytes: number;
}

/** A row's values in the order of its list's columns, all of them text and as they came. */
export interface FeedRow {
  readonly line: number;
  /** Its place among the accepted rows of the file, from 0. */
  readonly position: number;
  readonly values: readonly string[];
}

/** What a piece of a file held. */
export interface FeedPiece {
  readonly rows: readonly FeedRow[];
  readonly rejected: readonly RejectedRow[];
}

/** Reads one file of a feed, in pieces of some thousand rows. */
export class FeedReader {
  /** What is worth knowing about the file; complete when it has been read. */
  readonly notes: string[] = [];
  /** Whether there was nothing in it, not even a header. */
  isBlank = false;
  readonly #list: ListName;
  readonly #file: FeedFile;
  readonly #format: Pick<PersonalizationOptions, "separator" | "aliases">;
  readonly #mayLackHeader: boolean;
  readonly #decoding: TextDecoding;
  readonly #isCsv: boolean;
  #separator: string | null = null;
  #accepted = 0;

  /** @param mayLackHeader whether a file without header is read with the columns in the contract's order */
  constructor(
    list: ListName,
    file: FeedFile,
    format: Pick<PersonalizationOptions, "encoding" | "separator" | "aliases">,
    mayLackHeader = false,
  ) {
    this.#list = list;
    this.#file = file;
    this.#format = format;
    this.#mayLackHeader = mayLackHeader;
    this.#decoding = new TextDecoding(file.name, format.encoding);
    this.#isCsv = !/\.(ndjson|jsonl)(\.gz|\.zst)?$/i.test(file.name);
  }

  get encoding(): string {
    return this.#decoding.encoding;
  }

  /** Null for NDJSON. */
  get separator(): string | null {
    return this.#separator;
  }

  /**
   * @param onRead is given the file's bytes as they lie there
   * @throws ServiceError `invalid_input` when the file as a whole cannot be read.
   */
  async *read(onRead: (bytes: Uint8Array) => void): AsyncGenerator<FeedPiece> {
    const texts = this.#texts(onRead);
    for await (const piece of this.#isCsv ? this.#readCsv(texts) : this.#readNdjson(texts)) {
      this.#accepted += piece.rows.length;
      yield piece;
    }
    if (this.encoding !== "utf-8") this.notes.push(`${this.#file.name}: read as ${this.encoding}`);
    if ((this.#separator ?? ",") !== ",") {
      this.notes.push(`${this.#file.name}: separated by ${JSON.stringify(this.#separator)}`);
    }
  }

  #startPiece(): Piece {
    return new Piece(this.#list, this.#file.name, this.#accepted);
  }

  async *#texts(onRead: (bytes: Uint8Array) => void): AsyncGenerator<string> {
    const { path, name } = this.#file;
    for await (const bytes of readBytes(path, name, onRead)) {
      for (let start = 0; start < bytes.length; start += pieceBytes) {
        yield this.#decoding.push(bytes.subarray(start, start + pieceBytes));
        // Lets the process attend to what else it does.
        await setImmediate();
      }
    }
    yield this.#decoding.end();
  }

  async *#readCsv(texts: AsyncIterable<string>): AsyncGenerator<FeedPiece> {
    const reader = new CsvReader(this.#file.name, this.#format.separator);
    let take: ((records: readonly CsvRecord[]) => FeedPiece) | undefined;
    for await (const piece of recordsOf(reader, texts)) {
      if (piece.length === 0) continue;
      let records = piece;
      if (take === undefined) {
        const { places, hasHeader } = this.#readHeader(piece[0] as CsvRecord);
        if (hasHeader) records = piece.slice(1);
        take = (rest) => this.#takeRecords(rest, places);
      }
      yield take(records);
    }
    this.#separator = reader.separator;
    this.isBlank = take === undefined;
  }

  /** Where each column of the list stands in a record. */
  #readHeader(record: CsvRecord): { places: Places; hasHeader: boolean } {
    const { columns } = lists[this.#list];
    const where = `${this.#file.name}:${record.line}`;
    if (record.problem !== undefined) throw invalid(`${where}: the header: ${record.problem}`);
    const names = record.fields.map((name) => name.trim());
    const found = names.map((name) => this.#columnOf(name));
    const missing = columns.filter((column) => !found.includes(column));
    const other = this.#otherList(names);
    if (missing.length === columns.length && names.length === columns.length && other === "") {
      const first = excerpt(names.join(", "));
      if (!this.#mayLackHeader) {
        throw invalid(
          `${where}: there is no header: the first line is ${first}, expected ${columns.join(", ")}; forced, the columns are read in that order`,
        );
      }
      this.notes.push(`${where}: there is no header, so the columns were read as ${columns.join(", ")}`);
      return { places: { indexes: columns.map((_, index) => index), count: columns.length }, hasHeader: false };
    }
    if (missing.length > 0) {
      const shown = excerpt(names.join(", ")).slice(1, -1);
      throw invalid(`${where}: the header lacks ${missing.join(", ")}; it has ${shown}${other}`);
    }
    const twice = columns.find((column) => found.indexOf(column) !== found.lastIndexOf(column));
    if (twice !== undefined) {
      const spelled = names.filter((_, index) => found[index] === twice);
      const as = spelled.every((name) => name === twice) ? "" : ` (as ${spelled.join(" and ")})`;
      throw invalid(`${where}: the header has ${twice} twice${as}`);
    }
    const unknown = names.filter((_, index) => found[index] === undefined);
    if (unknown.length > 0) this.notes.push(`${this.#file.name}: unknown columns, left out: ${shortened(unknown)}`);
    return {
      places: { indexes: columns.map((column) => found.indexOf(column)), count: names.length },
      hasHeader: true,
    };
  }

  #columnOf(name: string): string | undefined {
    const { columns } = lists[this.#list];
    const folded = name.toLowerCase();
    return columns.find(
      (column) =>
        column === folded || this.#format.aliases[column]?.some((alias) => alias.trim().toLowerCase() === folded),
    );
  }

  /** A hint for a file that has another's content. */
  #otherList(names: readonly string[]): string {
    const folded = names.map((name) => name.toLowerCase());
    const other = listNames.find((list) => lists[list].columns.every((column) => folded.includes(column)));
    return other === undefined || other === this.#list ? "" : `: it looks like ${other}`;
  }

  #takeRecords(records: readonly CsvRecord[], { indexes, count }: Places): FeedPiece {
    const piece = this.#startPiece();
    const inOrder = indexes.length === count && indexes.every((place, index) => place === index);
    for (const record of records) {
      if (record.problem !== undefined) piece.reject(record.line, record.problem, record.text);
      else if (record.fields.length !== count) {
        const reason = `has ${record.fields.length} fields where the header has ${count}`;
        piece.reject(record.line, reason, record.fields.join(this.#format.separator ?? ","));
      } else {
        const { fields } = record;
        piece.take(record.line, inOrder ? fields : indexes.map((index) => fields[index]), fields);
      }
    }
    return piece;
  }

  async *#readNdjson(texts: AsyncIterable<string>): AsyncGenerator<FeedPiece> {
    const { columns } = lists[this.#list];
    const known = new Map<string, string>(columns.map((column) => [column, column]));
    const unknown = new Set<string>();
    const splitter = new JsonSplitter(0, this.#file.name);
    const take = (piece: Piece, text: string, line: number) => {
      let row: unknown;
      try {
        row = JSON.parse(text);
      } catch {
        return piece.reject(line, "not JSON", text);
      }
      if (typeof row !== "object" || row === null || Array.isArray(row)) {
        return piece.reject(line, "expected an object", text);
      }
      const values: unknown[] = columns.map(() => undefined);
      for (const [name, value] of Object.entries(row)) {
        if (!known.has(name)) known.set(name, this.#columnOf(name) ?? "");
        const index = (columns as readonly string[]).indexOf(known.get(name) ?? "");
        if (index < 0) unknown.add(name);
        else values[index] = value;
      }
      piece.take(line, values, text);
    };
    for await (const chunk of texts) {
      const piece = this.#startPiece();
      for (const { text, line } of splitter.push(chunk)) take(piece, text, line);
      yield piece;
      if (known.size > maxNames)
        throw invalid(`${this.#file.name}: its objects have over ${maxNames} different fields`);
    }
    const last = this.#startPiece();
    const { piece, unfinished } = splitter.end();
    if (piece !== undefined) take(last, piece.text, piece.line);
    if (unfinished !== undefined) last.reject(unfinished.line, unfinished.reason);
    yield last;
    this.isBlank = splitter.isEmpty;
    if (unknown.size > 0) this.notes.push(`${this.#file.name}: unknown fields, left out: ${shortened([...unknown])}`);
  }
}

/** Bytes that are read in one go: some thousand rows, a few milliseconds. */
const pieceBytes = 65_536;

/** Different field names that a file's objects may have: a bound for memory when it is something else. */
const maxNames = 1000;

/** Where a list's columns stand in a record, and how many fields it has. */
interface Places {
  readonly indexes: readonly number[];
  readonly count: number;
}

async function* recordsOf(reader: CsvReader, texts: AsyncIterable<string>): AsyncGenerator<readonly CsvRecord[]> {
  for await (const text of texts) yield reader.push(text);
  yield reader.end();
}

class Piece implements FeedPiece {
  readonly rows: FeedRow[] = [];
  readonly rejected: RejectedRow[] = [];
  readonly #list: ListName;
  readonly #file: string;
  #next: number;

  /** @param position the place of its first accepted row */
  constructor(list: ListName, file: string, position: number) {
    this.#list = list;
    this.#file = file;
    this.#next = position;
  }

  /** @param source what the values came from, to be shown if one of them is wrong */
  take(line: number, values: readonly unknown[], source: string | readonly string[]): void {
    const { columns } = lists[this.#list];
    for (let index = 0; index < columns.length; index++) {
      const field = columns[index] as string;
      const reason = problemOf(values[index], field, this.#list);
      if (reason === undefined) continue;
      this.#reject({ line, field, reason }, typeof source === "string" ? source : source.join(","));
      return;
    }
    this.rows.push({ line, position: this.#next++, values: values as readonly string[] });
  }

  reject(line: number, reason: string, text?: string): void {
    this.#reject({ line, reason }, text);
  }

  #reject(problem: Omit<RejectedRow, "file">, text: string | undefined): void {
    this.rejected.push({ file: this.#file, ...problem, ...(text !== undefined && { text: excerpt(text) }) });
  }
}

function problemOf(value: unknown, field: string, list: ListName): string | undefined {
  if (value === undefined) return "is missing";
  if (typeof value !== "string") return `expected text, got ${JSON.stringify(value).slice(0, 80)}`;
  if (value === "" && (lists[list].key as readonly string[]).includes(field)) return "is empty";
  if (value.includes("\0")) return "holds a NUL character";
  if (!value.isWellFormed()) return "holds half of a surrogate pair";
  if (field === "sku_id" && value.length > maxSkuLength) return `is longer than ${maxSkuLength} characters`;
  return undefined;
}

function shortened(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name));
  return names.length > shown.length ? `${shown.join(", ")} and ${names.length - shown.length} more` : shown.join(", ");
}

function invalid(message: string): ServiceError {
  return new ServiceError("invalid_input", message);
}
