import type { Socket } from "bun";

/** A response as received. */
export interface WireResponse {
  readonly version: string;
  readonly status: number;
  /** By lower-case name; repeated headers are joined with commas. */
  readonly headers: ReadonlyMap<string, string>;
  /** Names of repeated headers. */
  readonly repeated: readonly string[];
  readonly body: Buffer;
  /** Bytes of head and body. */
  readonly size: number;
  /** Whether the body ends with the connection. */
  readonly isUnbounded: boolean;
}

const withoutBody = (status: number) => status === 204 || status === 304 || status < 200;

/**
 * Parses the first response in the received bytes.
 * @param isHead whether the request was `HEAD`
 * @returns undefined while it is incomplete
 * @throws Error if it is malformed
 */
export function parseResponse(bytes: Buffer, isHead = false): WireResponse | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const [, version = "", code = ""] = first.match(/^HTTP\/(1\.[01]) (\d{3})(?: .*)?$/) ?? [];
  if (version === "") throw new Error(`not a response: ${JSON.stringify(first)}`);
  const headers = new Map<string, string>();
  const repeated: string[] = [];
  for (const line of lines) {
    const [, name = "", value = ""] = line.match(/^([\w!#$%&'*+.^`|~-]+):[ \t]*(.*?)[ \t]*$/) ?? [];
    if (name === "") throw new Error(`not a header field: ${JSON.stringify(line)}`);
    const key = name.toLowerCase();
    const before = headers.get(key);
    if (before !== undefined) repeated.push(key);
    headers.set(key, before === undefined ? value : `${before},${value}`);
  }
  const status = Number(code);
  const answer = { version, status, headers, repeated, isUnbounded: false };
  const start = end + 4;
  if (isHead || withoutBody(status)) return { ...answer, body: Buffer.alloc(0), size: start };
  if (headers.get("transfer-encoding") === "chunked") {
    const read = readChunks(bytes, start);
    return read && { ...answer, body: Buffer.concat(read.chunks), size: read.end };
  }
  const length = headers.get("content-length");
  if (length === undefined) return { ...answer, body: bytes.subarray(start), size: bytes.length, isUnbounded: true };
  if (!/^\d+$/.test(length)) throw new Error(`not a length: ${length}`);
  const size = start + Number(length);
  return bytes.length < size ? undefined : { ...answer, body: bytes.subarray(start, size), size };
}

function readChunks(bytes: Buffer, from: number): { chunks: Buffer[]; end: number } | undefined {
  const chunks: Buffer[] = [];
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error("not a chunk");
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { chunks, end: next };
    chunks.push(bytes.subarray(lineEnd + 2, next - 2));
    at = next;
  }
}

/** Far longer than a response takes. */
const patienceMs = 60_000;

/** A connection that sends text, of which each character is a byte, and collects all bytes that it receives. */
export class Wire {
  bytes: Buffer = Buffer.alloc(0);
  isClosed = false;
  readonly url: string;
  #socket: Socket<undefined> | undefined;
  #unsent: Buffer = Buffer.alloc(0);
  #wake: (() => void) | undefined;

  private constructor(url: string) {
    this.url = url;
  }

  static async open(url: string): Promise<Wire> {
    const wire = new Wire(url);
    const { hostname, port } = new URL(url);
    const end = () => {
      wire.isClosed = true;
      wire.#wake?.();
    };
    wire.#socket = await Bun.connect<undefined>({
      hostname,
      port: Number(port),
      socket: {
        data: (_, chunk) => {
          wire.bytes = Buffer.concat([wire.bytes, chunk]);
          wire.#wake?.();
        },
        drain: () => wire.#send(),
        close: end,
        end,
        error: end,
      },
    });
    return wire;
  }

  write(text: string): void {
    this.#unsent = Buffer.concat([this.#unsent, Buffer.from(text, "latin1")]);
    this.#send();
  }

  #send(): void {
    const written = this.#socket?.write(this.#unsent) ?? -1;
    this.#unsent = this.#unsent.subarray(Math.max(0, written));
  }

  /** Waits until there is enough, the other side has closed, or for so long. */
  async receive(isEnough: (bytes: Buffer) => boolean, withinMs = patienceMs): Promise<void> {
    const endMs = performance.now() + withinMs;
    while (!this.isClosed && !isEnough(this.bytes)) {
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) break;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, leftMs);
      this.#wake = resolve;
      await promise;
      clearTimeout(timer);
    }
  }

  /** Waits until the other side has closed. @returns all that it sent */
  async untilClosed(): Promise<Buffer> {
    await this.receive(() => false);
    if (!this.isClosed) throw new Error(`the connection stays open after ${this.bytes}`);
    return this.bytes;
  }

  end(): void {
    this.isClosed = true;
    this.#socket?.terminate();
  }
}
