import { ServiceError } from "../errors.ts";
import { excerpt } from "../job.ts";

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
/** What Latin letters and curly quotes of UTF-8 look like when they are taken for Windows-1252: "Ã©", "Â°", "â€™". */
const utf8InWindows1252 = /[ÂÃ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[^\s,;]/;

/**
 * Makes text of a file's bytes as they arrive. Without a given encoding it tells by the mark at the beginning, by the zeros of
 * UTF-16, and else at the first byte beyond ASCII: UTF-8 if it is that, Windows-1252 if not.
 */
export class TextDecoding {
  /** For messages. */
  readonly #file: string;
  readonly #given: boolean;
  #encoding: Encoding | undefined;
  #decoder: TextDecoder | undefined;
  #lines = 1;

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
    if (bytes.length === 0) return "";
    this.#decoder ??= this.#begin(bytes);
    if (this.#encoding === undefined && !isAscii(bytes)) this.#decoder = this.#settle(bytes);
    try {
      const text = this.#decoder.decode(bytes, { stream: true });
      this.#checkMixture(text);
      this.#lines += countLines(bytes);
      return text;
    } catch (cause) {
      throw this.#refusal(bytes, cause);
    }
  }

  end(): string {
    try {
      return this.#decoder?.decode() ?? "";
    } catch (cause) {
      throw new ServiceError("invalid_input", `${this.#file}:${this.#lines}: ends in the middle of a character`, {
        cause,
      });
    }
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

  /** At the first bytes beyond ASCII: are they UTF-8? A character cut by the end of the piece counts as one. */
  #settle(bytes: Uint8Array): TextDecoder {
    const utf8 = new TextDecoder("utf-8", { fatal: true });
    try {
      utf8.decode(bytes, { stream: true });
      this.#encoding = "utf-8";
    } catch {
      this.#encoding = "windows-1252";
    }
    return new TextDecoder(this.#encoding, { fatal: true });
  }

  #checkMixture(text: string): void {
    if (this.#encoding !== "windows-1252" || this.#given) return;
    const found = utf8InWindows1252.exec(text);
    if (found === null) return;
    const line = this.#lines + text.slice(0, found.index).split("\n").length - 1;
    throw new ServiceError(
      "invalid_input",
      `${this.#file}:${line}: mixed encodings: mostly Windows-1252, but ${excerpt(found[0])} is UTF-8; set the encoding if it is meant so`,
    );
  }

  #refusal(bytes: Uint8Array, cause: unknown): unknown {
    if (!(cause instanceof TypeError)) return cause;
    const before = new TextDecoder(this.encoding).decode(bytes).split("\ufffd")[0] ?? "";
    const line = this.#lines + before.split("\n").length - 1;
    const byte = this.encoding === "utf-8" ? bytes[Buffer.byteLength(before)] : undefined;
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

function isAscii(bytes: Uint8Array): boolean {
  // By index: an iterator would take ten times as long.
  for (let index = 0; index < bytes.length; index++) if ((bytes[index] as number) > 0x7f) return false;
  return true;
}

function countLines(bytes: Uint8Array): number {
  let lines = 0;
  for (let index = 0; index < bytes.length; index++) if (bytes[index] === 0x0a) lines++;
  return lines;
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
