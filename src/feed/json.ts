import { ServiceError } from "../base/errors.ts";
import { maxRecordLength } from "./csv.ts";
import { countOf, isFileMark } from "./decode.ts";

/** Bounds the memory for one document, and restricts what a file may contain. */
export interface JsonLimits {
  /** The noun for a document in messages. */
  readonly noun: string;
  /** In UTF-16 units. */
  readonly maxLength: number;
  readonly maxDepth: number;
  /** Of all objects in a document. */
  readonly maxKeys: number;
  /** Whether another list may follow a top-level list. */
  readonly allowsSeveralLists: boolean;
  /** Whether most documents are flat objects on one line each, which are parsed at once. */
  readonly expectsRows: boolean;
}

/** For documents of any shape; large enough for any page of an export. */
const documentLimits: JsonLimits = {
  noun: "document",
  maxLength: 64 * 1024 * 1024,
  maxDepth: 200,
  maxKeys: Number.POSITIVE_INFINITY,
  allowsSeveralLists: true,
  expectsRows: false,
};

export const rowLimits: JsonLimits = {
  noun: "row",
  maxLength: maxRecordLength,
  maxDepth: 64,
  maxKeys: 1000,
  allowsSeveralLists: false,
  expectsRows: true,
};

/** More in a row mean a damaged file, and would take minutes. */
const maxSeparators = 1_000_000;

/** The text of one JSON value within a longer text. */
export interface JsonDocument {
  readonly text: string;
  readonly line: number;
  /** Top-level fields, including duplicates. */
  readonly fields: number;
  /** Fields of all objects in it, including duplicates. */
  readonly keys: number;
  /** Undefined if it was not parsed. */
  readonly value?: object;
}

const code = (character: string) => character.charCodeAt(0);
const [quote, backslash, newline, comma, colon] = ['"', "\\", "\n", ",", ":"].map(code);
const [openBrace = 0, closeBrace = 0, openBracket = 0, closeBracket = 0] = ["{", "}", "[", "]"].map(code);

/** Includes the marks inside concatenated files. */
const isSpace = (character: number) => character <= 0x20 || isFileMark(character);

/**
 * Splits JSON text, in chunks, into documents, and keeps at most one in memory. Documents are the
 * values of NDJSON or concatenated JSON, the elements of a top-level array, or, with `depth` 1, the
 * names and values of one object in turn. Only finds their ends, without validating them.
 */
export class JsonSplitter {
  readonly #file: string;
  readonly #limits: JsonLimits;
  readonly #isObject: boolean;
  #documentDepth: number;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #line = 1;
  #text = "";
  #startLine = 0;
  #inDocument = false;
  #isEmpty = true;
  /** Of the current document, at all levels and at the top level. */
  #keys = 0;
  #fields = 0;
  #separators = 0;
  #isListClosed = false;
  #closers: number[] = [];

  /** An empty array does not count as empty. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  constructor(depth: 0 | 1 = 0, file = "the text", limits = documentLimits) {
    this.#documentDepth = depth;
    this.#isObject = depth === 1;
    this.#file = file;
    this.#limits = limits;
  }

  /** @throws ServiceError `invalid_input` if a limit is exceeded, or text follows a list */
  *push(chunk: string): Generator<JsonDocument> {
    let start = 0;
    let otherEnd = this.#limits.expectsRows ? -1 : chunk.length;
    for (let index = 0; index < chunk.length; index++) {
      const character = chunk.charCodeAt(index);
      if (character === openBrace && !this.#inDocument && this.#depth === 0 && !this.#isObject && index > otherEnd) {
        const end = chunk.indexOf("\n", index);
        const row = end < 0 ? undefined : this.#parseRow(chunk.slice(index, end));
        if (row !== undefined && !this.#isListClosed) {
          this.#isEmpty = false;
          this.#separators = 0;
          yield row;
          index = end - 1;
          continue;
        }
        otherEnd = end < 0 ? chunk.length : end;
      }
      if (character === newline) this.#line++;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (character === backslash) this.#escaped = true;
        else if (character === quote) this.#inString = false;
        continue;
      }
      const isBetween = !this.#inDocument || (this.#isObject && this.#depth === 1);
      const separates = isSpace(character) || character === comma || (character === colon && isBetween);
      const closes = character === closeBrace || character === closeBracket;
      if (this.#inDocument && this.#depth === this.#documentDepth && (separates || closes)) {
        yield this.#end(chunk.slice(start, index));
      }
      if (separates) {
        if (++this.#separators > maxSeparators && !this.#inDocument) {
          throw this.#refuse(this.#line, `more than ${maxSeparators} blank lines, spaces, or commas in a row`);
        }
        continue;
      }
      this.#separators = 0;
      if (!this.#inDocument && !closes) {
        if (this.#isListClosed) this.#checkAfterList(character);
        if (this.#isEmpty && this.#documentDepth === 0 && character === openBracket) this.#documentDepth = 1;
        this.#isEmpty = false;
        if (this.#depth === this.#documentDepth) {
          this.#inDocument = true;
          this.#startLine = this.#line;
          this.#keys = 0;
          this.#fields = 0;
          start = index;
        }
      }
      if (character === quote) this.#inString = true;
      else if (character === colon) this.#countKey();
      else if (character === openBrace || character === openBracket) {
        if (!this.#inDocument) this.#closers.push(character === openBrace ? closeBrace : closeBracket);
        if (++this.#depth - this.#documentDepth > this.#limits.maxDepth) {
          throw this.#refuseDocument(`nested more than ${this.#limits.maxDepth} levels deep`);
        }
      } else if (closes) {
        if (!this.#inDocument && character !== this.#closers.at(-1)) {
          yield { text: chunk.charAt(index), line: this.#line, fields: 0, keys: 0 };
          continue;
        }
        if (!this.#inDocument) this.#closers.pop();
        this.#depth--;
        if (!this.#inDocument && this.#documentDepth === 1) this.#isListClosed = true;
        if (this.#inDocument && this.#depth === this.#documentDepth) yield this.#end(chunk.slice(start, index + 1));
      }
    }
    if (!this.#inDocument) return;
    this.#text += chunk.slice(start);
    this.#checkLength(this.#text.length);
  }

  /** @returns undefined unless it is a flat object within the limits that repeats no field */
  #parseRow(line: string): JsonDocument | undefined {
    let value: object;
    try {
      value = JSON.parse(line);
    } catch {
      return undefined;
    }
    const text = line.trimEnd();
    const fields = Object.keys(value).length;
    // An object has one colon for each field, and more if its values contain some.
    const isPlain = fields === countOf(":", text) && !text.includes("[") && text.length <= this.#limits.maxLength;
    return isPlain && fields <= this.#limits.maxKeys
      ? { text, line: this.#line, fields, keys: fields, value }
      : undefined;
  }

  #checkLength(length: number): void {
    const { maxLength } = this.#limits;
    if (length <= maxLength) return;
    throw this.#refuseDocument(`longer than ${maxLength} characters; a closing bracket or quote may be missing`);
  }

  #countKey(): void {
    if (this.#depth === this.#documentDepth + 1) this.#fields++;
    const { maxKeys } = this.#limits;
    if (++this.#keys > maxKeys) throw this.#refuseDocument(`with more than ${maxKeys} fields`);
  }

  #checkAfterList(character: number): void {
    if (character !== openBracket || !this.#limits.allowsSeveralLists) {
      throw this.#refuse(this.#line, "text after the end of the JSON list");
    }
    this.#isListClosed = false;
  }

  #refuseDocument(problem: string): ServiceError {
    return this.#refuse(this.#startLine, `${this.#limits.noun} ${problem}`);
  }

  #refuse(line: number, problem: string): ServiceError {
    return new ServiceError("invalid_input", `${this.#file}:${line}: ${problem}`);
  }

  /** @returns the last document if only the end of the text completes it, or why it is unfinished */
  end(): { document?: JsonDocument; unfinished?: { line: number; reason: string } } {
    if (this.#inDocument && this.#depth === this.#documentDepth && !this.#inString) return { document: this.#end("") };
    if (!this.#inDocument && this.#depth === 0) return {};
    const reason = this.#inDocument
      ? `the file ends inside the document that starts at line ${this.#startLine}`
      : "the file ends before the array is closed";
    return { unfinished: { line: this.#line, reason } };
  }

  #end(rest: string): JsonDocument {
    this.#checkLength(this.#text.length + rest.length);
    const document = { text: this.#text + rest, line: this.#startLine, fields: this.#fields, keys: this.#keys };
    this.#text = "";
    this.#inDocument = false;
    return document;
  }
}

/** The first field that an object of a valid JSON text has more than once. */
export function findRepeatedField(text: string): string {
  const objects: Set<string>[] = [];
  let last = "";
  let start: number | undefined;
  // One match per string would exceed the limits of the regular expression in a long one.
  for (const { 0: token, index } of text.matchAll(/\\.|["[\]{}:]/g)) {
    if (token === '"') {
      if (start !== undefined) last = text.slice(start, index + 1);
      start = start === undefined ? index : undefined;
    } else if (start !== undefined) continue;
    else if (token === "{" || token === "[") objects.push(new Set());
    else if (token === "}" || token === "]") objects.pop();
    else {
      const name = JSON.parse(last) as string;
      if (objects.at(-1)?.has(name)) return name;
      objects.at(-1)?.add(name);
    }
  }
  return "";
}
