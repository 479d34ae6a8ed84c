import { ServiceError } from "../errors.ts";

export const separators = [",", ";", "\t", "|"] as const;
export type Separator = (typeof separators)[number];

/** Longest record taken, in UTF-16 units: a bound for memory when a quote is missing or the file is something else. */
export const longestRecord = 1024 * 1024;

/** A record of a file, or what is wrong with it and its text. Lines count from 1, a record's is the one it starts in. */
export type CsvRecord =
  | { readonly line: number; readonly fields: string[]; readonly problem?: undefined }
  | { readonly line: number; readonly problem: string; readonly text: string };

const code = (character: string) => character.charCodeAt(0);
const [quote, newline, carriageReturn] = ['"', "\n", "\r"].map(code);

/**
 * Cuts CSV (RFC 4180) into records as it arrives. The separator is the one that the first line has most of; lines end in
 * LF, CRLF or, when the file has no other, CR. Empty lines are no records.
 */
export class CsvReader {
  /** For messages. */
  readonly #file: string;
  #separator: Separator | undefined;
  #lineEnd: "\n" | "\r" | undefined;
  /** What has come and is no whole record yet; it starts at a record's first character. */
  #rest = "";
  #line = 1;

  constructor(file: string, separator?: Separator) {
    this.#file = file;
    this.#separator = separator;
  }

  get separator(): Separator {
    return this.#separator ?? ",";
  }

  /** @throws ServiceError `invalid_input` at a record without end. */
  push(chunk: string): CsvRecord[] {
    const records: CsvRecord[] = [];
    this.#read(this.#rest === "" ? chunk : this.#rest + chunk, false, records);
    return records;
  }

  end(): CsvRecord[] {
    const records: CsvRecord[] = [];
    this.#begin(this.#rest, true);
    this.#read(this.#lineEnd === "\r" ? this.#rest : this.#rest.replace(/\r$/, ""), true, records);
    return records;
  }

  #read(text: string, isLast: boolean, records: CsvRecord[]): void {
    if (!this.#begin(text, isLast)) {
      this.#keep(text);
      return;
    }
    const { separator } = this;
    const lineEnd = this.#lineEnd ?? "\n";
    let start = 0;
    let nextQuote = text.indexOf('"');
    while (start < text.length) {
      let end = text.indexOf(lineEnd, start);
      if (end < 0) {
        if (!isLast) break;
        end = text.length;
      }
      if (nextQuote >= 0 && nextQuote < start) nextQuote = text.indexOf('"', start);
      if (nextQuote < 0 || nextQuote > end) {
        const stop = text.charCodeAt(end - 1) === carriageReturn && end > start ? end - 1 : end;
        if (stop > start) records.push({ line: this.#line, fields: text.slice(start, stop).split(separator) });
        this.#line++;
        start = end + 1;
        continue;
      }
      const next = this.#readQuoted(text, start, isLast, records);
      if (next < 0) break;
      start = next;
    }
    this.#keep(start === 0 ? text : text.slice(start));
  }

  /** Settles the separator and the line end by the first line, once it is there. */
  #begin(text: string, isLast: boolean): boolean {
    if (this.#lineEnd !== undefined) return true;
    const { outside, end } = firstLine(text);
    // A carriage return that is the last to have come may be half of a CRLF.
    const isWhole = end !== "" && !(end === "\r" && text.endsWith("\r"));
    if (!isWhole && !isLast) return false;
    const counts = separators.map((separator) => outside.split(separator).length);
    this.#separator ??= separators[counts.indexOf(Math.max(...counts))] ?? ",";
    this.#lineEnd = end === "\r" ? "\r" : "\n";
    return true;
  }

  #keep(rest: string): void {
    if (rest.length > longestRecord) {
      throw new ServiceError(
        "invalid_input",
        `${this.#file}:${this.#line}: a row of over ${longestRecord} characters; is a quote missing, or is it another file?`,
      );
    }
    this.#rest = rest;
  }

  /**
   * Reads the record at `start`, in which there is a quote.
   * @returns where the next one starts, or -1 when more must come first
   */
  #readQuoted(text: string, start: number, isLast: boolean, records: CsvRecord[]): number {
    const lineEnd = this.#lineEnd ?? "\n";
    const separator = this.separator.charCodeAt(0);
    const fields: string[] = [];
    let problem: string | undefined;
    for (let position = start; ; position++) {
      const field = readField(text, position, separator, lineEnd);
      if (field.end === text.length && !isLast) return -1;
      problem ??= field.problem;
      fields.push(field.value);
      position = field.end;
      if (text.charCodeAt(position) === separator) continue;
      const record = text.slice(start, position);
      const line = this.#line;
      records.push(problem === undefined ? { line, fields } : { line, problem, text: record });
      this.#line += record.split(lineEnd).length;
      return position + (lineEnd === "\n" && text.startsWith("\r\n", position) ? 2 : 1);
    }
  }
}

interface Field {
  readonly value: string;
  /** Where it ends: at a separator, a line end or the end of the text. */
  readonly end: number;
  readonly problem?: string;
}

function readField(text: string, start: number, separator: number, lineEnd: string): Field {
  if (text.charCodeAt(start) !== quote) {
    const end = fieldEnd(text, start, separator, lineEnd);
    const value = text.slice(start, end);
    return value.includes('"') ? { value, end, problem: "a quote inside a field that is not quoted" } : { value, end };
  }
  const close = closingQuote(text, start + 1);
  if (close < 0) {
    const problem = "the file ends inside this row: a closing quote is missing";
    return { value: "", end: text.length, problem };
  }
  const value = text.slice(start + 1, close).replaceAll('""', '"');
  const end = fieldEnd(text, close + 1, separator, lineEnd);
  return end === close + 1 ? { value, end } : { value, end, problem: "text behind a closing quote" };
}

function fieldEnd(text: string, start: number, separator: number, lineEnd: string): number {
  const end = lineEnd.charCodeAt(0);
  for (let position = start; position < text.length; position++) {
    const character = text.charCodeAt(position);
    if (character === separator || character === end) return position;
    // Half of a CRLF, or, at the very end of what has come, perhaps.
    if (character === carriageReturn && end === newline) {
      if (position + 1 === text.length) return text.length;
      if (text.charCodeAt(position + 1) === newline) return position;
    }
  }
  return text.length;
}

/** The quote that closes: one that no second follows. */
function closingQuote(text: string, start: number): number {
  let position = text.indexOf('"', start);
  while (position >= 0 && text.charCodeAt(position + 1) === quote) position = text.indexOf('"', position + 2);
  return position;
}

/** What stands outside of quotes in the first line, as far as it has come, and how the line ends. */
function firstLine(text: string): { outside: string; end: string } {
  let outside = "";
  let isQuoted = false;
  for (let position = 0; position < text.length; position++) {
    const character = text.charAt(position);
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted || (outside === "" && /[\r\n]/.test(character))) continue;
    else if (character === "\n") return { outside, end: "\n" };
    else if (character === "\r") return { outside, end: text.charAt(position + 1) === "\n" ? "\r\n" : "\r" };
    else outside += character;
  }
  return { outside, end: "" };
}
