import { stat } from "node:fs/promises";
import { ServiceError } from "../errors.ts";
import { type Encoding, TextDecoding } from "./decode.ts";

/** @throws ServiceError `invalid_input` when there is no such file. */
export async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    throw new ServiceError("invalid_input", `${path}: ${cause.code === "ENOENT" ? "no such file" : cause.message}`);
  });
  if (!found.isFile()) throw new ServiceError("invalid_input", `${path}: not a file`);
}

const compressions = { ".gz": "gzip", ".zst": "zstd" } as const;

function compressionOf(name: string): "gzip" | "zstd" | undefined {
  return Object.entries(compressions).find(([ending]) => name.toLowerCase().endsWith(ending))?.[1];
}

/**
 * The file's bytes, unpacked when its name ends in `.gz` or `.zst`.
 * @param name what messages call it
 * @param onRead is given the bytes as they lie in the file
 * @throws ServiceError `invalid_input` when it cannot be unpacked.
 */
export async function* readBytes(
  path: string,
  name = path,
  onRead: (bytes: Uint8Array) => void = () => {},
): AsyncGenerator<Uint8Array> {
  const compression = compressionOf(name);
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
  // The runtime knows zstd here, which the standard's list of formats does not.
  const unpack = new DecompressionStream(compression as "gzip") as unknown;
  try {
    yield* stored.pipeThrough(unpack as ReadableWritablePair<Uint8Array, Uint8Array>);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new ServiceError("invalid_input", `${name}: not whole, or not ${compression}: ${reason}`, { cause });
  }
}

/**
 * The file's text in pieces, without its byte-order mark.
 * @throws ServiceError `invalid_input` where it is not text of the encoding.
 */
export async function* readText(path: string, encoding: Encoding): AsyncGenerator<string> {
  const decoding = new TextDecoding(path, encoding);
  for await (const bytes of readBytes(path)) yield decoding.push(bytes);
  yield decoding.end();
}

/** A file's size and the checksum of its bytes as they lie there. */
export async function checksum(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  for await (const chunk of Bun.file(path).stream()) {
    hasher.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hasher.digest("hex") };
}
