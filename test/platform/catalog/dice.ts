/** From lowest to highest, both included; a lone number means exactly that. */
export type Range = number | readonly [lowest: number, highest: number];

/** A 32-bit hash of two numbers. All values of the catalog come from it: a product is never kept, only made again. */
export function mix(a: number, b: number): number {
  let hash = Math.imul(a ^ Math.imul(b, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13) ^ b, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number from 0 up to, but not including, `sides`; `salt` tells the rolls of one thing apart. */
export function roll(base: number, salt: number, sides: number): number {
  return mix(base, salt) % sides;
}

export function pick<const T extends readonly [unknown, ...unknown[]]>(base: number, salt: number, list: T): T[number] {
  return list[roll(base, salt, list.length)];
}

export function rollWithin(base: number, salt: number, range: Range): number {
  if (typeof range === "number") return range;
  const [lowest, highest] = range;
  return lowest + roll(base, salt, highest - lowest + 1);
}

/** A repeatable stream of numbers in [0, 1), for chances that are taken one after another (mulberry32). */
export function createChance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}
