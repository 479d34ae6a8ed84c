import { readSync } from "node:fs";
import { compareBytes, grow, readUint32 } from "../bytes.ts";

/**
 * A record: the content's length (4 bytes), the number of rows (4), the key's length (2), key,
 * content.
 */
export const headBytes = 10;
export const rowsOffset = 4;
export const keyBytesOffset = 8;

/** Shared by all runs of a file. */
const readBufferBytes = 4 * 2 ** 20;
const minRunBufferBytes = 4096;
const maxRunBufferBytes = 256 * 1024;

/** A key with its content, in insertion order. */
export interface SortedGroup {
  readonly rows: number;
  /** In UTF-8. Valid until the next group. */
  readonly key: Uint8Array;
  /** Valid until the next group. */
  readonly content: Uint8Array;
}

/** Reads the records of a sorted run in turn, without creating objects. */
export abstract class RecordReader {
  /** Holds the record from {@link keyStart} to {@link end}. */
  bytes: Uint8Array = new Uint8Array();
  keyStart = 0;
  keyEnd = 0;
  end = 0;
  rows = 0;
  /** Place among the merged runs. */
  order = 0;

  /** @returns false after the last record */
  abstract next(): boolean;

  /** @returns the length of the record at an offset */
  protected readHead(start: number): number {
    const { bytes } = this;
    this.keyStart = start + headBytes;
    this.keyEnd = this.keyStart + readKeyBytes(bytes, start);
    this.end = this.keyEnd + readUint32(bytes, start);
    this.rows = readUint32(bytes, start + rowsOffset);
    return this.end - start;
  }
}

export function readKeyBytes(bytes: Uint8Array, start: number): number {
  return (bytes[start + keyBytesOffset] as number) + (bytes[start + keyBytesOffset + 1] as number) * 2 ** 8;
}

export class MemoryReader extends RecordReader {
  readonly #starts: Uint32Array;
  #index = 0;

  /** @param starts offsets of the records, in order */
  constructor(bytes: Uint8Array, starts: Uint32Array) {
    super();
    this.bytes = bytes;
    this.#starts = starts;
  }

  next(): boolean {
    if (this.#index === this.#starts.length) return false;
    this.readHead(this.#starts[this.#index++] as number);
    return true;
  }
}

export class FileReader extends RecordReader {
  readonly #descriptor: number;
  #position: number;
  readonly #end: number;
  #start = 0;
  #filled = 0;

  /** @param runs how many are read at once */
  constructor(descriptor: number, { start, end }: { readonly start: number; readonly end: number }, runs: number) {
    super();
    this.bytes = new Uint8Array(Math.min(Math.max(readBufferBytes / runs, minRunBufferBytes), maxRunBufferBytes));
    this.#descriptor = descriptor;
    this.#position = start;
    this.#end = end;
  }

  next(): boolean {
    if (!this.#fill(headBytes)) return false;
    const length = this.readHead(this.#start);
    this.#fill(length);
    this.#start += this.readHead(this.#start);
    return true;
  }

  /** @returns false at the end of the run */
  #fill(needed: number): boolean {
    if (this.#filled - this.#start >= needed) return true;
    if (this.#position === this.#end && this.#filled === this.#start) return false;
    const rest = this.bytes.subarray(this.#start, this.#filled);
    if (needed > this.bytes.length) this.bytes = new Uint8Array(needed);
    this.bytes.set(rest);
    this.#filled = rest.length;
    this.#start = 0;
    while (this.#filled < needed) {
      const wanted = Math.min(this.bytes.length - this.#filled, this.#end - this.#position);
      const read = readSync(this.#descriptor, this.bytes, this.#filled, wanted, this.#position);
      if (read === 0) throw new Error("a temporary file of the import was cut off");
      this.#filled += read;
      this.#position += read;
    }
    return true;
  }
}

/** Limits the memory of one group. */
export interface GroupLimit {
  readonly rows: number;
  readonly bytes: number;
  readonly refuse: (key: Uint8Array, content: Uint8Array) => never;
}

/** Merges sorted runs. Records with the same key are joined, in the order of the runs. */
export function* mergeRuns(readers: readonly RecordReader[], limit?: GroupLimit): Generator<SortedGroup> {
  const heap = new RunHeap(readers.filter((reader) => reader.next()));
  const group = new GroupBuffer();
  for (let { first } = heap; first !== undefined; first = heap.first) {
    group.begin(first, limit);
    heap.advance();
    for (let { first: next } = heap; next !== undefined && group.hasKeyOf(next); next = heap.first) {
      group.append(next, limit);
      heap.advance();
    }
    yield group;
  }
}

class GroupBuffer implements SortedGroup {
  rows = 0;
  #bytes = new Uint8Array(4096);
  #keyEnd = 0;
  #end = 0;

  begin(record: RecordReader, limit: GroupLimit | undefined): void {
    this.rows = 0;
    this.#end = 0;
    this.#add(record.bytes, record.keyStart, record.keyEnd);
    this.#keyEnd = this.#end;
    this.append(record, limit);
  }

  hasKeyOf({ bytes, keyStart, keyEnd }: RecordReader): boolean {
    return compareBytes(this.#bytes, 0, this.#keyEnd, bytes, keyStart, keyEnd - keyStart) === 0;
  }

  append({ bytes, keyEnd, end, rows }: RecordReader, limit: GroupLimit | undefined): void {
    this.rows += rows;
    this.#add(bytes, keyEnd, end);
    const isTooLarge = limit !== undefined && (this.rows > limit.rows || this.#end - this.#keyEnd > limit.bytes);
    if (isTooLarge) limit.refuse(this.key, this.content);
  }

  get key(): Uint8Array {
    return this.#bytes.subarray(0, this.#keyEnd);
  }

  get content(): Uint8Array {
    return this.#bytes.subarray(this.#keyEnd, this.#end);
  }

  #add(bytes: Uint8Array, start: number, end: number): void {
    const newEnd = this.#end + end - start;
    if (newEnd > this.#bytes.length) this.#bytes = grow(this.#bytes, new Uint8Array(newEnd * 2));
    for (let index = start; index < end; index++) this.#bytes[this.#end++] = bytes[index] as number;
  }
}

/** A heap of runs by next key, lowest first. */
class RunHeap {
  readonly #runs: RecordReader[];

  /** @param runs each at its first record */
  constructor(runs: RecordReader[]) {
    this.#runs = runs;
    for (const [order, run] of runs.entries()) run.order = order;
    for (let index = runs.length >> 1; index-- > 0; ) this.#sink(index);
  }

  get first(): RecordReader | undefined {
    return this.#runs[0];
  }

  advance(): void {
    if (this.first?.next() === false) {
      const last = this.#runs.pop();
      if (last !== undefined && this.#runs.length > 0) this.#runs[0] = last;
    }
    this.#sink(0);
  }

  #sink(from: number): void {
    const runs = this.#runs;
    for (let parent = from; ; ) {
      const left = 2 * parent + 1;
      if (left >= runs.length) return;
      const child = left + 1 < runs.length && this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#isBefore(child, parent)) return;
      const moved = runs[parent] as RecordReader;
      runs[parent] = runs[child] as RecordReader;
      runs[child] = moved;
      parent = child;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#runs[one] as RecordReader, this.#runs[other] as RecordReader];
    const [aLength, bLength] = [a.keyEnd - a.keyStart, b.keyEnd - b.keyStart];
    const difference = compareBytes(a.bytes, a.keyStart, aLength, b.bytes, b.keyStart, bLength);
    return difference < 0 || (difference === 0 && a.order < b.order);
  }
}
