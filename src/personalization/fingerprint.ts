/**
 * A 64-bit hash, as two halves, of a sequence of texts. Fast but not cryptographic; collisions
 * among millions of keys are unlikely.
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
    // Separates texts with a value that is no UTF-16 unit: "ab", "c" must differ from "a", "bc".
    this.#a = Math.imul(a ^ 0x10000, 2654435761);
    this.#b = Math.imul(b ^ 0x10000, 1597334677);
    return this;
  }

  /** Sets the two halves to the hash of the texts added since the reset. More texts may follow. */
  take(): this {
    const a = Math.imul(this.#a ^ (this.#a >>> 16), 2246822507) ^ Math.imul(this.#b ^ (this.#b >>> 13), 3266489909);
    const b = Math.imul(this.#b ^ (this.#b >>> 16), 2246822507) ^ Math.imul(this.#a ^ (this.#a >>> 13), 3266489909);
    this.high = Math.imul(a ^ (a >>> 15), 2654435761) ^ (b >>> 7);
    this.low = Math.imul(b ^ (b >>> 15), 1597334677) ^ (a >>> 9);
    return this;
  }
}

/** A name's fingerprint: 53 bits of its hash, as a number. */
export function fingerprintOf(name: string): number {
  const { high, low } = sharedHash.reset().add(name).take();
  return toFingerprint(high, low);
}

/** The fingerprint of a brand's presentation. SKUs, styles, and choice groups contain no NUL. */
export const presentationFingerprint = (brand: string) => fingerprintOf(`presentation\0${brand}`);

const sharedHash = new Hash();

/** Combines the two halves of a hash into a fingerprint. */
const toFingerprint = (high: number, low: number) => (high >>> 0) * 2 ** 21 + (low >>> 11);
