/** For fewer items, insertion is faster than calling the engine's sort. */
const minNativeCount = 24;

/** Four bytes of an item's key from a depth on, big-endian; zeros after the key's end. */
export type WordAt = (item: number, depth: number) => number;

/**
 * Stable sort of ascending items by keys without zero bytes. Sorts key words together with items as
 * 64-bit numbers, which the engine does ten times faster than with a comparison function.
 */
export function sortByKey(items: Uint32Array, wordAt: WordAt): void {
  // Pairs of an item and its word, which is the higher half.
  const words = new Uint32Array(2 * items.length);
  for (let index = 0; index < items.length; index++) words[2 * index] = items[index] as number;
  sortRange(words, new BigUint64Array(words.buffer), 0, items.length, 0, wordAt);
  for (let index = 0; index < items.length; index++) items[index] = words[2 * index] as number;
  // Frees the memory now instead of at the next garbage collection.
  words.buffer.transfer(0);
}

function sortRange(
  words: Uint32Array,
  pairs: BigUint64Array,
  from: number,
  to: number,
  depth: number,
  wordAt: WordAt,
): void {
  for (let index = from; index < to; index++) words[2 * index + 1] = wordAt(words[2 * index] as number, depth);
  if (to - from < minNativeCount) insertionSort(words, from, to);
  else pairs.subarray(from, to).sort();
  for (let start = from; start < to; ) {
    const word = words[2 * start + 1] as number;
    let end = start + 1;
    while (end < to && words[2 * end + 1] === word) end++;
    const isWholeKey = (word & 0xff) === 0;
    if (end - start > 1 && !isWholeKey) sortRange(words, pairs, start, end, depth + 4, wordAt);
    start = end;
  }
}

/** Keeps the order of equal words. */
function insertionSort(words: Uint32Array, from: number, to: number): void {
  for (let index = from + 1; index < to; index++) {
    const [item, word] = [words[2 * index] as number, words[2 * index + 1] as number];
    let place = index;
    for (; place > from && (words[2 * place - 1] as number) > word; place--) {
      words[2 * place] = words[2 * place - 2] as number;
      words[2 * place + 1] = words[2 * place - 1] as number;
    }
    words[2 * place] = item;
    words[2 * place + 1] = word;
  }
}
