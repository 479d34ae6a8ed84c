const encoder = new TextEncoder();

/**
 * Needs three bytes for each UTF-16 unit.
 * @returns the offset after the text
 */
export function encodeInto(bytes: Uint8Array, at: number, text: string): number {
  // Most names are short and ASCII, where calling the encoder takes longer.
  const { length } = text;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f || index === 64) return at + encoder.encodeInto(text, bytes.subarray(at)).written;
    bytes[at + index] = code;
  }
  return at + length;
}

/** Compares byte by byte, as both engines order keys. */
export function compareBytes(
  one: Uint8Array,
  oneStart: number,
  oneLength: number,
  other: Uint8Array,
  otherStart: number,
  otherLength: number,
): number {
  const shorter = oneLength < otherLength ? oneLength : otherLength;
  for (let index = 0; index < shorter; index++) {
    const difference = (one[oneStart + index] as number) - (other[otherStart + index] as number);
    if (difference !== 0) return difference;
  }
  return oneLength - otherLength;
}

export function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && compareBytes(one, 0, one.length, other, 0, other.length) === 0;
}

export const encodeText = (text: string) => encoder.encode(text);

export function decodeText(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  );
}

export function writeUint32(bytes: Uint8Array, at: number, number: number): void {
  bytes[at] = number;
  bytes[at + 1] = number >>> 8;
  bytes[at + 2] = number >>> 16;
  bytes[at + 3] = number >>> 24;
}

type Numbers = Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

export function grow<Kind extends Numbers>(old: Kind, larger: Kind): Kind {
  larger.set(old);
  return replace(old, larger);
}

/** Frees the old memory now: the garbage collector would let several old arrays accumulate. */
export function replace<Kind extends Numbers>(old: Kind, other: Kind): Kind {
  old.buffer.transfer(0);
  return other;
}

/** Reads up to four bytes as a big-endian number, padded with zeros. */
export function readWord(bytes: Uint8Array, at: number, length: number): number {
  let word = 0;
  for (let index = 0; index < 4; index++) word = (word << 8) | (index < length ? (bytes[at + index] as number) : 0);
  return word >>> 0;
}
