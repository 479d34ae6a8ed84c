import { toFingerprint } from "../model/fingerprint.ts";

/** A table grows when it is fuller than this. */
const maxLoadFactor = 0.75;
/** Numbers per exported entry: the two halves of the key, and its first value. */
const exportedWidth = 3;

/**
 * Maps hashed keys to a few 32-bit numbers each, in one flat array: a `Map` takes six times the
 * memory.
 */
export class HashTable {
  size = 0;
  readonly #width: number;
  /** Slots of high, low, and values. A slot with high and low zero is free. */
  #cells: Int32Array;
  #mask: number;

  /** @param expected number of keys to allocate memory for */
  constructor(valuesPerKey: number, expected = 0) {
    this.#width = 2 + valuesPerKey;
    const slots = 2 ** Math.max(10, Math.ceil(Math.log2((expected + 1) / maxLoadFactor)));
    this.#mask = slots - 1;
    this.#cells = new Int32Array(slots * this.#width);
  }

  /** @returns the offset of the key's values; -1 if the key is unknown */
  find(high: number, low: number): number {
    const start = this.#findSlot(high, low || 1);
    return this.#isFree(start) ? -1 : start + 2;
  }

  /**
   * Adds a key unless it exists.
   * @returns the offset of its values, or the complement (`~`) of that for a new key
   */
  add(high: number, low: number): number {
    const start = this.#findSlot(high, low || 1);
    if (!this.#isFree(start)) return start + 2;
    if (this.size >= (this.#mask + 1) * maxLoadFactor) {
      this.#grow();
      return this.add(high, low);
    }
    this.size++;
    this.#cells[start] = high;
    this.#cells[start + 1] = low || 1;
    return ~(start + 2);
  }

  get(offset: number, value: number): number {
    return this.#cells[offset + value] as number;
  }

  set(offset: number, value: number, to: number): void {
    this.#cells[offset + value] = to;
  }

  /** The index of a key's slot, from 0 to less than the capacity. */
  indexOf(offset: number): number {
    return (offset - 2) / this.#width;
  }

  get capacity(): number {
    return this.#mask + 1;
  }

  /** The keys whose slot is not in a bit set. */
  *keysNotIn(visited: Uint8Array): Generator<[high: number, low: number]> {
    for (let index = 0; index < this.capacity; index++) {
      const start = index * this.#width;
      if (this.#isFree(start) || hasBit(visited, index)) continue;
      yield [this.#cells[start] as number, this.#cells[start + 1] as number];
    }
  }

  /** Each key with its first value, as the bytes of `[high, low, value]`, in parts. */
  *export(entriesPerPart: number): Generator<Uint8Array> {
    let part = new Int32Array(entriesPerPart * exportedWidth);
    let used = 0;
    for (let start = 0; start < this.#cells.length; start += this.#width) {
      if (this.#isFree(start)) continue;
      for (let cell = 0; cell < exportedWidth; cell++) part[used++] = this.#cells[start + cell] as number;
      if (used < part.length) continue;
      yield new Uint8Array(part.buffer);
      part = new Int32Array(entriesPerPart * exportedWidth);
      used = 0;
    }
    if (used > 0) yield new Uint8Array(part.buffer, 0, used * Int32Array.BYTES_PER_ELEMENT);
  }

  #isFree(start: number): boolean {
    return this.#cells[start] === 0 && this.#cells[start + 1] === 0;
  }

  /** The start of the key's slot, or of the free slot where it belongs. */
  #findSlot(high: number, low: number): number {
    let slot = low & this.#mask;
    for (;;) {
      const start = slot * this.#width;
      if ((this.#cells[start] === high && this.#cells[start + 1] === low) || this.#isFree(start)) return start;
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
      const start = this.#findSlot(high, low);
      for (let cell = 0; cell < this.#width; cell++) this.#cells[start + cell] = old[from + cell] as number;
    }
    // Frees the memory now: the garbage collector would let several old arrays accumulate.
    (old.buffer as ArrayBuffer).transfer(0);
  }
}

/** Visits the entries in a part of an exported table. */
export function forEachEntry(part: Uint8Array, visit: (high: number, low: number, value: number) => void): void {
  // Copies the bytes to align them. `slice` would not: a driver may return a Buffer, whose `slice`
  // is a view.
  const cells = new Int32Array(new Uint8Array(part).buffer);
  for (let index = 0; index < cells.length; index += exportedWidth) {
    visit(cells[index] as number, cells[index + 1] as number, cells[index + 2] as number);
  }
}

const hasBit = (bits: Uint8Array, index: number) => ((bits[index >> 3] as number) & (1 << (index & 7))) !== 0;

/** Lets other work of the process run between the steps of a long computation. */
export const yieldToOthers = () => Bun.sleep(0);

/** Rebuilds an exported table, with room for all its entries from the start. */
export async function readTable(digest: AsyncIterable<Uint8Array>): Promise<HashTable> {
  const parts = await Array.fromAsync(digest);
  const entryBytes = exportedWidth * Int32Array.BYTES_PER_ELEMENT;
  const table = new HashTable(1, parts.reduce((bytes, part) => bytes + part.length, 0) / entryBytes);
  for (const part of parts) {
    forEachEntry(part, (high, low, value) => {
      const offset = table.add(high, low);
      table.set(offset < 0 ? ~offset : offset, 0, value);
    });
    await yieldToOthers();
  }
  return table;
}

/**
 * Finds the keys that only one of two tables has, or that have different first values.
 * @returns their fingerprints; undefined if there are more than `max`
 */
export async function findDiffering(
  table: HashTable,
  other: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  max: number,
): Promise<number[] | undefined> {
  const visited = new Uint8Array(Math.ceil(table.capacity / 8));
  const differing: number[] = [];
  for await (const part of other) {
    forEachEntry(part, (high, low, value) => {
      const offset = table.find(high, low);
      if (offset >= 0) {
        const index = table.indexOf(offset);
        visited[index >> 3] = (visited[index >> 3] as number) | (1 << (index & 7));
        if (table.get(offset, 0) === value) return;
      }
      if (differing.length <= max) differing.push(toFingerprint(high, low));
    });
  }
  for (const [high, low] of table.keysNotIn(visited)) {
    if (differing.length > max) break;
    differing.push(toFingerprint(high, low));
  }
  return differing.length > max ? undefined : differing;
}
