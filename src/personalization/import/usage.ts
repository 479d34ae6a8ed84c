import { decodeText, encodeInto, grow, readUint32, writeUint32 } from "../bytes.ts";
import { RowSorter } from "./row-sorter.ts";
import type { SortedGroup } from "./sorted-runs.ts";

/** When it is full, the examples are written to a file. */
const exampleBytes = 4 * 2 ** 20;
/** Each example is preceded by its length. */
const headBytes = 4;

/**
 * Counts uses of numbered names, and keeps the first users of each. An index of lines by style
 * could replace it, but made imports into an embedded store four to five times slower.
 */
export class UsageCounter implements AsyncDisposable {
  readonly #maxExamples: number;
  #counts = new Uint32Array(1024);
  readonly #examples: RowSorter;
  #groups: Generator<SortedGroup> | undefined;

  constructor(maxExamples: number, memoryBytes = exampleBytes) {
    this.#maxExamples = maxExamples;
    this.#examples = new RowSorter(memoryBytes);
  }

  /** @throws ServiceError `unavailable` if the temporary folder is full */
  add(number: number, user: string): void {
    const count = this.countOf(number);
    if (count < this.#maxExamples) {
      const sorter = this.#examples;
      const offset = sorter.reserve(toKey(number), headBytes + 3 * user.length);
      const end = encodeInto(sorter.bytes, offset + headBytes, user);
      writeUint32(sorter.bytes, offset, end - offset - headBytes);
      sorter.commit(end);
    }
    if (number >= this.#counts.length) {
      this.#counts = grow(this.#counts, new Uint32Array(Math.max(this.#counts.length * 2, number + 1)));
    }
    this.#counts[number] = count + 1;
  }

  countOf(number: number): number {
    return this.#counts[number] ?? 0;
  }

  /** The first users, in insertion order. Call it for ascending numbers, once all users are added. */
  takeExamplesOf(number: number): string[] {
    if (this.countOf(number) === 0) return [];
    if (this.#groups === undefined) {
      this.#examples.finish();
      this.#groups = this.#examples.groups();
    }
    const key = toKey(number);
    for (let next = this.#groups.next(); !next.done; next = this.#groups.next()) {
      if (decodeText(next.value.key) === key) return toTexts(next.value.content);
    }
    return [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#groups?.return(undefined);
    await this.#examples[Symbol.asyncDispose]();
  }
}

/** Orders keys like their numbers. */
const toKey = (number: number) => number.toString(36).padStart(7, "0");

function toTexts(content: Uint8Array): string[] {
  const texts: string[] = [];
  for (let at = 0; at < content.length; ) {
    const end = at + headBytes + readUint32(content, at);
    texts.push(decodeText(content, at + headBytes, end));
    at = end;
  }
  return texts;
}
