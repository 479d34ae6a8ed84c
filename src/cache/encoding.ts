/** Loaded on first use, so that the service starts faster. */
const zlib = () => process.getBuiltinModule("node:zlib");

/** Preferred first: quick zstd takes half the time of quick Brotli, and is smaller. */
const compressions = ["zstd", "br", "gzip"] as const;
export type ContentCompression = (typeof compressions)[number];
export type ContentEncoding = ContentCompression | "identity";

/** Smaller bodies fit into one packet uncompressed. */
export const minCompressibleBytes = 1024;

/** Clients send only a few dozen different `Accept-Encoding` values, so parsed ones are cached. */
const parsed = new Map<string, ContentEncoding>();
const maxParsed = 500;
/** Parsing more would cost more than the rest of the request. No browser sends half as much. */
const maxLength = 200;

/** The preferred encoding of an `Accept-Encoding` header, by quality values. */
export function chooseEncoding(accepted: string | null): ContentEncoding {
  if (accepted === null || accepted === "" || accepted.length > maxLength) return "identity";
  const known = parsed.get(accepted);
  if (known !== undefined) return known;
  const encoding = parseAcceptEncoding(accepted);
  // A client that invents values must not keep out the common ones.
  if (parsed.size >= maxParsed) parsed.clear();
  parsed.set(accepted, encoding);
  return encoding;
}

/** Finds a coding with its parameters by one search, however long the list is. */
const patternOf = (name: string) => new RegExp(`(?:^|,)[ \\t]*${name}[ \\t]*(?:;([^,]*))?(?:,|$)`, "i");
const patterns = {
  zstd: patternOf("zstd"),
  br: patternOf("br"),
  gzip: patternOf("(?:x-)?gzip"),
  identity: patternOf("identity"),
  others: patternOf("\\*"),
} as const;

function parseAcceptEncoding(accepted: string): ContentEncoding {
  const qualityOf = (name: keyof typeof patterns) => findQuality(accepted, patterns[name]);
  const others = qualityOf("others") ?? 0;
  const offers = compressions.map((name) => ({ name, quality: qualityOf(name) ?? others }));
  const best = offers.reduce((a, b) => (b.quality > a.quality ? b : a));
  // `identity` is acceptable by default, but wins only with an explicit, higher quality.
  return best.quality > 0 && best.quality >= (qualityOf("identity") ?? 0) ? best.name : "identity";
}

function findQuality(accepted: string, pattern: RegExp): number | undefined {
  const [found, parameters] = accepted.match(pattern) ?? [];
  if (found === undefined) return undefined;
  const weight = parameters?.match(/(?:^|;)[ \t]*q=([^;]*)/i)?.[1];
  const quality = weight === undefined ? 1 : Number(weight);
  return quality >= 0 && quality <= 1 ? quality : 0;
}

/** `quick` while a client waits, `best` for a body that is sent as long as the process runs. */
export type Effort = "quick" | "best";

const gzipLevels = { quick: 1, best: 6 } as const;
const zstdLevels = { quick: 3, best: 9 } as const;
const brotliQualities = { quick: 1, best: 5 } as const;
/** Larger bodies are compressed on another thread, which takes more CPU in total. */
export const maxBlockingBytes = { quick: 65_536, best: 16_384 } as const;

function brotliOptions(effort: Effort, { length }: Uint8Array) {
  const { constants } = zlib();
  // Just large enough for the whole body: the default is no better for it, and slower to set up.
  const windowBits = 32 - Math.clz32(length + 15);
  return {
    params: {
      [constants.BROTLI_PARAM_LGWIN]: Math.min(Math.max(windowBits, 10), 22),
      [constants.BROTLI_PARAM_QUALITY]: brotliQualities[effort],
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: length,
    },
  };
}

type Bytes = Uint8Array<ArrayBuffer>;

export function compress(body: Bytes, compression: ContentCompression, effort: Effort): Bytes | Promise<Bytes> {
  if (body.length > maxBlockingBytes[effort]) return compressOnThread(body, compression, effort);
  if (compression === "gzip") return Bun.gzipSync(body, { level: gzipLevels[effort] });
  if (compression === "zstd") return new Uint8Array(Bun.zstdCompressSync(body, { level: zstdLevels[effort] }));
  return new Uint8Array(zlib().brotliCompressSync(body, brotliOptions(effort, body)));
}

function compressOnThread(body: Bytes, compression: ContentCompression, effort: Effort): Promise<Bytes> {
  const { brotliCompress, constants, gzip, zstdCompress } = zlib();
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, result: Uint8Array) =>
      error === null ? resolve(new Uint8Array(result)) : reject(error);
    if (compression === "gzip") gzip(body, { level: gzipLevels[effort] }, done);
    else if (compression === "zstd") {
      zstdCompress(body, { params: { [constants.ZSTD_c_compressionLevel]: zstdLevels[effort] } }, done);
    } else brotliCompress(body, brotliOptions(effort, body), done);
  });
}

export function decompress(body: Bytes, encoding: ContentEncoding): Bytes {
  if (encoding === "identity") return body;
  if (encoding === "gzip") return Bun.gunzipSync(body);
  return new Uint8Array(encoding === "zstd" ? Bun.zstdDecompressSync(body) : zlib().brotliDecompressSync(body));
}
