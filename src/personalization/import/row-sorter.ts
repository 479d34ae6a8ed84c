import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { createTemporaryFolderSync, TemporaryFile, type TemporaryFolder } from "../../base/temporary-folder.ts";
import { compareBytes, encodeInto, grow, readUint32, readWord, replace, writeUint32 } from "../bytes.ts";
import { sortByKey } from "./key-sort.ts";
import {
  FileReader,
  type GroupLimit,
  headBytes,
  keyBytesOffset,
  MemoryReader,
  mergeRuns,
  type RecordReader,
  readKeyBytes,
  rowsOffset,
  type SortedGroup,
} from "./sorted-runs.ts";

/** When it is full, the records are sorted and written to a file. */
const defaultMemoryBytes = 8 * 2 ** 20;
const writeBufferBytes = 256 * 1024;

/**
 * Groups content by key, in byte order, in bounded memory: full buffers are sorted, written to a
 * temporary file as runs, and merged. Ordered input is never compared more than once.
 */
export class RowSorter implements AsyncDisposable {
  bytes: Uint8Array<ArrayBuffer>;
  #end = 0;
  /** Offsets of the records. */
  #starts = new Uint32Array(1024);
  #count = 0;
  #isSorted = true;
  #lastKey: string | undefined;
  /** Offset of the last record. */
  #lastStart = 0;
  /** Rows in the last record. */
  #rows = 0;
  #folder: TemporaryFolder | undefined;
  #file: TemporaryFile | undefined;
  /** Offsets of the runs in the file. */
  readonly #runs: { readonly start: number; readonly end: number }[] = [];

  constructor(memoryBytes = defaultMemoryBytes) {
    this.bytes = new Uint8Array(memoryBytes);
  }

  /**
   * Begins to add content under a key. Write it to {@link bytes}, then call {@link commit}.
   * @param maxBytes upper limit of the content's size
   * @returns the offset of the content
   * @throws ServiceError `unavailable` if the disk is full
   */
  reserve(key: string, maxBytes: number): number {
    const needed = headBytes + 3 * key.length + maxBytes;
    if (this.#end + needed > this.bytes.length) {
      this.#spill();
      // A single row may exceed the usual memory for all rows.
      if (needed > this.bytes.length) this.bytes = new Uint8Array(needed);
    }
    if (key !== this.#lastKey) this.#begin(key);
    return this.#end;
  }

  /** @param end offset after the content */
  commit(end: number): void {
    this.#rows++;
    this.#end = end;
  }

  #begin(key: string): void {
    this.#finishRecord();
    if (this.#count === this.#starts.length) {
      this.#starts = grow(this.#starts, new Uint32Array(this.#starts.length * 2));
    }
    const start = this.#end;
    const keyEnd = encodeInto(this.bytes, start + headBytes, key);
    const keyBytes = keyEnd - start - headBytes;
    this.bytes[start + keyBytesOffset] = keyBytes;
    this.bytes[start + keyBytesOffset + 1] = keyBytes >>> 8;
    if (this.#count > 0 && this.#isSorted) {
      this.#isSorted = this.#compare(this.#starts[this.#count - 1] as number, start) < 0;
    }
    this.#starts[this.#count++] = start;
    this.#lastStart = start;
    this.#end = keyEnd;
    this.#rows = 0;
    this.#lastKey = key;
  }

  #finishRecord(): void {
    if (this.#count === 0) return;
    const start = this.#lastStart;
    writeUint32(this.bytes, start, this.#end - start - headBytes - readKeyBytes(this.bytes, start));
    writeUint32(this.bytes, start + rowsOffset, this.#rows);
  }

  #compare(one: number, other: number): number {
    return compareBytes(
      this.bytes,
      one + headBytes,
      readKeyBytes(this.bytes, one),
      this.bytes,
      other + headBytes,
      readKeyBytes(this.bytes, other),
    );
  }

  #sort(): void {
    this.#finishRecord();
    if (this.#isSorted) return;
    // Records with the same key stay in insertion order.
    const bytes = this.bytes;
    sortByKey(this.#starts.subarray(0, this.#count), (start, depth) =>
      readWord(bytes, start + headBytes + depth, readKeyBytes(bytes, start) - depth),
    );
    this.#isSorted = true;
  }

  #spill(): void {
    if (this.#count === 0) return;
    const wasSorted = this.#isSorted;
    this.#sort();
    this.#folder ??= createTemporaryFolderSync("import");
    this.#file ??= new TemporaryFile(join(this.#folder.path, "rows"));
    const start = this.#runs.at(-1)?.end ?? 0;
    this.#runs.push({ start, end: start + this.#end });
    if (wasSorted) this.#file.write(this.bytes.subarray(0, this.#end));
    else this.#writeInOrder(this.#file);
    this.#end = 0;
    this.#count = 0;
    this.#isSorted = true;
    this.#lastKey = undefined;
  }

  #writeInOrder(file: TemporaryFile): void {
    const bytes = this.bytes;
    const buffer = new Uint8Array(writeBufferBytes);
    let used = 0;
    for (let index = 0; index < this.#count; index++) {
      const start = this.#starts[index] as number;
      const end = start + headBytes + readKeyBytes(bytes, start) + readUint32(bytes, start);
      if (used + end - start > buffer.length) {
        file.write(buffer.subarray(0, used));
        used = 0;
      }
      if (end - start > buffer.length) file.write(bytes.subarray(start, end));
      else for (let at = start; at < end; at++) buffer[used++] = bytes[at] as number;
    }
    file.write(buffer.subarray(0, used));
  }

  /**
   * Frees memory, unless all records fit. Nothing can be added afterward.
   * @throws ServiceError as {@link reserve}
   */
  finish(): void {
    if (this.#file === undefined) return;
    this.#spill();
    this.#free();
  }

  /** In key order. May be called repeatedly, after everything was added. */
  *groups(limit?: GroupLimit): Generator<SortedGroup> {
    this.#sort();
    const descriptor = this.#file === undefined ? undefined : openSync(this.#file.path, "r");
    try {
      const runs = this.#runs;
      const readers: RecordReader[] = runs.map((run) => new FileReader(descriptor as number, run, runs.length));
      readers.push(new MemoryReader(this.bytes, this.#starts.subarray(0, this.#count)));
      yield* mergeRuns(readers, limit);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  #free(): void {
    this.bytes = replace(this.bytes, new Uint8Array());
    this.#starts = replace(this.#starts, new Uint32Array());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#free();
    this.#file?.[Symbol.dispose]();
    await this.#folder?.remove();
  }
}
