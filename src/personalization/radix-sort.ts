/** Fewer are sorted faster by insertion. */
const minRadixCount = 24;

/** The byte of an item's key at a depth; -1 after the end of the key. */
export type ByteAt = (item: number, depth: number) => number;

/**
 * Sorts items by the bytes of their keys. Items with equal keys stay in their order. A comparing
 * sort takes several times as long for keys that begin alike, as SKUs do, because it compares the
 * same first bytes again and again.
 */
export function radixSort(items: Uint32Array, byteAt: ByteAt): void {
  sortRange(items, new Uint32Array(items.length), 0, items.length, 0, byteAt);
}

function sortRange(items: Uint32Array, scratch: Uint32Array, from: number, to: number, at: number, byteAt: ByteAt) {
  if (to - from < minRadixCount) return insertionSort(items, from, to, at, byteAt);
  let depth = at;
  // Where the items of each byte begin; those whose key has ended come first.
  const starts = new Uint32Array(258);
  for (; ; depth++) {
    starts.fill(0);
    for (let index = from; index < to; index++) count(starts, byteAt(items[index] as number, depth) + 2);
    const first = byteAt(items[from] as number, depth);
    if (starts[first + 2] !== to - from) break;
    // All keys are equal.
    if (first < 0) return;
  }
  for (let byte = 1; byte < 258; byte++) starts[byte] = (starts[byte] as number) + (starts[byte - 1] as number);
  const next = starts.slice();
  for (let index = from; index < to; index++) {
    const item = items[index] as number;
    const byte = byteAt(item, depth) + 1;
    scratch[next[byte] as number] = item;
    count(next, byte);
  }
  items.set(scratch.subarray(0, to - from), from);
  for (let byte = 1; byte < 257; byte++) {
    const [start, end] = [from + (starts[byte] as number), from + (starts[byte + 1] as number)];
    if (end - start > 1) sortRange(items, scratch, start, end, depth + 1, byteAt);
  }
}

function count(counts: Uint32Array, index: number): void {
  counts[index] = (counts[index] as number) + 1;
}

function insertionSort(items: Uint32Array, from: number, to: number, depth: number, byteAt: ByteAt): void {
  for (let index = from + 1; index < to; index++) {
    const item = items[index] as number;
    let place = index;
    while (place > from && compare(items[place - 1] as number, item, depth, byteAt) > 0) {
      items[place] = items[place - 1] as number;
      place--;
    }
    items[place] = item;
  }
}

function compare(one: number, other: number, from: number, byteAt: ByteAt): number {
  for (let depth = from; ; depth++) {
    const byte = byteAt(one, depth);
    const difference = byte - byteAt(other, depth);
    if (difference !== 0 || byte < 0) return difference;
  }
}
