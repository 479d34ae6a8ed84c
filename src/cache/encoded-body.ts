import { type Compression, compress, decompress, type Effort, type Encoding, maxBlockingBytes } from "./encoding.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A response copies bytes, but shares a blob. For small bodies, a copy is cheaper than an object. */
export type SendableBody = Bytes | Blob;
const minBlobBytes = 16_384;

/** Gets to know when a body takes more or less memory than before. */
export interface SizeListener {
  resized(): void;
}

/** Bytes of the bodies whose first compression is in progress or waits for a thread, and their limit. */
const compressing = { bytes: 0, maxBytes: 32 * 2 ** 20 };

const improvable = { br: 1, zstd: 2, gzip: 4 } as const;

/**
 * A body in the encodings in which it was requested, and in no other. Each is compressed quickly on
 * its first request, and better in the background on a later one.
 */
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
  /** Sum of the {@link improvable} encodings that were compressed quickly. */
  #quick = 0;
  /** Encodings in progress. */
  #pending: Map<Encoding, Promise<SendableBody>> | undefined;
  readonly #firstEffort: Effort;
  /** Size in bytes, uncompressed. */
  readonly #length: number;

  /** @param firstEffort `best` for a body that is sent as long as the process runs */
  constructor(bytes: Bytes, firstEffort: Effort = "quick") {
    this.#source = bytes;
    this.#firstEffort = firstEffort;
    this.#length = bytes.length;
  }

  /** Size in bytes, in all encodings. */
  get size(): number {
    const { identity, br, zstd, gzip } = this;
    return sizeOf(this.#source) + sizeOf(identity) + sizeOf(br) + sizeOf(zstd) + sizeOf(gzip);
  }

  /**
   * The encoding to send to a client that prefers another one: that, or none while many large bodies
   * are being compressed. Requests arrive faster than that, also of clients that do not wait.
   */
  available(preferred: Encoding): Encoding {
    if (this.#length <= maxBlockingBytes.quick || this[preferred] !== undefined) return preferred;
    const { bytes, maxBytes } = compressing;
    const hasRoom = bytes === 0 || bytes + this.#length <= maxBytes;
    return hasRoom || this.#pending?.has(preferred) === true ? preferred : "identity";
  }

  /** The body in an encoding; a promise only if that takes long, on its first request. */
  encode(encoding: Encoding): SendableBody | Promise<SendableBody> {
    const kept = this[encoding];
    if (kept === undefined) return this.#pending?.get(encoding) ?? this.#add(encoding);
    if (this.#quick !== 0 && encoding !== "identity" && (this.#quick & improvable[encoding]) !== 0) {
      this.#improve(encoding);
    }
    return kept;
  }

  #add(encoding: Encoding): SendableBody | Promise<SendableBody> {
    const plain = this.#findPlain();
    const encode = (bytes: Bytes) => (encoding === "identity" ? bytes : compress(bytes, encoding, this.#firstEffort));
    const encoded = plain instanceof Promise ? plain.then(encode) : encode(plain);
    if (!(encoded instanceof Promise)) return this.#keep(encoding, encoded);
    compressing.bytes += this.#length;
    const pending = encoded
      .then((bytes) => this.#keep(encoding, bytes))
      .finally(() => {
        compressing.bytes -= this.#length;
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

  #keep(encoding: Encoding, bytes: Bytes): SendableBody {
    const body = bytes.length < minBlobBytes ? bytes : new Blob([bytes]);
    this[encoding] = body;
    this.#source = undefined;
    if (encoding !== "identity" && this.#firstEffort === "quick") this.#quick |= improvable[encoding];
    this.sizeListener?.resized();
    return body;
  }

  #improve(compression: Compression): void {
    background.run(async () => {
      this.#quick &= ~improvable[compression];
      const better = await compress(await this.#findPlain(), compression, "best");
      if (better.length >= sizeOf(this[compression])) return;
      this.#keep(compression, better);
      this.#quick &= ~improvable[compression];
    });
  }
}

const sizeOf = (body: SendableBody | undefined) =>
  body === undefined ? 0 : body instanceof Blob ? body.size : body.length;

const pauseMs = 1;

/** Work that may be skipped, because a later request tries again: only one at a time, with pauses. */
class Background {
  #isBusy = false;

  run(work: () => Promise<void>): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    // Not in the turn in which requests wait for their responses.
    Bun.sleep(pauseMs)
      .then(work)
      // Without a result, the quickly compressed body stays.
      .catch(() => {})
      .finally(() => {
        this.#isBusy = false;
      });
  }
}

const background = new Background();
