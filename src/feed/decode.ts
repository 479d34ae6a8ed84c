import { isUtf8 } from "node:buffer";
import { ServiceError } from "../errors.ts";
import { excerpt } from "../model/import-report.ts";

export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

const marks: readonly [Encoding, readonly number[]][] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

/** What a file is that is no text, by its first bytes, and what to do about it. */
const strangers: readonly [readonly number[], string][] = [
  [[0x1f, 0x8b], "compressed by gzip: give its name the ending .gz"],
  [[0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd: give its name the ending .zst"],
  [[0x50, 0x4b, 0x03, 0x04], "a ZIP archive or an Excel workbook: export it as CSV"],
  [[0xd0, 0xcf, 0x11, 0xe0], "an old Excel workbook: export it as CSV"],
  [[0x25, 0x50, 0x44, 0x46], "a PDF"],
];

/** Bytes of the beginning that tell what a file is. */
const headBytes = 4096;
/** Share of control characters from which on the beginning is no text. */
const binaryShare = 0.05;
/** Bytes from the first beyond ASCII on that tell which encoding it is. */
const sampleBytes = 4096;
/** What Latin letters, curly quotes and emoji of UTF-8 look like when they are taken for Windows-1252: "Ã©", "Â°", "â€™". */
const utf8InWindows1252 = /[ÂÃ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[^\s,;]|ðŸ/;
/** The same, of a character that the end of the file cuts. */
const cutUtf8InWindows1252 = /(?:[ÂÃ]|â€)$/;

const nothing = new Uint8Array();

/**
 * Makes text of a file's bytes as they arrive. Without a given encoding it tells by the mark at the beginning, by the zeros of
 * UTF-16, and else at the first bytes beyond ASCII: UTF-8 if they are mostly that, Windows-1252 if not. In what pieces the bytes
 * arrive makes no difference.
 */
export class TextDecoding {
  /** For messages. */
  readonly #file: string;
  readonly #given: boolean;
  #encoding: Encoding | undefined;
  #decoder: TextDecoder | undefined;
  #lines = 1;
  /** What has come and cannot be decoded before more has. */
  #held: Uint8Array = nothing;
  /** The last characters before, for a mixture that two pieces share. */
  #lastText = "";

  constructor(file: string, encoding?: Encoding) {
    this.#file = file;
    this.#given = encoding !== undefined;
    this.#encoding = encoding;
  }

  /** The encoding found so far; of a file that is all ASCII, UTF-8. */
  get encoding(): Encoding {
    return this.#encoding ?? "utf-8";
  }

  /** @throws ServiceError `invalid_input` where it is not text of its encoding. */
  push(bytes: Uint8Array): string {
    return this.#read(bytes, false);
  }

  /** @throws ServiceError `invalid_input` as `push`, and when it ends in the middle of a character. */
  end(): string {
    const text = this.#read(nothing, true);
    if (this.#held.length > 0 || (this.#guessed && cutUtf8InWindows1252.test(this.#lastText))) {
      throw new ServiceError("invalid_input", `${this.#file}:${this.#lines}: ends in the middle of a character`);
    }
    return text;
  }

  #read(arrived: Uint8Array, isLast: boolean): string {
    const bytes = this.#held.length === 0 ? arrived : Buffer.concat([this.#held, arrived]);
    this.#held = bytes;
    if (bytes.length === 0) return "";
    if (this.#decoder === undefined) {
      if (bytes.length < headBytes && !isLast) return "";
      this.#decoder = this.#begin(bytes);
    }
    let end = bytes.length;
    const beyondAscii = this.#encoding === undefined ? findBeyondAscii(bytes) : -1;
    if (beyondAscii >= 0) {
      if (bytes.length - beyondAscii < sampleBytes && !isLast) end = beyondAscii;
      else this.#settle(bytes.subarray(beyondAscii, beyondAscii + sampleBytes));
    }
    end -= unfinished(bytes.subarray(0, end), this.encoding);
    this.#held = bytes.subarray(end);
    return this.#decode(this.#decoder, bytes.subarray(0, end));
  }

  #decode(decoder: TextDecoder, bytes: Uint8Array): string {
    let text: string;
    try {
      text = decoder.decode(bytes, { stream: true });
    } catch (cause) {
      throw this.#refusal(bytes, cause);
    }
    this.#checkMixture(text);
    this.#lines += countLines(text);
    this.#lastText = (this.#lastText + text).slice(-2);
    return text;
  }

  #begin(bytes: Uint8Array): TextDecoder {
    const head = bytes.subarray(0, headBytes);
    const startsWith = (expected: readonly number[]) => expected.every((byte, index) => head[index] === byte);
    const stranger = strangers.find(([start]) => startsWith(start));
    if (stranger !== undefined) throw new ServiceError("invalid_input", `${this.#file}: not text: ${stranger[1]}`);
    this.#encoding ??= marks.find(([, mark]) => startsWith(mark))?.[0] ?? unmarkedUtf16(head);
    if (!this.encoding.startsWith("utf-16")) {
      const controls = head.reduce((count, byte) => count + (isControl(byte) ? 1 : 0), 0);
      if (controls > head.length * binaryShare && controls > 1) {
        throw new ServiceError("invalid_input", `${this.#file}: not text: it begins with binary data`);
      }
    }
    return new TextDecoder(this.encoding, { fatal: true });
  }

  /** Are the first bytes beyond ASCII UTF-8? */
  #settle(sample: Uint8Array): void {
    const whole = sample.subarray(0, sample.length - unfinished(sample, "utf-8"));
    this.#encoding = isMostlyUtf8(whole) ? "utf-8" : "windows-1252";
    // Another decoder of UTF-8 would take a byte-order mark here for the file's.
    if (this.#encoding !== "utf-8") this.#decoder = new TextDecoder(this.#encoding, { fatal: true });
  }

  /** Whether it is Windows-1252 for all that is known. */
  get #guessed(): boolean {
    return this.#encoding === "windows-1252" && !this.#given;
  }

  #checkMixture(text: string): void {
    if (!this.#guessed) return;
    const all = this.#lastText + text;
    const found = utf8InWindows1252.exec(all);
    if (found === null) return;
    const line = this.#lines - countLines(this.#lastText) + countLines(all.slice(0, found.index));
    throw new ServiceError(
      "invalid_input",
      `${this.#file}:${line}: mixed encodings: mostly Windows-1252, but ${excerpt(found[0])} is UTF-8; set the encoding if it is meant so`,
    );
  }

  #refusal(bytes: Uint8Array, cause: unknown): unknown {
    if (!(cause instanceof TypeError)) return cause;
    const right = bytes.subarray(0, rightBytes(bytes, this.encoding));
    const line = this.#lines + countLines(new TextDecoder(this.encoding).decode(right));
    const byte = this.encoding === "utf-8" ? bytes[right.length] : undefined;
    const what = byte === undefined ? "" : ` (byte 0x${byte.toString(16).padStart(2, "0")})`;
    const where = `${this.#file}:${line}`;
    return new ServiceError(
      "invalid_input",
      this.#given || this.encoding !== "utf-8"
        ? `${where}: not ${this.encoding.toUpperCase()} text${what}`
        : `${where}: mixed encodings: UTF-8 until here, and then not${what}`,
      { cause },
    );
  }
}

const isControl = (byte: number) => byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d) && byte !== 0x1b;

function findBeyondAscii(bytes: Uint8Array): number {
  // By index: a callback or an iterator would take ten times as long.
  for (let index = 0; index < bytes.length; index++) if ((bytes[index] as number) > 0x7f) return index;
  return -1;
}

function countLines(text: string): number {
  let lines = 0;
  for (let place = text.indexOf("\n"); place >= 0; place = text.indexOf("\n", place + 1)) lines++;
  return lines;
}

/** How many bytes at the end are the beginning of a character. */
function unfinished(bytes: Uint8Array, encoding: Encoding): number {
  const fromEnd = (place: number) => bytes[bytes.length - place] ?? 0;
  if (encoding === "utf-8") {
    for (let length = 1; length <= 3; length++) {
      const byte = fromEnd(length);
      if (byte >= 0xc0) return length < utf8Length(byte) ? length : 0;
      if (byte < 0x80) return 0;
    }
  } else if (encoding.startsWith("utf-16")) {
    const odd = bytes.length % 2;
    const high = fromEnd(odd + (encoding === "utf-16le" ? 1 : 2));
    return bytes.length > odd && high >= 0xd8 && high < 0xdc ? odd + 2 : odd;
  }
  return 0;
}

/** Of the character that begins so; 0 for none. */
function utf8Length(byte: number): number {
  if (byte < 0xc2 || byte > 0xf4) return 0;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/** Whether most of what is beyond ASCII is right UTF-8. */
function isMostlyUtf8(bytes: Uint8Array): boolean {
  if (isUtf8(bytes)) return bytes.length > 0;
  let right = 0;
  for (const character of new TextDecoder().decode(bytes)) {
    if (character > "\x7f") right += character === "\ufffd" ? -1 : 1;
  }
  return right > 0;
}

/** How many bytes from the beginning on are whole and right. */
function rightBytes(bytes: Uint8Array, encoding: Encoding): number {
  let right = 0;
  let wrong = bytes.length;
  while (wrong - right > 1) {
    const middle = (right + wrong) >> 1;
    try {
      new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      right = middle;
    } catch {
      wrong = middle;
    }
  }
  return right - unfinished(bytes.subarray(0, right), encoding);
}

/** Text in UTF-16 is mostly letters of one byte, so that every other byte is zero. */
function unmarkedUtf16(head: Uint8Array): Encoding | undefined {
  const zeros = [0, 0];
  head.forEach((byte, index) => {
    if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  });
  const [even = 0, odd = 0] = zeros;
  const many = Math.max(head.length * 0.2, 4);
  if (odd > many && even < odd / 10) return "utf-16le";
  if (even > many && odd < even / 10) return "utf-16be";
  return undefined;
}
