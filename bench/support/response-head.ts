/** Parts of the head of an HTTP/1.1 response that a load generator needs. */
export interface Head {
  readonly status: number;
  /** Offset of the body. */
  readonly end: number;
  /** Bytes of the body; undefined if the head does not say, as with chunks. */
  readonly length: number | undefined;
  /** Whether the server closes the connection after this response. */
  readonly closes: boolean;
}

const [tab, lineFeed, carriageReturn, space, zero] = [9, 10, 13, 32, 48];
const contentLength = Buffer.from("content-length:");
const connection = Buffer.from("connection:");

/**
 * Parses the head of a response to GET, byte by byte because that is fastest.
 * @returns undefined while it is incomplete
 */
export function readHead(bytes: Uint8Array): Head | undefined {
  const status = digit(bytes, 9) * 100 + digit(bytes, 10) * 10 + digit(bytes, 11);
  // These have no body, whatever Content-Length says.
  let length = status === 304 || status === 204 ? 0 : undefined;
  let closes = false;
  for (let place = 12; place < bytes.length; place++) {
    if (bytes[place] !== lineFeed) continue;
    const line = place + 1;
    if (bytes[line] === carriageReturn && bytes[line + 1] === lineFeed)
      return { status, end: line + 2, length, closes };
    // Both header fields start with c.
    if (((bytes[line] ?? 0) | 0x20) !== 0x63) continue;
    if (length === undefined && begins(bytes, line, contentLength)) {
      length = numberAt(bytes, line + contentLength.length);
    } else if (begins(bytes, line, connection)) {
      closes = ((bytes[valueAt(bytes, line + connection.length)] ?? 0) | 0x20) === 0x63;
    }
  }
  return undefined;
}

const digit = (bytes: Uint8Array, place: number) => (bytes[place] ?? 0) - zero;

function begins(bytes: Uint8Array, from: number, name: Uint8Array): boolean {
  for (let place = 0; place < name.length; place++) {
    const byte = bytes[from + place] ?? 0;
    if ((byte >= 65 && byte <= 90 ? byte | 0x20 : byte) !== name[place]) return false;
  }
  return true;
}

function valueAt(bytes: Uint8Array, from: number): number {
  let place = from;
  while (bytes[place] === space || bytes[place] === tab) place++;
  return place;
}

function numberAt(bytes: Uint8Array, from: number): number {
  let value = 0;
  for (let place = valueAt(bytes, from); ; place++) {
    const of = digit(bytes, place);
    if (!(of >= 0 && of <= 9)) return value;
    value = value * 10 + of;
  }
}
