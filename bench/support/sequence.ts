/** Seeded random numbers in [0, 1) (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Order of the requests: round robin, uniformly random, or by Zipf, where the nth is requested 1/n
 * as often as the first.
 */
export type Order = "turns" | "uniform" | "zipf";

/** @returns a function that returns the next index below `count` */
export function createSequence(order: Order, count: number, seed: number): () => number {
  const random = createRandom(seed);
  if (order === "uniform") return () => Math.floor(random() * count);
  if (order === "zipf") return zipf(count, random);
  let turn = 0;
  return () => turn++ % count;
}

function zipf(count: number, random: () => number): () => number {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let place = 0; place < count; place++) {
    sum += 1 / (place + 1);
    sums[place] = sum;
  }
  return () => {
    const wanted = random() * sum;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sums[middle] ?? 0) > wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}
