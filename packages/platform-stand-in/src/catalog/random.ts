/** From lowest to highest, inclusive; a single number means exactly that. */
export type Range = number | readonly [lowest: number, highest: number];

/**
 * A 32-bit hash of two numbers. All generated values come from it, so that products need not be
 * stored.
 */
export function hashPair(a: number, b: number): number {
  let hash = Math.imul(a ^ Math.imul(b, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13) ^ b, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number in [0, sides); `salt` distinguishes the values generated from the same base. */
export function roll(base: number, salt: number, sides: number): number {
  return hashPair(base, salt) % sides;
}

export function pick<const T extends readonly [unknown, ...unknown[]]>(base: number, salt: number, list: T): T[number] {
  return list[roll(base, salt, list.length)];
}

export function rollInRange(base: number, salt: number, range: Range): number {
  if (typeof range === "number") return range;
  const [lowest, highest] = range;
  return lowest + roll(base, salt, highest - lowest + 1);
}

/** A seeded random number generator with values in [0, 1) (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}
