import { decodeText, encodeInto } from "./bytes.ts";

/** Memory for the examples of all names. Names that come later have fewer or none. */
const maxExampleBytes = 24 * 2 ** 20;
/** An example: the offset of the one before (4 bytes), its length (2), its text. */
const headBytes = 6;

/** Counts how often numbered names are used, and keeps the first users of each as examples. */
export class UsageCounter {
  readonly #maxExamples: number;
  #counts = new Uint32Array(1024);
  /** By number: one more than the offset of the last example; 0 without one. */
  #last = new Uint32Array(1024);
  #bytes = new Uint8Array(65_536);
  #view = new DataView(this.#bytes.buffer);
  #end = 0;

  /** @param maxExamples examples that are kept of each name */
  constructor(maxExamples: number) {
    this.#maxExamples = maxExamples;
  }

  add(number: number, user: string): void {
    this.#makeRoomFor(number);
    const count = this.countOf(number) + 1;
    this.#counts[number] = count;
    if (count > this.#maxExamples || !this.#hasRoomFor(user)) return;
    const start = this.#end;
    this.#end = encodeInto(this.#bytes, start + headBytes, user);
    this.#view.setUint32(start, this.#last[number] as number);
    this.#view.setUint16(start + 4, this.#end - start - headBytes);
    this.#last[number] = start + 1;
  }

  countOf(number: number): number {
    return this.#counts[number] ?? 0;
  }

  /** The first users, in the order in which they were added. */
  examplesOf(number: number): string[] {
    const examples: string[] = [];
    for (let next = this.#last[number] ?? 0; next > 0; ) {
      const start = next - 1 + headBytes;
      examples.push(decodeText(this.#bytes, start, start + this.#view.getUint16(next + 3)));
      next = this.#view.getUint32(next - 1);
    }
    return examples.reverse();
  }

  #makeRoomFor(number: number): void {
    if (number < this.#counts.length) return;
    const size = Math.max(this.#counts.length * 2, number + 1);
    const [counts, last] = [new Uint32Array(size), new Uint32Array(size)];
    counts.set(this.#counts);
    last.set(this.#last);
    [this.#counts, this.#last] = [counts, last];
  }

  #hasRoomFor(user: string): boolean {
    const needed = this.#end + headBytes + 3 * user.length;
    if (needed <= this.#bytes.length) return true;
    if (needed > maxExampleBytes) return false;
    const larger = new Uint8Array(Math.min(Math.max(this.#bytes.length * 2, needed), maxExampleBytes));
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
    return true;
  }
}
