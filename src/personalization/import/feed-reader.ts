import { setImmediate } from "node:timers/promises";
import { ServiceError } from "../../base/errors.ts";
import { formatNames } from "../../base/format.ts";
import { CsvReader, type CsvRecord, unclosedQuote } from "../../feed/csv.ts";
import { TextDecoding } from "../../feed/decode.ts";
import { isNdjson, readBytes } from "../../feed/file.ts";
import type { Delimiter, TextEncoding } from "../../feed/format.ts";
import { JsonSplitter, rowLimits } from "../../feed/json.ts";
import type { ListName } from "../lists.ts";
import type { FeedOptions } from "./feed.ts";
import { createHeaderTest, type Header, readHeader } from "./header.ts";
import { addObject, FieldNames } from "./json-rows.ts";
import { RowBatch } from "./rows.ts";

/** Bytes decoded into one batch: some thousand rows, a few milliseconds of work. */
export const chunkBytes = 65_536;

/** Limits memory if objects have arbitrary field names. */
const maxFieldNames = 1000;

type FeedFormat = Pick<FeedOptions, "encoding" | "separator" | "aliases" | "maxFileMegabytes">;

export class FeedReader {
  /** For the import report; complete once the file has been read. */
  readonly notes: string[] = [];
  /** Whether the file lacks even a header. */
  isBlank = false;
  readonly #list: ListName;
  readonly #file: { readonly path: string; readonly name: string };
  readonly #format: FeedFormat;
  readonly #allowMissingHeader: boolean;
  readonly #decoding: TextDecoding;
  readonly #isHeader: (values: readonly string[]) => boolean;
  #delimiter: Delimiter | null = null;

  /**
   * @param allowMissingHeader whether to assume the contract's columns for a file without a header
   */
  constructor(
    list: ListName,
    file: { readonly path: string; readonly name: string },
    format: FeedFormat,
    allowMissingHeader: boolean,
  ) {
    this.#list = list;
    this.#file = file;
    this.#format = format;
    this.#allowMissingHeader = allowMissingHeader;
    this.#decoding = new TextDecoding(file.name, format.encoding);
    this.#isHeader = createHeaderTest(list, format);
  }

  get encoding(): TextEncoding {
    return this.#decoding.encoding;
  }

  /** Null for NDJSON. */
  get delimiter(): Delimiter | null {
    return this.#delimiter;
  }

  /**
   * @param onRead receives the file's bytes as stored
   * @throws ServiceError `invalid_input` if the file as a whole cannot be read
   */
  async *read(onRead: (bytes: Uint8Array) => void): AsyncGenerator<RowBatch> {
    const texts = this.#texts(onRead);
    yield* isNdjson(this.#file.name) ? this.#readNdjson(texts) : this.#readCsv(texts);
    if (this.encoding !== "utf-8") this.notes.push(`${this.#file.name}: read as ${this.encoding}`);
    if (this.#delimiter !== null && this.#delimiter !== ",") {
      this.notes.push(`${this.#file.name}: read with delimiter ${JSON.stringify(this.#delimiter)}`);
    }
  }

  /** However few rows it seems to lose, the others may be lost with it. */
  #refuse(line: number, reason: string): ServiceError {
    return new ServiceError("invalid_input", `${this.#file.name}:${line}: ${reason}`);
  }

  #startBatch(): RowBatch {
    return new RowBatch(this.#list, this.#file.name);
  }

  async *#texts(onRead: (bytes: Uint8Array) => void): AsyncGenerator<string> {
    const { path, name } = this.#file;
    for await (const bytes of readBytes(path, { name, onRead, maxMegabytes: this.#format.maxFileMegabytes })) {
      for (let start = 0; start < bytes.length; start += chunkBytes) {
        yield this.#decoding.push(bytes.subarray(start, start + chunkBytes));
        // Keeps the process responsive.
        await setImmediate();
      }
    }
    yield this.#decoding.end();
  }

  async *#readCsv(texts: AsyncIterable<string>): AsyncGenerator<RowBatch> {
    const reader = new CsvReader(this.#file.name, this.#format.separator);
    let header: Header | undefined;
    for await (const chunk of readRecords(reader, texts)) {
      const [first] = chunk;
      if (first === undefined) continue;
      let records = chunk;
      if (header === undefined) {
        header = readHeader(this.#list, this.#file.name, first, this.#format, this.#allowMissingHeader);
        if (header.note !== undefined) this.notes.push(header.note);
        if (header.isPresent) records = chunk.slice(1);
      }
      yield this.#toBatch(records, header, reader.delimiter);
    }
    this.#delimiter = reader.delimiter;
    this.isBlank = header === undefined;
  }

  #toBatch(records: readonly CsvRecord[], { indexes, count }: Header, delimiter: Delimiter): RowBatch {
    const batch = this.#startBatch();
    const isHeader = this.#isHeader;
    const inOrder = indexes.length === count && indexes.every((field, column) => field === column);
    for (const record of records) {
      if (record.problem === unclosedQuote) throw this.#refuse(record.line, unclosedQuote);
      else if (record.problem !== undefined) batch.reject(record.line, record.problem, record.text);
      else if (record.fields.length !== count) {
        const { length } = record.fields;
        const reason = `has ${length} ${length === 1 ? "field" : "fields"}, but the header has ${count}`;
        batch.reject(record.line, reason, record.fields.join(delimiter));
      } else {
        const { fields } = record;
        const values = inOrder ? fields : indexes.map((index) => fields[index] ?? "");
        if (isHeader(values)) batch.reject(record.line, "repeats the header", fields.join(delimiter));
        else batch.add(record.line, values, () => fields.join(delimiter));
      }
    }
    return batch;
  }

  async *#readNdjson(texts: AsyncIterable<string>): AsyncGenerator<RowBatch> {
    const splitter = new JsonSplitter(0, this.#file.name, rowLimits);
    const fieldNames = new FieldNames(this.#list, this.#format);
    for await (const chunk of texts) {
      const batch = this.#startBatch();
      for (const document of splitter.push(chunk)) addObject(batch, fieldNames, document);
      yield batch;
      if (fieldNames.size > maxFieldNames) {
        throw new ServiceError("invalid_input", `${this.#file.name}: more than ${maxFieldNames} different field names`);
      }
    }
    const lastBatch = this.#startBatch();
    const { document, unfinished } = splitter.end();
    if (document !== undefined) addObject(lastBatch, fieldNames, document);
    if (unfinished !== undefined) throw this.#refuse(unfinished.line, unfinished.reason);
    yield lastBatch;
    this.isBlank = splitter.isEmpty;
    const unknown = fieldNames.listUnknown();
    if (unknown.length > 0) this.notes.push(`${this.#file.name}: ignored unknown fields: ${formatNames(unknown)}`);
  }
}

async function* readRecords(reader: CsvReader, texts: AsyncIterable<string>): AsyncGenerator<readonly CsvRecord[]> {
  for await (const text of texts) yield reader.push(text);
  yield reader.end();
}
