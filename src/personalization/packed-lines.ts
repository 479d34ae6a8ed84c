import { decodeText, encodeText } from "./bytes.ts";

// The lines of a SKU are packed into a few bytes: for each line, in display order, the number of its
// style in the generation, its display sequence, and its status. Most lines take three bytes.
//
// - style: a varint (seven bits per byte, the lowest first; the top bit says that more follow).
// - sequence: a varint; an even one is twice the number, an odd one is twice the number of bytes of
//   a text that follows, and one.
// - status: one byte for one ASCII character; a zero byte, a varint, and that many bytes of text
//   otherwise.

const maxPlainSequence = 2 ** 26;
const plainSequence = /^(0|[1-9]\d{0,7})$/;

/** A number in canonical form, `12` but not `012`; -1 for other text. */
function toPlainSequence(text: string): number {
  // Most sequences are one digit, which is cheaper to recognize.
  if (text.length === 1) {
    const digit = text.charCodeAt(0) - 48;
    return digit >= 0 && digit <= 9 ? digit : -1;
  }
  if (!plainSequence.test(text)) return -1;
  const number = Number(text);
  return number < maxPlainSequence ? number : -1;
}

export const maxLineBytes = (sequence: string, status: string) => 16 + 3 * (sequence.length + status.length);

/**
 * Needs {@link maxLineBytes}.
 * @returns the offset after the line
 */
export function writeLine(bytes: Uint8Array, at: number, style: number, sequence: string, status: string): number {
  let offset = writeVarint(bytes, at, style);
  const plain = toPlainSequence(sequence);
  if (plain >= 0) offset = writeVarint(bytes, offset, plain * 2);
  else offset = writeText(bytes, offset, sequence, true);
  const code = status.length === 1 ? status.charCodeAt(0) : 0;
  if (code > 0 && code < 0x80) bytes[offset++] = code;
  else {
    bytes[offset++] = 0;
    offset = writeText(bytes, offset, status, false);
  }
  return offset;
}

function writeText(bytes: Uint8Array, at: number, text: string, isSequence: boolean): number {
  const encoded = encodeText(text);
  const offset = writeVarint(bytes, at, isSequence ? encoded.length * 2 + 1 : encoded.length);
  bytes.set(encoded, offset);
  return offset + encoded.length;
}

/** @returns the offset after the number */
function writeVarint(bytes: Uint8Array, at: number, number: number): number {
  let offset = at;
  let rest = number;
  while (rest > 0x7f) {
    bytes[offset++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  bytes[offset++] = rest;
  return offset;
}

/** Reads packed lines in turn, without creating objects. */
export class LineCursor {
  start = 0;
  /** Offset after the line. */
  end = 0;
  /** Offset of the sequence, after the style's number. */
  sequenceStart = 0;
  style = 0;
  /** -1 if the sequence is text. */
  plainSequence = 0;
  /** The status, if it is one ASCII character; 0 if it is text. */
  plainStatus = 0;
  #bytes: Uint8Array = new Uint8Array();
  #sequenceText = 0;
  #sequenceLength = 0;
  #statusText = 0;
  #statusLength = 0;

  /** Starts before the first line. */
  reset(bytes: Uint8Array, start = 0): this {
    this.#bytes = bytes;
    this.end = start;
    return this;
  }

  get isAtEnd(): boolean {
    return this.end >= this.#bytes.length;
  }

  /** @throws Error if the lines end within a number */
  next(): void {
    this.start = this.end;
    this.style = this.#varint();
    this.sequenceStart = this.end;
    const sequence = this.#varint();
    if ((sequence & 1) === 0) this.plainSequence = sequence / 2;
    else {
      this.plainSequence = -1;
      this.#sequenceText = this.end;
      this.#sequenceLength = sequence >>> 1;
      this.end += this.#sequenceLength;
    }
    this.plainStatus = this.#bytes[this.end++] as number;
    if (this.plainStatus === 0) {
      this.#statusLength = this.#varint();
      this.#statusText = this.end;
      this.end += this.#statusLength;
    }
  }

  get sequence(): string {
    if (this.plainSequence >= 0) return `${this.plainSequence}`;
    return this.#text(this.#sequenceText, this.#sequenceLength);
  }

  get status(): string {
    if (this.plainStatus > 0) return String.fromCharCode(this.plainStatus);
    return this.#text(this.#statusText, this.#statusLength);
  }

  #text(start: number, length: number): string {
    return decodeText(this.#bytes, start, start + length);
  }

  #varint(): number {
    let number = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.end++] as number;
      number |= (byte & 0x7f) << shift;
      if (byte < 0x80) return number >>> 0;
      // Bytes beyond the end would never end the number.
      if (this.end >= this.#bytes.length) throw new Error("the packed lines are damaged");
    }
  }
}

export function packNumbers(numbers: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(numbers.length * 5);
  let end = 0;
  for (const number of numbers) end = writeVarint(bytes, end, number);
  return bytes.slice(0, end);
}

export function unpackNumbers(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let number = 0;
  let shift = 0;
  for (const byte of bytes) {
    number |= (byte & 0x7f) << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    numbers.push(number >>> 0);
    number = 0;
    shift = 0;
  }
  return numbers;
}
