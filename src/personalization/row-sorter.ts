import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { createTemporaryFolder, TemporaryFile, type TemporaryFolder } from "../temporary-folder.ts";
import { compareBytes, encodeInto } from "./bytes.ts";
import { radixSort } from "./radix-sort.ts";

/** A key, and what was added under it, in the order in which it was added. */
export interface SortedGroup {
  /** In UTF-8. Valid until the next group. */
  readonly key: Uint8Array;
  /** Valid until the next group. */
  readonly content: Uint8Array;
}

/** Memory for records; when it is full, they are sorted and written to a file. */
const defaultMemoryBytes = 16 * 2 ** 20;
/** Memory to read each of the sorted runs of the file. */
const runBufferBytes = 256 * 1024;
/** A record: the length of its content (4 bytes), the length of its key (2), the key, the content. */
const headBytes = 6;

/**
 * Groups what is added by key, in the order of the keys' bytes, in bounded memory: runs that fill
 * the memory are sorted, written to a temporary file, and merged. Input that is in order is never
 * compared more than once.
 */
export class RowSorter implements AsyncDisposable {
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;
  #end = 0;
  /** Where the records begin. */
  #starts = new Uint32Array(1024);
  #count = 0;
  #isSorted = true;
  #lastKey: string | undefined;
  /** Where the last record begins. */
  #lastStart = 0;
  /** Where the content of the last record begins. */
  #contentStart = 0;
  #folder: TemporaryFolder | undefined;
  #file: TemporaryFile | undefined;
  /** Where the runs in the file begin and end. */
  readonly #runs: { readonly start: number; readonly end: number }[] = [];

  constructor(memoryBytes = defaultMemoryBytes) {
    this.#bytes = new Uint8Array(memoryBytes);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Where {@link reserve} lets content be written. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /**
   * Begins to add content under a key. Write it to {@link bytes}, then call {@link commit}.
   * @param maxBytes bytes that the content takes at most
   * @returns the offset of the content; -1 if there is no room: call {@link spill} first
   */
  reserve(key: string, maxBytes: number): number {
    if (this.#end + headBytes + 3 * key.length + maxBytes > this.#bytes.length) return -1;
    if (key !== this.#lastKey) this.#begin(key);
    return this.#end;
  }

  /** @param end offset after the content */
  commit(end: number): void {
    this.#end = end;
  }

  #begin(key: string): void {
    this.#finishRecord();
    if (this.#count === this.#starts.length) this.#starts = grow(this.#starts);
    const start = this.#end;
    const keyEnd = encodeInto(this.#bytes, start + headBytes, key);
    const keyBytes = keyEnd - start - headBytes;
    this.#bytes[start + 4] = keyBytes;
    this.#bytes[start + 5] = keyBytes >>> 8;
    if (this.#count > 0 && this.#isSorted) {
      this.#isSorted = this.#compare(this.#starts[this.#count - 1] as number, start) < 0;
    }
    this.#starts[this.#count++] = start;
    this.#lastStart = start;
    this.#end = keyEnd;
    this.#contentStart = keyEnd;
    this.#lastKey = key;
  }

  /** Writes the length of the content of the last record. */
  #finishRecord(): void {
    if (this.#count > 0) this.#view.setUint32(this.#lastStart, this.#end - this.#contentStart, true);
  }

  /** Compares the keys of two records. */
  #compare(one: number, other: number): number {
    return compareBytes(
      this.#bytes,
      one + headBytes,
      this.#keyBytes(one),
      this.#bytes,
      other + headBytes,
      this.#keyBytes(other),
    );
  }

  #keyBytes(start: number): number {
    return (this.#bytes[start + 4] as number) + (this.#bytes[start + 5] as number) * 256;
  }

  #sort(): void {
    this.#finishRecord();
    if (this.#isSorted) return;
    // Records with the same key stay in the order in which they were added.
    const bytes = this.#bytes;
    radixSort(this.#starts.subarray(0, this.#count), (start, depth) =>
      depth < (bytes[start + 4] as number) + (bytes[start + 5] as number) * 256
        ? (bytes[start + headBytes + depth] as number)
        : -1,
    );
    this.#isSorted = true;
  }

  /**
   * Writes what is in memory to the file, to make room.
   * @throws ServiceError `unavailable` if the disk is full
   */
  async spill(): Promise<void> {
    if (this.#count > 0) {
      this.#sort();
      this.#folder ??= await createTemporaryFolder("import");
      this.#file ??= new TemporaryFile(join(this.#folder.path, "rows"));
      const start = this.#runs.at(-1)?.end ?? 0;
      this.#runs.push({ start, end: start + this.#end });
      this.#writeInOrder(this.#file);
    }
    this.#end = 0;
    this.#count = 0;
    this.#isSorted = true;
    this.#lastKey = undefined;
  }

  #writeInOrder(file: TemporaryFile): void {
    const buffer = new Uint8Array(1024 * 1024);
    let used = 0;
    for (let index = 0; index < this.#count; index++) {
      const record = this.#record(index);
      if (used + record.length > buffer.length) {
        file.write(buffer.subarray(0, used));
        used = 0;
      }
      if (record.length > buffer.length) file.write(record);
      else {
        buffer.set(record, used);
        used += record.length;
      }
    }
    file.write(buffer.subarray(0, used));
  }

  #record(index: number): Uint8Array {
    const start = this.#starts[index] as number;
    const length = headBytes + this.#keyBytes(start) + this.#view.getUint32(start, true);
    return this.#bytes.subarray(start, start + length);
  }

  /** The groups in the order of their keys. May be called more than once, after everything was added. */
  *groups(): Generator<SortedGroup> {
    this.#sort();
    const descriptor = this.#file === undefined ? undefined : openSync(this.#file.path, "r");
    try {
      const readers: RecordReader[] = this.#runs.map((run) => new FileReader(descriptor as number, run));
      readers.push(new MemoryReader(this.#count, (index) => this.#record(index)));
      yield* merge(readers.filter((reader) => reader.next()));
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#file?.[Symbol.dispose]();
    await this.#folder?.remove();
  }
}

function grow(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}

/** Reads the records of a sorted run. */
interface RecordReader {
  readonly key: Uint8Array;
  readonly content: Uint8Array;
  /** Reads the next record. @returns false after the last */
  next(): boolean;
}

class MemoryReader implements RecordReader {
  key: Uint8Array = new Uint8Array();
  content: Uint8Array = new Uint8Array();
  #index = 0;
  readonly #count: number;
  readonly #record: (index: number) => Uint8Array;

  constructor(count: number, record: (index: number) => Uint8Array) {
    this.#count = count;
    this.#record = record;
  }

  next(): boolean {
    if (this.#index === this.#count) return false;
    const record = this.#record(this.#index++);
    const keyEnd = headBytes + (record[4] as number) + (record[5] as number) * 256;
    this.key = record.subarray(headBytes, keyEnd);
    this.content = record.subarray(keyEnd);
    return true;
  }
}

class FileReader implements RecordReader {
  key: Uint8Array = new Uint8Array();
  content: Uint8Array = new Uint8Array();
  readonly #descriptor: number;
  #position: number;
  readonly #end: number;
  #buffer = new Uint8Array(runBufferBytes);
  #view = new DataView(this.#buffer.buffer);
  #start = 0;
  #filled = 0;

  constructor(descriptor: number, { start, end }: { readonly start: number; readonly end: number }) {
    this.#descriptor = descriptor;
    this.#position = start;
    this.#end = end;
  }

  next(): boolean {
    if (!this.#fill(headBytes)) return false;
    const contentBytes = this.#view.getUint32(this.#start, true);
    const keyBytes = this.#view.getUint16(this.#start + 4, true);
    const length = headBytes + keyBytes + contentBytes;
    this.#fill(length);
    const keyStart = this.#start + headBytes;
    this.key = this.#buffer.subarray(keyStart, keyStart + keyBytes);
    this.content = this.#buffer.subarray(keyStart + keyBytes, this.#start + length);
    this.#start += length;
    return true;
  }

  /** Makes some bytes available. @returns false at the end of the run */
  #fill(bytes: number): boolean {
    if (this.#filled - this.#start >= bytes) return true;
    if (this.#position === this.#end && this.#filled === this.#start) return false;
    const old = this.#buffer;
    const rest = old.subarray(this.#start, this.#filled);
    // The content of the record before may still be in use, so its buffer is not overwritten.
    this.#buffer = new Uint8Array(Math.max(runBufferBytes, bytes));
    this.#view = new DataView(this.#buffer.buffer);
    this.#buffer.set(rest);
    this.#filled = rest.length;
    this.#start = 0;
    while (this.#filled < bytes) {
      const wanted = Math.min(this.#buffer.length - this.#filled, this.#end - this.#position);
      const read = readSync(this.#descriptor, this.#buffer, this.#filled, wanted, this.#position);
      if (read === 0) throw new Error("a temporary file of the import was cut off");
      this.#filled += read;
      this.#position += read;
    }
    return true;
  }
}

/** Merges sorted runs, each at its first record. Equal keys come in the order of the runs. */
function* merge(readers: RecordReader[]): Generator<SortedGroup> {
  const heap = readers.map((reader, run) => ({ reader, run }));
  const isBefore = (one: number, other: number) => {
    const [a, b] = [heap[one], heap[other]] as [(typeof heap)[number], (typeof heap)[number]];
    const order = compareKeys(a.reader.key, b.reader.key);
    return order < 0 || (order === 0 && a.run < b.run);
  };
  const sink = (from: number) => {
    for (let parent = from; ; ) {
      const left = 2 * parent + 1;
      if (left >= heap.length) return;
      const child = left + 1 < heap.length && isBefore(left + 1, left) ? left + 1 : left;
      if (!isBefore(child, parent)) return;
      [heap[parent], heap[child]] = [heap[child], heap[parent]] as [(typeof heap)[number], (typeof heap)[number]];
      parent = child;
    }
  };
  for (let index = heap.length >> 1; index-- > 0; ) sink(index);
  const advance = () => {
    if (!(heap[0] as (typeof heap)[number]).reader.next()) {
      const last = heap.pop() as (typeof heap)[number];
      if (heap.length > 0) heap[0] = last;
    }
    sink(0);
  };
  while (heap[0] !== undefined) {
    const { key, content } = heap[0].reader;
    advance();
    if (heap[0] === undefined || compareKeys(heap[0].reader.key, key) !== 0) {
      yield { key, content };
      continue;
    }
    const parts = [content];
    while (heap[0] !== undefined && compareKeys(heap[0].reader.key, key) === 0) {
      parts.push(heap[0].reader.content);
      advance();
    }
    yield { key, content: Buffer.concat(parts) };
  }
}

const compareKeys = (one: Uint8Array, other: Uint8Array) => compareBytes(one, 0, one.length, other, 0, other.length);
