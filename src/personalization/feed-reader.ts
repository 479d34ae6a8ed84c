import { setImmediate } from "node:timers/promises";
import type { PersonalizationOptions } from "../config/index.ts";
import { ServiceError } from "../errors.ts";
import { CsvReader, type CsvRecord } from "../feed/csv.ts";
import { TextDecoding } from "../feed/decode.ts";
import type { FeedFile } from "../feed/delivery.ts";
import { JsonSplitter } from "../feed/json.ts";
import { type ListName, lists } from "../feed/lists.ts";
import { readBytes } from "../feed/source.ts";
import { columnOf, type Header, readHeader, shortened } from "./header.ts";
import { type FeedPiece, Piece } from "./rows.ts";

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
        const header = readHeader(
          this.#list,
          this.#file.name,
          piece[0] as CsvRecord,
          this.#format,
          this.#mayLackHeader,
        );
        if (header.note !== undefined) this.notes.push(header.note);
        if (header.isThere) records = piece.slice(1);
        take = (rest) => this.#takeRecords(rest, header, reader.separator);
      }
      yield take(records);
    }
    this.#separator = reader.separator;
    this.isBlank = take === undefined;
  }

  #takeRecords(records: readonly CsvRecord[], { indexes, count }: Header, separator: string): FeedPiece {
    const piece = this.#startPiece();
    const inOrder = indexes.length === count && indexes.every((place, index) => place === index);
    for (const record of records) {
      if (record.problem !== undefined) piece.reject(record.line, record.problem, record.text);
      else if (record.fields.length !== count) {
        const reason = `has ${record.fields.length} fields where the header has ${count}`;
        piece.reject(record.line, reason, record.fields.join(separator));
      } else {
        const { fields } = record;
        piece.take(record.line, inOrder ? fields : indexes.map((index) => fields[index]), () => fields.join(separator));
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
        if (!known.has(name)) known.set(name, columnOf(this.#list, name, this.#format) ?? "");
        const index = (columns as readonly string[]).indexOf(known.get(name) ?? "");
        if (index < 0) unknown.add(name);
        else values[index] = value;
      }
      piece.take(line, values, () => text);
    };
    for await (const chunk of texts) {
      const piece = this.#startPiece();
      for (const { text, line } of splitter.push(chunk)) take(piece, text, line);
      yield piece;
      if (known.size > maxNames)
        throw new ServiceError(
          "invalid_input",
          `${this.#file.name}: its objects have over ${maxNames} different fields`,
        );
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

async function* recordsOf(reader: CsvReader, texts: AsyncIterable<string>): AsyncGenerator<readonly CsvRecord[]> {
  for await (const text of texts) yield reader.push(text);
  yield reader.end();
}
