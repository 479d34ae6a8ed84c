import { ServiceError } from "../errors.ts";

/** Longest value taken, in UTF-16 units: room for any page of an export, and a bound for memory when a bracket is missing. */
const longestValue = 64 * 1024 * 1024;

/** One JSON value of a longer text. */
export interface JsonPiece {
  readonly text: string;
  /** Where it starts, counted from 1. */
  readonly line: number;
}

const code = (character: string) => character.charCodeAt(0);
const [quote, backslash, newline, comma, colon] = ['"', "\\", "\n", ",", ":"].map(code);
const [openBrace = 0, closeBrace = 0, openBracket = 0, closeBracket = 0] = ["{", "}", "[", "]"].map(code);

const isSpace = (character: number) => character <= 0x20;

/**
 * Cuts a JSON text into its values as it arrives, without holding more than one of them: the values of NDJSON, or of values one
 * after the other; the elements of a top-level array; or, with `depth` 2, the elements of the arrays in an object. It finds
 * where a value ends, not whether it is right: that is for the parser.
 */
export class JsonSplitter {
  /** For messages. */
  readonly #file: string;
  /** How many containers stand around a value. */
  #valueDepth: number;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #line = 1;
  /** The value under way: its text so far, and where it began. */
  #text = "";
  #startLine = 0;
  #inValue = false;
  #anything = false;
  /** The brackets that close the containers around the values. */
  #closers: number[] = [];

  /** Whether nothing but space has come: an empty list would have been something. */
  get isEmpty(): boolean {
    return !this.#anything;
  }

  constructor(depth: 0 | 2 = 0, file = "the text") {
    this.#valueDepth = depth;
    this.#file = file;
  }

  *push(chunk: string): Generator<JsonPiece> {
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
      const separates = isSpace(character) || character === comma || (character === colon && !this.#inValue);
      const closes = character === closeBrace || character === closeBracket;
      if (this.#inValue && this.#depth === this.#valueDepth && (separates || closes)) {
        yield this.#end(chunk.slice(start, index));
      }
      if (separates) continue;
      if (!this.#inValue && !closes) {
        if (!this.#anything && this.#valueDepth === 0 && character === openBracket) this.#valueDepth = 1;
        this.#anything = true;
        if (this.#depth === this.#valueDepth) {
          this.#inValue = true;
          this.#startLine = this.#line;
          start = index;
        }
      }
      if (character === quote) this.#inString = true;
      else if (character === openBrace || character === openBracket) {
        if (!this.#inValue) this.#closers.push(character === openBrace ? closeBrace : closeBracket);
        this.#depth++;
      } else if (closes) {
        if (!this.#inValue && character !== this.#closers.at(-1)) {
          yield { text: chunk.charAt(index), line: this.#line };
          continue;
        }
        if (!this.#inValue) this.#closers.pop();
        this.#depth--;
        if (this.#inValue && this.#depth === this.#valueDepth) yield this.#end(chunk.slice(start, index + 1));
      }
    }
    if (this.#inValue) this.#text += chunk.slice(start);
    if (this.#text.length > longestValue) {
      throw new ServiceError(
        "invalid_input",
        `${this.#file}:${this.#startLine}: a document of over ${longestValue} characters; is a bracket or a quote missing?`,
      );
    }
  }

  /** @returns the last value, when nothing behind it said that it was whole, and what is unfinished, if anything is */
  end(): { piece?: JsonPiece; unfinished?: { line: number; reason: string } } {
    if (this.#inValue && this.#depth === this.#valueDepth && !this.#inString) return { piece: this.#end("") };
    if (this.#inValue) {
      return {
        unfinished: {
          line: this.#line,
          reason: `the file ends inside the document that starts at line ${this.#startLine}`,
        },
      };
    }
    if (this.#depth > 0) return { unfinished: { line: this.#line, reason: "the file ends before the list is closed" } };
    return {};
  }

  #end(rest: string): JsonPiece {
    const piece = { text: this.#text + rest, line: this.#startLine };
    this.#text = "";
    this.#inValue = false;
    return piece;
  }
}
