/** A hash of 53 bits: fast, not cryptographic, and unlikely to collide among millions of names. */
export function fingerprintOf(name: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index < name.length; index++) {
    const character = name.charCodeAt(index);
    a = Math.imul(a ^ character, 2654435761);
    b = Math.imul(b ^ character, 1597334677);
  }
  // Marks the end with a value that is no UTF-16 unit. Stored fingerprints include it.
  a = Math.imul(a ^ 0x10000, 2654435761);
  b = Math.imul(b ^ 0x10000, 1597334677);
  const c = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  const d = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  const high = Math.imul(c ^ (c >>> 15), 2654435761) ^ (d >>> 7);
  const low = Math.imul(d ^ (d >>> 15), 1597334677) ^ (c >>> 9);
  return (high >>> 0) * 2 ** 21 + (low >>> 11);
}

/** SKUs, styles, and choice groups contain no NUL, so this cannot collide with their names. */
export const presentationFingerprint = (brand: string) => fingerprintOf(`presentation\0${brand}`);
