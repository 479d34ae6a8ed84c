/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** In which order things are asked for: each in its turn, all equally often by chance, or the nth 1/n times as often as the first. */
export type Order = "turns" | "uniform" | "zipf";

/** @returns what gives the next of `count` places, from 0 */
export function drawsOf(order: Order, count: number, seed: number): () => number {
  const random = randomOf(seed);
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
