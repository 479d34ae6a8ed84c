import { isUtf8 } from "node:buffer";
import { ServiceError } from "../base/errors.ts";
import { compressionSignatures, type TextEncoding } from "./format.ts";

const byteOrderMarks: readonly [TextEncoding, readonly number[]][] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];

const fileSignatures: readonly [readonly number[], string][] = [
  ...Object.values(compressionSignatures).map((signature): [readonly number[], string] => [
    signature,
    "compressed twice",
  ]),
  [[0x50, 0x4b, 0x03, 0x04], "a ZIP archive or an Excel workbook; export it as CSV"],
  [[0xd0, 0xcf, 0x11, 0xe0], "an old Excel workbook; export it as CSV"],
  [[0x25, 0x50, 0x44, 0x46], "a PDF"],
];

const headBytes = 4096;
/** A larger share of control characters at the start indicates binary data. */
const maxControlShare = 0.05;
/** Bytes inspected, from the first non-ASCII byte on, to detect the encoding. */
const sampleBytes = 4096;
/** Windows-1252 characters of the bytes that continue a UTF-8 character. */
const continuing = "[\\u0080-\\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]";
/** Without those that often follow a capital letter, as in “Ä” or Ä™. */
const rarelyFollowing = "[\\u0081\\u008d\\u008f\\u0090‚ƒ„†‡ˆ‰Š‹ŒŽ•˜š›œžŸ¡-¨ª¬¯-º¼-¿]";
/**
 * UTF-8 that was decoded as Windows-1252: Western letters ("Ã©"), curly quotes ("â€™"), emoji,
 * Central European letters ("Å‚"), and two letters of another script in a row ("Ð´Ð°", "æ—¥æœ¬").
 */
const utf8InWindows1252 = new RegExp(
  `ï»¿|[ÂÃ]${continuing}|â€[^\\s,;]|ðŸ|[ÄÅ]${rarelyFollowing}|(?:[Æ-ß]${continuing}){2}|(?:[à-ï]${continuing}{2}){2}`,
);
/** The UTF-8 byte order mark decoded as Windows-1252, which no text contains on purpose. */
const markInWindows1252 = /ï»¿/;
/** Part of each match of {@link utf8InWindows1252}, but faster to find. */
const beyondAsciiTwice = /[Â-ð][\u0080-\uffff]/;
/** The length of the longest match, minus one. */
const overlap = 5;
const cutUtf8InWindows1252 = /(?:[ÂÃ]|â€)$/;

const noBytes = new Uint8Array();

/** Whether a UTF-16 unit is a byte order mark or the DOS end-of-file character. */
export const isFileMark = (unit: number) => unit === 0xfeff || unit === 0x1a;

/**
 * Decodes bytes in chunks; chunk boundaries do not affect the result. Marks at the start and at the
 * end of the file are removed. Concatenated files also have marks inside, which may be part of a
 * value: only a parser knows. By default, the encoding is detected from the byte order mark, the zero bytes of UTF-16, or the
 * first non-ASCII bytes: UTF-8 if most of them are valid UTF-8, otherwise Windows-1252.
 */
export class TextDecoding {
  readonly #file: string;
  readonly #isGiven: boolean;
  #encoding: TextEncoding | undefined;
  #decoder: TextDecoder | undefined;
  #lines = 1;
  #pending: Uint8Array = noBytes;
  /** The end of the decoded text, to detect mixed encodings across chunks. */
  #lastText = "";
  #isAtStart = true;
  /** Marks after the last text, which may end the file. */
  #marks = "";
  /** The first invalid UTF-8 byte, if Windows-1252 was guessed. */
  #invalid: { readonly byte: number; readonly line: number } | undefined;

  constructor(file: string, encoding?: TextEncoding) {
    this.#file = file;
    this.#isGiven = encoding !== undefined;
    this.#encoding = encoding;
  }

  /** UTF-8 for a file that is all ASCII. */
  get encoding(): TextEncoding {
    return this.#encoding ?? "utf-8";
  }

  /** @throws ServiceError `invalid_input` if a byte is not valid in the encoding */
  push(bytes: Uint8Array): string {
    return this.#read(bytes, false);
  }

  /** @throws ServiceError `invalid_input` like `push`, or if the file ends inside a character */
  end(): string {
    const text = this.#read(noBytes, true);
    if (this.#pending.length > 0 || (this.#isGuessedWindows1252 && cutUtf8InWindows1252.test(this.#lastText))) {
      throw new ServiceError("invalid_input", `${this.#file}:${this.#lines}: ends inside a character`);
    }
    return text;
  }

  /**
   * Holds back the first bytes until the encoding can be detected, and any character that the chunk
   * splits.
   * @throws ServiceError `invalid_input` for binary data, an invalid byte, or mixed encodings
   */
  #read(chunk: Uint8Array, isLast: boolean): string {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#pending = bytes;
    if (bytes.length === 0) return "";
    if (this.#decoder === undefined) {
      if (bytes.length < headBytes && !isLast) return "";
      this.#decoder = this.#createDecoder(bytes);
    }
    let end = bytes.length;
    const nonAscii = this.#encoding === undefined ? findNonAscii(bytes) : -1;
    if (nonAscii >= 0) {
      if (bytes.length - nonAscii < sampleBytes && !isLast) end = nonAscii;
      else this.#detectEncoding(bytes, nonAscii);
    }
    end -= countIncompleteBytes(bytes.subarray(0, end), this.encoding);
    this.#pending = bytes.subarray(end);
    return this.#decode(this.#decoder, bytes.subarray(0, end));
  }

  #decode(decoder: TextDecoder, bytes: Uint8Array): string {
    let text: string;
    try {
      text = decoder.decode(bytes, { stream: true });
    } catch (cause) {
      throw this.#explain(cause, bytes);
    }
    this.#checkMixedEncodings(text);
    this.#lines += countOf("\n", text);
    this.#lastText = (this.#lastText + text).slice(-overlap);
    return this.#leaveOutMarks(this.#marks + text);
  }

  #leaveOutMarks(text: string): string {
    let end = text.length;
    while (end > 0 && isFileMark(text.charCodeAt(end - 1))) end--;
    this.#marks = text.slice(end);
    if (end === 0) return "";
    let start = 0;
    if (this.#isAtStart) while (isFileMark(text.charCodeAt(start))) start++;
    this.#isAtStart = false;
    return text.slice(start, end);
  }

  #createDecoder(bytes: Uint8Array): TextDecoder {
    const head = bytes.subarray(0, headBytes);
    const startsWith = (expected: readonly number[]) => expected.every((byte, index) => head[index] === byte);
    const [, hint] = fileSignatures.find(([signature]) => startsWith(signature)) ?? [];
    if (hint !== undefined) throw new ServiceError("invalid_input", `${this.#file}: not a text file: ${hint}`);
    this.#encoding ??= byteOrderMarks.find(([, mark]) => startsWith(mark))?.[0] ?? detectUtf16(head);
    if (!this.encoding.startsWith("utf-16")) {
      const controls = head.reduce((count, byte) => count + (isControl(byte) ? 1 : 0), 0);
      if (controls > head.length * maxControlShare && controls > 1) {
        const hint = this.#isGiven ? "" : '; if it is UTF-16, set encoding = "utf-16le" or "utf-16be"';
        throw new ServiceError("invalid_input", `${this.#file}: not a text file: starts with binary data${hint}`);
      }
    }
    return new TextDecoder(this.encoding, { fatal: true });
  }

  /** @param start index of the first non-ASCII byte */
  #detectEncoding(bytes: Uint8Array, start: number): void {
    const sample = bytes.subarray(start, start + sampleBytes);
    const whole = sample.subarray(0, sample.length - countIncompleteBytes(sample, "utf-8"));
    this.#encoding = isMostlyUtf8(whole) ? "utf-8" : "windows-1252";
    // A new decoder would drop a byte order mark that is part of the text.
    if (this.#encoding === "utf-8") return;
    this.#decoder = new TextDecoder(this.#encoding, { fatal: true });
    const end = start + countValidBytes(whole, "utf-8");
    const line = this.#lines + countOf("\n", Buffer.from(bytes.subarray(0, end)).toString("latin1"));
    this.#invalid = { byte: bytes[end] ?? 0, line };
  }

  /** Any byte is valid Windows-1252, so a wrong guess does not fail by itself. */
  get #isGuessedWindows1252(): boolean {
    return this.#encoding === "windows-1252" && !this.#isGiven;
  }

  #checkMixedEncodings(text: string): void {
    if (this.#encoding !== "windows-1252") return;
    const all = this.#lastText + text;
    const pattern = this.#isGiven ? markInWindows1252 : utf8InWindows1252;
    const found = beyondAsciiTwice.test(all) ? pattern.exec(all) : null;
    if (found === null) return;
    const line = this.#lines - countOf("\n", this.#lastText) + countOf("\n", all.slice(0, found.index));
    if (this.#isGiven) {
      const reason = "a byte order mark of UTF-8 in windows-1252; fix the file, or set its encoding";
      throw new ServiceError("invalid_input", `${this.#file}:${line}: ${reason}`);
    }
    const { byte, line: invalidLine } = this.#invalid ?? { byte: 0, line };
    throw this.#toMixed(invalidLine, byte, `line ${line} has UTF-8`);
  }

  #toMixed(line: number, byte: number, contrast: string, cause?: unknown): ServiceError {
    return new ServiceError(
      "invalid_input",
      `${this.#file}:${line}: mixed encodings: byte 0x${hex(byte)} is not UTF-8, but ${contrast}; fix the file, or set encoding = "windows-1252"`,
      { cause },
    );
  }

  #explain(cause: unknown, bytes: Uint8Array): unknown {
    if (!(cause instanceof TypeError)) return cause;
    const valid = bytes.subarray(0, countValidBytes(bytes, this.encoding));
    const line = this.#lines + countOf("\n", new TextDecoder(this.encoding).decode(valid));
    const byte = this.encoding === "utf-8" ? bytes[valid.length] : undefined;
    if (byte !== undefined && !this.#isGiven) return this.#toMixed(line, byte, "other characters are", cause);
    const detail = byte === undefined ? "" : ` (byte 0x${hex(byte)})`;
    const name = this.encoding.toUpperCase();
    return new ServiceError("invalid_input", `${this.#file}:${line}: invalid ${name}${detail}`, { cause });
  }
}

const hex = (byte: number) => byte.toString(16).padStart(2, "0");

const isControl = (byte: number) => byte < 0x20 && !(byte >= 0x09 && byte <= 0x0d) && byte !== 0x1b;

function findNonAscii(bytes: Uint8Array): number {
  // An indexed loop: a callback or an iterator takes ten times as long.
  for (let index = 0; index < bytes.length; index++) if ((bytes[index] as number) > 0x7f) return index;
  return -1;
}

export function countOf(part: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) count++;
  return count;
}

function countIncompleteBytes(bytes: Uint8Array, encoding: TextEncoding): number {
  const fromEnd = (distance: number) => bytes[bytes.length - distance] ?? 0;
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

/** The character's length in bytes; 0 if none starts with this byte. */
function utf8Length(firstByte: number): number {
  if (firstByte < 0xc2 || firstByte > 0xf4) return 0;
  return firstByte < 0xe0 ? 2 : firstByte < 0xf0 ? 3 : 4;
}

function isMostlyUtf8(bytes: Uint8Array): boolean {
  if (isUtf8(bytes)) return bytes.length > 0;
  let balance = 0;
  for (const character of new TextDecoder().decode(bytes)) {
    if (character > "\x7f") balance += character === "\ufffd" ? -1 : 1;
  }
  return balance > 0;
}

/** The length of the complete, valid characters at the start, by binary search. */
function countValidBytes(bytes: Uint8Array, encoding: TextEncoding): number {
  let valid = 0;
  let invalid = bytes.length;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    try {
      new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      valid = middle;
    } catch {
      invalid = middle;
    }
  }
  return valid - countIncompleteBytes(bytes.subarray(0, valid), encoding);
}

const separators = new Set(Buffer.from('\t\n\r ",;'));
const minSeparators = 3;

/**
 * Detects UTF-16 without a byte order mark: in any script, separators have a zero byte next to
 * them, and in mostly ASCII text, every other byte is zero.
 */
function detectUtf16(head: Uint8Array): TextEncoding | undefined {
  const zeros: [number, number] = [0, 0];
  // Counts whether separators are the second byte of a pair, as in big-endian text.
  const balances: [number, number] = [0, 0];
  const paired: [number, number] = [0, 0];
  head.forEach((byte, index) => {
    const second = index % 2 === 1 ? 1 : 0;
    if (byte === 0) zeros[second]++;
    if (!separators.has(byte)) return;
    const other = head[second === 1 ? index - 1 : index + 1] ?? 0xff;
    if (other === 0) {
      paired[second]++;
      balances[second]++;
      // A smaller byte belongs to a letter of another script; single-byte text does not contain it.
    } else if (other >= 0x20) balances[second]--;
  });
  const isLikely = (second: 0 | 1) => paired[second] >= minSeparators && balances[second] >= 0;
  if (isLikely(0) && paired[0] > paired[1]) return "utf-16le";
  if (isLikely(1) && paired[1] > paired[0]) return "utf-16be";
  const [even, odd] = zeros;
  const threshold = Math.max(head.length * 0.2, 4);
  if (odd > threshold && even < odd / 10) return "utf-16le";
  if (even > threshold && odd < even / 10) return "utf-16be";
  return undefined;
}
