import { ServiceError } from "../errors.ts";

/** In UTF-16 units. Fits any page of an export, and limits memory if a bracket is missing. */
const maxDocumentLength = 64 * 1024 * 1024;

/** The text of one JSON value within a longer text. */
export interface JsonDocument {
  readonly text: string;
  /** The line where it starts, counted from 1. */
  readonly line: number;
}

const code = (character: string) => character.charCodeAt(0);
const [quote, backslash, newline, comma, colon] = ['"', "\\", "\n", ",", ":"].map(code);
const [openBrace = 0, closeBrace = 0, openBracket = 0, closeBracket = 0] = ["{", "}", "[", "]"].map(code);

const isSpace = (character: number) => character <= 0x20;

/**
 * Splits JSON text into documents, in chunks, and keeps at most one in memory. The documents are
 * the values of NDJSON or of concatenated JSON, the elements of a top-level array, or, with `depth`
 * 2, the elements of the arrays in an object. It only finds their ends; it does not validate them.
 */
export class JsonSplitter {
  /** For messages. */
  readonly #file: string;
  /** Number of containers around a document. */
  #documentDepth: number;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #line = 1;
  /** The current document: its text so far, and its first line. */
  #text = "";
  #startLine = 0;
  #inDocument = false;
  #isEmpty = true;
  /** The brackets that close the containers around the documents. */
  #closers: number[] = [];

  /** Whether the text is only white space; an empty array is not empty. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  constructor(depth: 0 | 2 = 0, file = "the text") {
    this.#documentDepth = depth;
    this.#file = file;
  }

  *push(chunk: string): Generator<JsonDocument> {
    let start = 0;
    for (let index = 0; index < chunk.length; index++) {
      const character = chunk.charCodeAt(index);
      if (character === newline) this.#line++;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (character === backslash) this.#escaped = true;
        else if (character === quote) this.#inString = false;
        continue;
      }
      const separates = isSpace(character) || character === comma || (character === colon && !this.#inDocument);
      const closes = character === closeBrace || character === closeBracket;
      if (this.#inDocument && this.#depth === this.#documentDepth && (separates || closes)) {
        yield this.#end(chunk.slice(start, index));
      }
      if (separates) continue;
      if (!this.#inDocument && !closes) {
        if (this.#isEmpty && this.#documentDepth === 0 && character === openBracket) this.#documentDepth = 1;
        this.#isEmpty = false;
        if (this.#depth === this.#documentDepth) {
          this.#inDocument = true;
          this.#startLine = this.#line;
          start = index;
        }
      }
      if (character === quote) this.#inString = true;
      else if (character === openBrace || character === openBracket) {
        if (!this.#inDocument) this.#closers.push(character === openBrace ? closeBrace : closeBracket);
        this.#depth++;
      } else if (closes) {
        if (!this.#inDocument && character !== this.#closers.at(-1)) {
          yield { text: chunk.charAt(index), line: this.#line };
          continue;
        }
        if (!this.#inDocument) this.#closers.pop();
        this.#depth--;
        if (this.#inDocument && this.#depth === this.#documentDepth) yield this.#end(chunk.slice(start, index + 1));
      }
    }
    if (this.#inDocument) this.#text += chunk.slice(start);
    if (this.#text.length > maxDocumentLength) {
      throw new ServiceError(
        "invalid_input",
        `${this.#file}:${this.#startLine}: document longer than ${maxDocumentLength} characters; a closing bracket or quote may be missing`,
      );
    }
  }

  /**
   * @returns the last document if only the end of the text completes it, or the reason why it is
   * unfinished
   */
  end(): { document?: JsonDocument; unfinished?: { line: number; reason: string } } {
    if (this.#inDocument && this.#depth === this.#documentDepth && !this.#inString) return { document: this.#end("") };
    if (this.#inDocument) {
      return {
        unfinished: {
          line: this.#line,
          reason: `the file ends inside the document that starts at line ${this.#startLine}`,
        },
      };
    }
    if (this.#depth > 0)
      return { unfinished: { line: this.#line, reason: "the file ends before the array is closed" } };
    return {};
  }

  #end(rest: string): JsonDocument {
    const document = { text: this.#text + rest, line: this.#startLine };
    this.#text = "";
    this.#inDocument = false;
    return document;
  }
}
