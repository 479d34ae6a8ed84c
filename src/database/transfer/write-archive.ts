import { type Chunk, RowCounter, type StoreStream, type Totals } from "./stream.ts";

/**
 * A copy of a store in a file: a line of text, then blocks. Each block has its length as four bytes,
 * the lowest first, then lines of text that are compressed with zstd, then the SHA-256 of everything
 * in the file before it. The first line of a block is a JSON object:
 *
 * - of the first block: the header of the stream.
 * - of each that follows: `table` and `columns`; then the rows.
 * - of the last one: `end`, with the numbers of rows by table.
 */
export const firstLine = "pds backup 1\n";

export const digestBytes = 32;

export interface ArchiveSummary {
  readonly tables: Totals;
  /** Of the file. */
  readonly bytes: number;
  /** SHA-256 of all but its last 32 bytes, which are the same. */
  readonly sha256: string;
}

/** @param write writes bytes to the file, in order */
export async function writeArchive(
  { header, chunks }: Pick<StoreStream, "header" | "chunks">,
  write: (bytes: Uint8Array) => void,
  onChunk: (chunk: Chunk) => void,
): Promise<ArchiveSummary> {
  const hasher = new Bun.CryptoHasher("sha256");
  const counter = new RowCounter();
  let bytes = 0;
  const append = (part: Uint8Array) => {
    hasher.update(part);
    write(part);
    bytes += part.length;
  };
  const appendBlock = (text: string): Uint8Array => {
    const block = Bun.zstdCompressSync(text);
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, block.length, true);
    append(length);
    append(block);
    const digest = hasher.copy().digest();
    append(digest);
    return digest;
  };
  append(Buffer.from(firstLine));
  appendBlock(JSON.stringify(header));
  for await (const chunk of chunks()) {
    const { table, columns, text } = chunk;
    counter.add(chunk);
    appendBlock(`${JSON.stringify({ table, columns })}\n${text}`);
    onChunk(chunk);
  }
  const tables = counter.totals();
  const last = appendBlock(JSON.stringify({ end: tables }));
  return { tables, bytes, sha256: Buffer.from(last).toString("hex") };
}
