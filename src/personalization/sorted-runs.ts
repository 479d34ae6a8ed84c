import { readSync } from "node:fs";
import { compareBytes, readUint32 } from "./bytes.ts";

/** A key, and what was added under it, in the order in which it was added. */
export interface SortedGroup {
  /** In UTF-8. Valid until the next group. */
  readonly key: Uint8Array;
  /** Valid until the next group. */
  readonly content: Uint8Array;
}

/** Memory to read each of the sorted runs of the file. */
const runBufferBytes = 256 * 1024;
/**
 * A record: the length of its content (4 bytes), the length of its key (2), how often content was
 * added (4), the key, the content.
 */
export const headBytes = 10;
/** Offset in a record. */
export const rowsOffset = 6;
/** Receives the rows of a group as they add up, before its content is put together. */
export type CheckRows = (key: Uint8Array, rows: number) => void;

/** Reads the records of a sorted run. */
export interface RecordReader {
  readonly key: Uint8Array;
  readonly content: Uint8Array;
  readonly rows: number;
  /** Reads the next record. @returns false after the last */
  next(): boolean;
}

/** Reads records in memory. @param record returns the record at an index */
export class MemoryReader implements RecordReader {
  key: Uint8Array = new Uint8Array();
  content: Uint8Array = new Uint8Array();
  rows = 0;
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
    this.rows = readUint32(record, rowsOffset);
    return true;
  }
}

/** Reads the records of a run from an open file. */
export class FileReader implements RecordReader {
  key: Uint8Array = new Uint8Array();
  content: Uint8Array = new Uint8Array();
  rows = 0;
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
    this.rows = this.#view.getUint32(this.#start + rowsOffset, true);
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
export function* merge(readers: RecordReader[], checkRows: CheckRows): Generator<SortedGroup> {
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
    let { rows } = heap[0].reader;
    checkRows(key, rows);
    advance();
    if (heap[0] === undefined || compareKeys(heap[0].reader.key, key) !== 0) {
      yield { key, content };
      continue;
    }
    const parts = [content];
    while (heap[0] !== undefined && compareKeys(heap[0].reader.key, key) === 0) {
      rows += heap[0].reader.rows;
      checkRows(key, rows);
      parts.push(heap[0].reader.content);
      advance();
    }
    yield { key, content: Buffer.concat(parts) };
  }
}

const compareKeys = (one: Uint8Array, other: Uint8Array) => compareBytes(one, 0, one.length, other, 0, other.length);
