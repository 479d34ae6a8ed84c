import { type ContentEncoding, compress, decompress, type Effort, maxBlockingBytes } from "./encoding.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A response copies bytes, but shares a blob. For small bodies, a copy is cheaper than an object. */
export type SendableBody = Bytes | Blob;
const minBlobBytes = 16_384;

export interface SizeListener {
  resized(): void;
}

/** The bodies whose first compression is in progress or queued. */
export class CompressionLoad {
  bytes = 0;
  readonly maxBytes = 32 * 2 ** 20;
}

/** A body in the encodings that were requested. Each is created on its first request. */
export class EncodedBody {
  /** Set by the cache that keeps the body. */
  sizeListener: SizeListener | undefined;
  /** The uncompressed body until the first request. */
  #source: Bytes | undefined;
  // Fields instead of a map, because a cache has many bodies.
  protected identity: SendableBody | undefined;
  protected br: SendableBody | undefined;
  protected zstd: SendableBody | undefined;
  protected gzip: SendableBody | undefined;
  #pending: Map<ContentEncoding, Promise<SendableBody>> | undefined;
  readonly #effort: Effort;
  readonly #length: number;

  /** @param effort `best` for a body that is sent as long as the process runs */
  constructor(bytes: Bytes, effort: Effort = "quick") {
    this.#source = bytes;
    this.#effort = effort;
    this.#length = bytes.length;
  }

  get size(): number {
    const { identity, br, zstd, gzip } = this;
    return sizeOf(this.#source) + sizeOf(identity) + sizeOf(br) + sizeOf(zstd) + sizeOf(gzip);
  }

  /**
   * The encoding to send when a client prefers this one: none, while many large bodies are being
   * compressed. Requests arrive faster than that, even from clients that do not wait.
   */
  available(preferred: ContentEncoding, { bytes, maxBytes }: CompressionLoad): ContentEncoding {
    if (this.#length <= maxBlockingBytes.quick || this[preferred] !== undefined) return preferred;
    const hasRoom = bytes === 0 || bytes + this.#length <= maxBytes;
    return hasRoom || this.#pending?.has(preferred) === true ? preferred : "identity";
  }

  /** The body in an encoding, at first as bytes; a promise only for a slow first compression. */
  encode(encoding: ContentEncoding, load: CompressionLoad): SendableBody | Promise<SendableBody> {
    return this[encoding] ?? this.#pending?.get(encoding) ?? this.#add(encoding, load);
  }

  #add(encoding: ContentEncoding, load: CompressionLoad): SendableBody | Promise<SendableBody> {
    const plain = this.#findPlain();
    const encode = (bytes: Bytes) => (encoding === "identity" ? bytes : compress(bytes, encoding, this.#effort));
    const encoded = plain instanceof Promise ? plain.then(encode) : encode(plain);
    if (!(encoded instanceof Promise)) return this.#keep(encoding, encoded);
    load.bytes += this.#length;
    const pending = encoded
      .then((bytes) => this.#keep(encoding, bytes))
      .finally(() => {
        load.bytes -= this.#length;
        this.#pending?.delete(encoding);
      });
    this.#pending ??= new Map();
    this.#pending.set(encoding, pending);
    return pending;
  }

  #findPlain(): Bytes | Promise<Bytes> {
    if (this.#source !== undefined) return this.#source;
    for (const encoding of ["identity", "zstd", "gzip", "br"] as const) {
      const kept = this[encoding];
      if (kept instanceof Blob) return kept.bytes().then((bytes) => decompress(bytes, encoding));
      if (kept !== undefined) return decompress(kept, encoding);
    }
    throw new Error("a body has no content");
  }

  #keep(encoding: ContentEncoding, bytes: Bytes): Bytes {
    this[encoding] = bytes.length < minBlobBytes ? bytes : new Blob([bytes]);
    this.#source = undefined;
    this.sizeListener?.resized();
    return bytes;
  }
}

const sizeOf = (body: SendableBody | undefined) =>
  body === undefined ? 0 : body instanceof Blob ? body.size : body.length;
