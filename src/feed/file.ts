import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ServiceError } from "../base/errors.ts";
import { limitSize } from "../base/size.ts";
import { TextDecoding } from "./decode.ts";
import { compressionExtensions, compressionSignatures, type FileCompression, type TextEncoding } from "./format.ts";

const extensions = Object.values(compressionExtensions);

/** Accepted names of a data file: CSV or NDJSON, optionally compressed. */
export function dataFileNames(name: string): string[] {
  return ["csv", "ndjson"].flatMap((format) => ["", ...extensions].map((end) => `${name}.${format}${end}`));
}

const ndjsonName = new RegExp(`\\.(ndjson|jsonl)(${extensions.map(RegExp.escape).join("|")})?$`, "i");
export const isNdjson = (name: string) => ndjsonName.test(name);

async function findCompression(path: string, name: string): Promise<FileCompression | undefined> {
  const compressions = Object.keys(compressionSignatures) as FileCompression[];
  const start = await Bun.file(path).slice(0, 4).bytes();
  return (
    compressions.find((compression) => name.toLowerCase().endsWith(compressionExtensions[compression])) ??
    compressions.find((compression) => compressionSignatures[compression].every((byte, index) => start[index] === byte))
  );
}

/** A sender can set a file's modification time, but not its change time. */
export const versionOfFile = ({ size, mtimeMs, ctimeMs, ino }: Stats) => `${size} ${mtimeMs} ${ctimeMs} ${ino}`;

/** @returns the file's version. @throws ServiceError `invalid_input` if there is no such file */
export async function checkFile(path: string): Promise<string> {
  const stats = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new ServiceError("invalid_input", `${path}: ${cause.code === "ENOENT" ? "no such file" : cause.message}`);
  });
  if (!stats.isFile()) throw new ServiceError("invalid_input", `${path}: not a file`);
  return versionOfFile(stats);
}

/** @throws ServiceError `conflict` */
export function throwChanged(name: string): never {
  throw new ServiceError("conflict", `${name}: changed while it was read; nothing was imported`);
}

export interface ReadBytesOptions {
  readonly name?: string;
  /** Receives the bytes as stored, before decompression. */
  readonly onRead?: (bytes: Uint8Array) => void;
  /** Maximum size when decompressed; 0 for no limit. */
  readonly maxMegabytes?: number;
}

/** @throws ServiceError `invalid_input` if it is too large, or cannot be decompressed */
export async function* readBytes(
  path: string,
  { name = path, onRead = () => {}, maxMegabytes = 0 }: ReadBytesOptions = {},
): AsyncGenerator<Uint8Array> {
  const compression = await findCompression(path, name);
  let bytes = 0;
  for await (const chunk of decompress(path, name, compression, onRead)) {
    bytes += chunk.length;
    limitSize(compression === undefined ? name : `${name}: decompressed`, bytes, maxMegabytes);
    yield chunk;
  }
}

async function* decompress(
  path: string,
  name: string,
  compression: FileCompression | undefined,
  onRead: (bytes: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const stored = Bun.file(path)
    .stream()
    .pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(bytes, controller) {
          onRead(bytes);
          controller.enqueue(bytes);
        },
      }),
    );
  if (compression === undefined) {
    yield* stored;
    return;
  }
  try {
    if (compression === "gzip") yield* gunzip(stored);
    // The runtime supports zstd, but the type's list of formats lacks it.
    else yield* stored.pipeThrough(new DecompressionStream(compression as "gzip") as unknown as Decompression);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new ServiceError("invalid_input", `${name}: truncated or not valid ${compression}: ${reason}`, { cause });
  }
}

type Decompression = ReadableWritablePair<Uint8Array, Uint8Array>;

/** As in gzip(1), zero bytes after the end are padding; other bytes are an error. */
async function* gunzip(stored: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0;
  let end = 0;
  const watched = async function* () {
    for await (const bytes of stored) {
      const last = bytes.findLastIndex((byte) => byte !== 0);
      if (last >= 0) end = length + last + 1;
      length += bytes.length;
      yield bytes;
    }
  };
  const decompress = createGunzip({ chunkSize: 65_536 });
  // The loop over its output throws the errors.
  pipeline(Readable.from(watched()), decompress, () => {});
  yield* decompress;
  // Decompression stops at the padding, and ignores what follows.
  if (end > decompress.bytesWritten) throw new Error("unexpected data after the end");
}

/**
 * Omits the byte order mark.
 * @throws ServiceError `invalid_input` if it is too large, or not text in this encoding
 */
export async function* readText(path: string, encoding: TextEncoding, maxMegabytes: number): AsyncGenerator<string> {
  const decoding = new TextDecoding(path, encoding);
  for await (const bytes of readBytes(path, { maxMegabytes })) yield decoding.push(bytes);
  yield decoding.end();
}

/** @param onBytes receives the number of bytes so far */
export async function checksum(
  content: string | AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void = () => {},
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for await (const chunk of typeof content === "string" ? Bun.file(content).stream() : content) {
    hasher.update(chunk);
    bytes += chunk.length;
    onBytes(bytes);
  }
  return { bytes, sha256: hasher.digest("hex") };
}
