/**
 * A hash of 64 bits in two halves, over texts added one after the other. Not for secrets: fast, and even enough that of millions
 * of keys no two are expected to meet.
 */
export class Hash {
  high = 0;
  low = 0;
  #a = 0;
  #b = 0;

  reset(): this {
    this.#a = 0xdeadbeef;
    this.#b = 0x41c6ce57;
    return this;
  }

  add(text: string): this {
    let a = this.#a;
    let b = this.#b;
    for (let index = 0; index < text.length; index++) {
      const character = text.charCodeAt(index);
      a = Math.imul(a ^ character, 2654435761);
      b = Math.imul(b ^ character, 1597334677);
    }
    // No character: so that "ab" and "c" are not "a" and "bc".
    this.#a = Math.imul(a ^ 0x10000, 2654435761);
    this.#b = Math.imul(b ^ 0x10000, 1597334677);
    return this;
  }

  /** Sets the two halves to the hash of all that was added since the reset; more may be added. */
  take(): this {
    const a = Math.imul(this.#a ^ (this.#a >>> 16), 2246822507) ^ Math.imul(this.#b ^ (this.#b >>> 13), 3266489909);
    const b = Math.imul(this.#b ^ (this.#b >>> 16), 2246822507) ^ Math.imul(this.#a ^ (this.#a >>> 13), 3266489909);
    this.high = Math.imul(a ^ (a >>> 15), 2654435761) ^ (b >>> 7);
    this.low = Math.imul(b ^ (b >>> 15), 1597334677) ^ (a >>> 9);
    return this;
  }
}

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

  constructor(valuesPerKey: number) {
    this.#width = 2 + valuesPerKey;
    this.#mask = 1023;
    this.#cells = new Int32Array(1024 * this.#width);
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
