import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { ServiceError } from "../../errors.ts";
import { type Chunk, type Column, RowCounter, type StoreStream, type StreamHeader, type Totals } from "./stream.ts";
import { type ArchiveSummary, digestBytes, firstLine } from "./write-archive.ts";

/** Like {@link StoreStream}. Its chunks end with an error unless the file is whole and unchanged. */
export interface Archive extends StoreStream {
  /** The totals once all chunks were read. */
  readonly summary: () => ArchiveSummary;
}

/**
 * Opens a copy of a store.
 * @param name what messages call it
 * @throws ServiceError `invalid_input` for a file that is none, or is damaged
 */
export function openArchive(path: string, name: string): Archive {
  const blocks = new BlockReader(path, name);
  try {
    const header = JSON.parse(blocks.next()) as StreamHeader;
    let summary: ArchiveSummary | undefined;
    return {
      header,
      chunks: async function* () {
        const counter = new RowCounter();
        for (;;) {
          const text = blocks.next();
          const end = text.indexOf("\n");
          const described = JSON.parse(end < 0 ? text : text.slice(0, end)) as Block;
          if ("end" in described) {
            const tables = counter.totals();
            if (!Bun.deepEquals(tables, described.end)) throw blocks.damaged("its rows are not those that it counts");
            summary = { tables, ...blocks.finish() };
            return;
          }
          // Signals arrive only between turns of the event loop.
          await setImmediate();
          const rows = text.slice(end + 1);
          const chunk: Chunk = { ...described, text: rows, rows: countLines(rows) };
          counter.add(chunk);
          yield chunk;
        }
      },
      summary: () => {
        if (summary === undefined) throw new Error("not all chunks were read");
        return summary;
      },
      close: async () => blocks.close(),
    };
  } catch (error) {
    blocks.close();
    throw error;
  }
}

type Block = { readonly table: string; readonly columns: readonly Column[] } | { readonly end: Totals };

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}

export interface CheckedArchive {
  readonly header: StreamHeader;
  readonly summary: ArchiveSummary;
  /** Characters of the rows: a store takes about as many bytes. */
  readonly contentLength: number;
}

/**
 * Reads the whole file, and checks it.
 * @param signal stops it; its reason is thrown
 */
export async function checkArchive(path: string, name: string, signal: AbortSignal): Promise<CheckedArchive> {
  const archive = openArchive(path, name);
  try {
    let contentLength = 0;
    for await (const { text } of archive.chunks()) {
      contentLength += text.length;
      signal.throwIfAborted();
    }
    return { header: archive.header, summary: archive.summary(), contentLength };
  } finally {
    await archive.close();
  }
}

/** A backup is often of another user: its owner alone may read it. */
function openFile(path: string, name: string): number {
  try {
    return openSync(path, "r");
  } catch (cause) {
    throw new ServiceError("unavailable", `cannot read ${name}: ${(cause as Error).message}`, { cause });
  }
}

/** Reads a file block by block, and compares each with its checksum. */
class BlockReader {
  readonly #name: string;
  #descriptor: number | undefined;
  readonly #size: number;
  readonly #hasher = new Bun.CryptoHasher("sha256");
  #at = 0;
  #sha256 = "";

  constructor(path: string, name: string) {
    this.#name = name;
    this.#descriptor = openFile(path, name);
    this.#size = fstatSync(this.#descriptor).size;
    const begin = this.#read(Math.min(firstLine.length, this.#size)).toString("latin1");
    if (begin === firstLine) return;
    this.close();
    const isNewer = begin.startsWith("pds backup ");
    throw new ServiceError(
      "invalid_input",
      isNewer ? `${name}: a newer version made this backup; restore it with that one` : `${name}: is not a backup`,
    );
  }

  next(): string {
    const start = this.#at;
    if (this.#size === start) throw this.damaged(`it ends after ${start} bytes, before its end`);
    const length = this.#size - start < 4 ? 0 : this.#read(4).readUInt32LE();
    if (length + digestBytes > this.#size - this.#at) {
      throw this.damaged(`it ends after ${this.#size} bytes, within the block at byte ${start}`);
    }
    const block = this.#read(length);
    const expected = this.#hasher.copy().digest();
    const digest = this.#read(digestBytes);
    if (!digest.equals(expected)) throw this.damaged(`the block at byte ${start} does not match its checksum`);
    this.#sha256 = digest.toString("hex");
    return Buffer.from(Bun.zstdDecompressSync(block)).toString();
  }

  finish(): { readonly bytes: number; readonly sha256: string } {
    if (this.#at < this.#size) throw this.damaged(`${this.#size - this.#at} bytes follow its end`);
    return { bytes: this.#size, sha256: this.#sha256 };
  }

  damaged(reason: string): ServiceError {
    return new ServiceError("invalid_input", `${this.#name}: the backup is damaged: ${reason}`);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #read(length: number): Buffer {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) throw new Error("the file is closed");
    const bytes = Buffer.alloc(length);
    for (let read = 0; read < length; ) {
      const count = readSync(descriptor, bytes, read, length - read, this.#at + read);
      if (count === 0) throw this.damaged("it became shorter");
      read += count;
    }
    this.#hasher.update(bytes);
    this.#at += length;
    return bytes;
  }
}
