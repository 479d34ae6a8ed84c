import { toFingerprint } from "../model/fingerprint.ts";

/** Share of the slots beyond which a table grows. */
const fullest = 0.75;
/** Numbers of an entry when it leaves the table: the two halves of its key, and its first value. */
const exported = 3;

/** A table from hashed keys to a few 32-bit numbers each, in one flat array: a `Map` takes six times the memory. */
export class HashTable {
  size = 0;
  readonly #width: number;
  /** A slot: high, low, then the values. Both halves zero: nothing there. */
  #cells: Int32Array;
  #mask: number;

  /** @param expected keys for which there is room from the beginning */
  constructor(valuesPerKey: number, expected = 0) {
    this.#width = 2 + valuesPerKey;
    const slots = 2 ** Math.max(10, Math.ceil(Math.log2((expected + 1) / fullest)));
    this.#mask = slots - 1;
    this.#cells = new Int32Array(slots * this.#width);
  }

  /** @returns the key's place, or -1 */
  find(high: number, low: number): number {
    const place = this.#place(high, low || 1);
    return this.#isFree(place) ? -1 : place + 2;
  }

  /** @returns the key's place when it is there already; or else it is added, and that is the complement (`~`) of its place */
  add(high: number, low: number): number {
    const place = this.#place(high, low || 1);
    if (!this.#isFree(place)) return place + 2;
    if (this.size >= (this.#mask + 1) * fullest) {
      this.#grow();
      return this.add(high, low);
    }
    this.size++;
    this.#cells[place] = high;
    this.#cells[place + 1] = low || 1;
    return ~(place + 2);
  }

  get(place: number, value: number): number {
    return this.#cells[place + value] as number;
  }

  set(place: number, value: number, to: number): void {
    this.#cells[place + value] = to;
  }

  /** A number for a key's place, from 0 to less than the capacity. */
  indexOf(place: number): number {
    return (place - 2) / this.#width;
  }

  get capacity(): number {
    return this.#mask + 1;
  }

  /** The keys whose number is not marked in a bit set. */
  *unmarked(marks: Uint8Array): Generator<[high: number, low: number]> {
    for (let index = 0; index < this.capacity; index++) {
      const place = index * this.#width;
      if (this.#isFree(place) || isMarked(marks, index)) continue;
      yield [this.#cells[place] as number, this.#cells[place + 1] as number];
    }
  }

  /** Every key with its first value, as the bytes of `[high, low, value]`, in parts. */
  *export(entriesPerPart: number): Generator<Uint8Array> {
    let part = new Int32Array(entriesPerPart * exported);
    let used = 0;
    for (let place = 0; place < this.#cells.length; place += this.#width) {
      if (this.#isFree(place)) continue;
      for (let cell = 0; cell < exported; cell++) part[used++] = this.#cells[place + cell] as number;
      if (used < part.length) continue;
      yield new Uint8Array(part.buffer);
      part = new Int32Array(entriesPerPart * exported);
      used = 0;
    }
    if (used > 0) yield new Uint8Array(part.buffer, 0, used * Int32Array.BYTES_PER_ELEMENT);
  }

  #isFree(place: number): boolean {
    return this.#cells[place] === 0 && this.#cells[place + 1] === 0;
  }

  /** Where a key is, or where it would go. */
  #place(high: number, low: number): number {
    let slot = low & this.#mask;
    for (;;) {
      const place = slot * this.#width;
      if ((this.#cells[place] === high && this.#cells[place + 1] === low) || this.#isFree(place)) return place;
      slot = (slot + 1) & this.#mask;
    }
  }

  #grow(): void {
    const old = this.#cells;
    this.#mask = this.#mask * 2 + 1;
    this.#cells = new Int32Array((this.#mask + 1) * this.#width);
    for (let from = 0; from < old.length; from += this.#width) {
      const high = old[from] as number;
      const low = old[from + 1] as number;
      if (high === 0 && low === 0) continue;
      const place = this.#place(high, low);
      for (let cell = 0; cell < this.#width; cell++) this.#cells[place + cell] = old[from + cell] as number;
    }
    // Gives its memory back now: the collector would let several of them pile up.
    (old.buffer as ArrayBuffer).transfer(0);
  }
}

/** Goes through the entries of a part of an exported table. */
export function forEachEntry(part: Uint8Array, visit: (high: number, low: number, value: number) => void): void {
  // A copy, which begins where numbers may begin. Not by slice: that of a Buffer, which a driver may give, copies nothing.
  const cells = new Int32Array(new Uint8Array(part).buffer);
  for (let index = 0; index < cells.length; index += exported) {
    visit(cells[index] as number, cells[index + 1] as number, cells[index + 2] as number);
  }
}

const isMarked = (marks: Uint8Array, index: number) => ((marks[index >> 3] as number) & (1 << (index & 7))) !== 0;

/** Puts an exported table back together. */
export async function toTable(digest: AsyncIterable<Uint8Array>): Promise<HashTable> {
  const table = new HashTable(1);
  for await (const part of digest) {
    forEachEntry(part, (high, low, value) => {
      const place = table.add(high, low);
      table.set(place < 0 ? ~place : place, 0, value);
    });
  }
  return table;
}

/**
 * The fingerprints of the keys that are in one of two tables only, or with another first value.
 * @returns undefined when there are more than `most`
 */
export async function findDiffering(
  table: HashTable,
  other: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  most: number,
): Promise<number[] | undefined> {
  const marks = new Uint8Array(Math.ceil(table.capacity / 8));
  const differing: number[] = [];
  for await (const part of other) {
    forEachEntry(part, (high, low, value) => {
      const place = table.find(high, low);
      if (place >= 0) {
        const index = table.indexOf(place);
        marks[index >> 3] = (marks[index >> 3] as number) | (1 << (index & 7));
        if (table.get(place, 0) === value) return;
      }
      if (differing.length <= most) differing.push(toFingerprint(high, low));
    });
  }
  for (const [high, low] of table.unmarked(marks)) {
    if (differing.length > most) break;
    differing.push(toFingerprint(high, low));
  }
  return differing.length > most ? undefined : differing;
}
