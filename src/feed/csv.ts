import { ServiceError } from "../base/errors.ts";
import { isFileMark } from "./decode.ts";
import { type Delimiter, delimiters } from "./format.ts";

/** In UTF-16 units, without the line end. Limits memory if a closing quote is missing, or the file is not CSV. */
export const maxRecordLength = 1024 * 1024;

/** More consecutive blank lines mean a damaged file, and would take minutes. */
const maxBlankLines = 1_000_000;

/** The problem of the last record of a truncated file, which may have swallowed others. */
export const unclosedQuote = "missing closing quote: the file ends inside this row";

/** `line` is where the record starts, counted from 1. */
export type CsvRecord =
  | { readonly line: number; readonly fields: string[]; readonly problem?: undefined }
  | { readonly line: number; readonly problem: string; readonly text: string };

const code = (character: string) => character.charCodeAt(0);
const [quote, newline, carriageReturn] = ['"', "\n", "\r"].map(code);

/** Any number of CRs before an LF belong to the line end. */
type LineEnd = "\n" | "\r";

/** Outside of quotes, the other line end would become part of a value. */
const strayOf = { "\n": "\r", "\r": "\n" } as const;
const strayProblems = {
  "\n": "CR inside an unquoted field, and the lines before it end in LF: line ends are mixed",
  "\r": "LF inside an unquoted field, and the lines before it end in CR: line ends are mixed",
} as const;

/**
 * Parses CSV (RFC 4180) in chunks. The most frequent delimiter of the first line is the file's.
 * Lines end in LF or CRLF, or in CR or CRLF if the first line ends in CR. Any other line end is a
 * problem of its record. Blank lines are skipped, and so are a concatenated file's marks before a record.
 * A test compares it with `csv-parse`, which takes ten seconds for the lines of a million SKUs.
 */
export class CsvReader {
  readonly #file: string;
  #delimiter: Delimiter | undefined;
  #lineEnd: LineEnd | undefined;
  #pending = "";
  #line = 1;
  #blankLines = 0;
  /** Line ends before the first record; only one kind ends this file's lines. */
  #leading = { newlines: 0, carriageReturns: 0 };

  constructor(file: string, delimiter?: Delimiter) {
    this.#file = file;
    this.#delimiter = delimiter;
  }

  get delimiter(): Delimiter {
    return this.#delimiter ?? ",";
  }

  /** @throws ServiceError `invalid_input` if a record exceeds the maximum length */
  push(chunk: string): CsvRecord[] {
    const records: CsvRecord[] = [];
    this.#read(this.#pending === "" ? chunk : this.#pending + chunk, false, records);
    return records;
  }

  end(): CsvRecord[] {
    const records: CsvRecord[] = [];
    this.#detectFormat(this.#pending, true);
    this.#read(this.#lineEnd === "\r" ? this.#pending : this.#pending.replace(/\r+$/, ""), true, records);
    return records;
  }

  #read(received: string, isLast: boolean, records: CsvRecord[]): void {
    const text = this.#lineEnd === undefined ? this.#dropLeadingBlankLines(received) : received;
    if (!this.#detectFormat(text, isLast)) {
      this.#keepPending(text);
      return;
    }
    const delimiter = this.delimiter.charCodeAt(0);
    const lineEnd = this.#lineEnd ?? "\n";
    const stray = strayOf[lineEnd];
    let start = 0;
    let nextQuote = text.indexOf('"');
    let nextStray = text.indexOf(stray);
    while (start < text.length) {
      // The LF of a CRLF whose CR ended the previous line.
      while (lineEnd === "\r" && text.charCodeAt(start) === newline) start++;
      while (isFileMark(text.charCodeAt(start))) start++;
      let end = text.indexOf(lineEnd, start);
      if (end < 0) {
        if (!isLast) break;
        end = text.length;
      }
      if (nextQuote >= 0 && nextQuote < start) nextQuote = text.indexOf('"', start);
      const stop = lineEnd === "\n" ? startOfReturns(text, start, end) : end;
      if (nextStray >= 0 && nextStray < start) nextStray = text.indexOf(stray, start);
      const hasStray = nextStray >= 0 && nextStray < stop;
      const isQuoted = nextQuote >= 0 && nextQuote < stop;
      const fields = isQuoted && !hasStray ? splitQuoted(text, start, stop, delimiter) : undefined;
      if (fields !== undefined || !isQuoted) {
        if (stop > start) {
          this.#checkLength(text, start, end);
          const line = this.#line;
          if (hasStray) records.push({ line, problem: strayProblems[lineEnd], text: text.slice(start, stop) });
          else records.push({ line, fields: fields ?? splitUnquoted(text, start, stop, delimiter) });
          this.#blankLines = 0;
        } else this.#countBlankLines(1);
        this.#line++;
        start = end + 1;
        continue;
      }
      const next = this.#readQuoted(text, start, isLast, records);
      if (next < 0) break;
      start = next;
      this.#blankLines = 0;
    }
    this.#keepPending(start === 0 ? text : text.slice(start));
  }

  #dropLeadingBlankLines(text: string): string {
    let start = 0;
    for (; start < text.length; start++) {
      const character = text.charCodeAt(start);
      if (character === newline) this.#leading.newlines++;
      else if (character === carriageReturn) this.#leading.carriageReturns++;
      else if (!isFileMark(character)) break;
    }
    const { newlines, carriageReturns } = this.#leading;
    this.#line = 1 + Math.max(newlines, carriageReturns);
    this.#blankLines = 0;
    this.#countBlankLines(this.#line - 1);
    return start === 0 ? text : text.slice(start);
  }

  #countBlankLines(count: number): void {
    this.#blankLines += count;
    if (this.#blankLines <= maxBlankLines) return;
    throw new ServiceError(
      "invalid_input",
      `${this.#file}:${this.#line}: more than ${maxBlankLines} blank lines in a row`,
    );
  }

  /** @returns false until the whole first line has arrived */
  #detectFormat(text: string, isLast: boolean): boolean {
    if (this.#lineEnd !== undefined) return true;
    const { unquoted, end, next } = firstLine(text);
    // A final CR may be the first half of a CRLF.
    const isWhole = end !== "" && !(end === "\r" && next === text.length);
    if (!isWhole && !isLast) return false;
    const counts = delimiters.map((delimiter) => unquoted.split(delimiter).length);
    this.#delimiter ??= delimiters[counts.indexOf(Math.max(...counts))] ?? ",";
    this.#lineEnd = end === "\r" ? "\r" : "\n";
    this.#line = 1 + (end === "\r" ? this.#leading.carriageReturns : this.#leading.newlines);
    return true;
  }

  #keepPending(text: string): void {
    this.#checkLength(text, 0, text.length);
    this.#pending = text;
  }

  /** @param end of the record, or as far as it has arrived; a CR there may belong to the line end */
  #checkLength(text: string, start: number, end: number): void {
    if (end - start <= maxRecordLength) return;
    if (end - start === maxRecordLength + 1 && text.charCodeAt(end - 1) === carriageReturn) return;
    throw new ServiceError(
      "invalid_input",
      `${this.#file}:${this.#line}: row longer than ${maxRecordLength} characters; a closing quote may be missing, or the file is not CSV`,
    );
  }

  /**
   * Reads the record at `start`, which contains a quote.
   * @returns the start of the next record; -1 if more text is needed
   */
  #readQuoted(text: string, start: number, isLast: boolean, records: CsvRecord[]): number {
    const lineEnd = this.#lineEnd ?? "\n";
    const delimiter = this.delimiter.charCodeAt(0);
    const fields: string[] = [];
    let problem: string | undefined;
    for (let position = start; ; position++) {
      const field = readField(text, position, delimiter, lineEnd);
      if (field.end === text.length && !isLast) return -1;
      problem ??= field.problem;
      fields.push(field.value);
      position = field.end;
      if (text.charCodeAt(position) === delimiter) continue;
      const end = lineEnd === "\n" ? endOfReturns(text, position) : position;
      this.#checkLength(text, start, end);
      const record = text.slice(start, position);
      const line = this.#line;
      records.push(problem === undefined ? { line, fields } : { line, problem, text: record });
      this.#line += record.split(lineEnd).length;
      return end + 1;
    }
  }
}

/** Fields are short: `split` takes twice the time of this loop. */
function splitUnquoted(text: string, start: number, stop: number, delimiter: number): string[] {
  const fields: string[] = [];
  let first = start;
  for (let position = start; position < stop; position++) {
    if (text.charCodeAt(position) !== delimiter) continue;
    fields.push(text.slice(first, position));
    first = position + 1;
  }
  fields.push(text.slice(first, stop));
  return fields;
}

/** The fast path for a well-formed record on one line; undefined for any other record. */
function splitQuoted(text: string, start: number, stop: number, delimiter: number): string[] | undefined {
  const fields: string[] = [];
  for (let position = start; ; position++) {
    const first = position;
    if (position < stop && text.charCodeAt(position) === quote) {
      const next = text.indexOf('"', position + 1);
      const isDoubled = text.charCodeAt(next + 1) === quote;
      const close = isDoubled ? closingQuote(text, position + 1) : next;
      if (close < 0 || close >= stop) return undefined;
      const value = text.slice(first + 1, close);
      fields.push(isDoubled ? value.replaceAll('""', '"') : value);
      position = close + 1;
      if (position < stop && text.charCodeAt(position) !== delimiter) return undefined;
    } else {
      for (; position < stop; position++) {
        const character = text.charCodeAt(position);
        if (character === delimiter) break;
        if (character === quote) return undefined;
      }
      fields.push(text.slice(first, position));
    }
    if (position === stop) return fields;
  }
}

interface Field {
  readonly value: string;
  /** Index of the delimiter or line end after it, or of the end of the text. */
  readonly end: number;
  readonly problem?: string;
}

function readField(text: string, start: number, delimiter: number, lineEnd: LineEnd): Field {
  if (text.charCodeAt(start) !== quote) {
    const end = fieldEnd(text, start, delimiter, lineEnd);
    const value = text.slice(start, end);
    if (value.includes('"')) return { value, end, problem: "quote inside an unquoted field" };
    return value.includes(strayOf[lineEnd]) ? { value, end, problem: strayProblems[lineEnd] } : { value, end };
  }
  const close = closingQuote(text, start + 1);
  if (close < 0) {
    return { value: "", end: text.length, problem: unclosedQuote };
  }
  const value = text.slice(start + 1, close).replaceAll('""', '"');
  const end = fieldEnd(text, close + 1, delimiter, lineEnd);
  return end === close + 1 ? { value, end } : { value, end, problem: "text after a closing quote" };
}

function fieldEnd(text: string, start: number, delimiter: number, lineEnd: string): number {
  const end = lineEnd.charCodeAt(0);
  for (let position = start; position < text.length; position++) {
    const character = text.charCodeAt(position);
    if (character === delimiter || character === end) return position;
    // A CR at the end of the text may be the first half of a CRLF.
    if (character === carriageReturn && end === newline) {
      const next = endOfReturns(text, position);
      if (next === text.length) return text.length;
      if (text.charCodeAt(next) === newline) return position;
    }
  }
  return text.length;
}

function endOfReturns(text: string, position: number): number {
  let end = position;
  while (text.charCodeAt(end) === carriageReturn) end++;
  return end;
}

function startOfReturns(text: string, start: number, end: number): number {
  let stop = end;
  while (stop > start && text.charCodeAt(stop - 1) === carriageReturn) stop--;
  return stop;
}

function closingQuote(text: string, start: number): number {
  let position = text.indexOf('"', start);
  while (position >= 0 && text.charCodeAt(position + 1) === quote) position = text.indexOf('"', position + 2);
  return position;
}

/** The first line's unquoted text and end, empty until it arrives, and the next line's start. */
function firstLine(text: string): { unquoted: string; end: string; next: number } {
  let unquoted = "";
  let isQuoted = false;
  let start = 0;
  for (let position = 0; position < text.length; position++) {
    const character = text.charCodeAt(position);
    if (character === quote) {
      if (!isQuoted) unquoted += text.slice(start, position);
      isQuoted = !isQuoted;
      start = position + 1;
    } else if (!isQuoted && (character === newline || character === carriageReturn)) {
      unquoted += text.slice(start, position);
      if (character === newline) return { unquoted, end: "\n", next: position + 1 };
      const next = endOfReturns(text, position);
      const isBeforeNewline = text.charCodeAt(next) === newline;
      return isBeforeNewline ? { unquoted, end: "\r\n", next: next + 1 } : { unquoted, end: "\r", next };
    }
  }
  return { unquoted: isQuoted ? unquoted : unquoted + text.slice(start), end: "", next: text.length };
}
