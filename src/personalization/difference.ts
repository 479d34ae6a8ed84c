import type { Queryable } from "../database/database.ts";
import { compareBytes, equalBytes, grow } from "./bytes.ts";
import { type StyleCode, type Walked, walkFragments, walkSkus, walkStyleCodes } from "./generation-walk.ts";
import { NameTable } from "./name-table.ts";
import { LineCursor } from "./packed-lines.ts";

/** Keys are in UTF-8; keys and contents are valid only during the call. */
export interface DifferenceVisitor {
  added(key: Uint8Array, after: Uint8Array): void;
  changed(key: Uint8Array, before: Uint8Array, after: Uint8Array): void;
  removed(key: Uint8Array, before: Uint8Array): void;
}

type IsSame = (before: Uint8Array, after: Uint8Array) => boolean;

/** Compares entries, added in the order of their keys, with those of a generation. */
export class OrderedComparison {
  added = 0;
  changed = 0;
  removed = 0;
  readonly #pages: AsyncIterator<readonly Walked[]>;
  readonly #visitor: DifferenceVisitor;
  readonly #isSame: IsSame;
  #page: readonly Walked[] = [];
  #index = 0;
  #isAtEnd = false;

  constructor(before: AsyncGenerator<readonly Walked[]>, visitor: DifferenceVisitor, isSame: IsSame = equalBytes) {
    this.#pages = before;
    this.#visitor = visitor;
    this.#isSame = isSame;
  }

  /** @returns false if {@link loadPage} must be called first */
  tryAdd(key: Uint8Array, after: Uint8Array): boolean {
    for (;;) {
      const before = this.#page[this.#index];
      if (before === undefined && !this.#isAtEnd) return false;
      const order = before === undefined ? 1 : compareKeys(before.key, key);
      if (before === undefined || order > 0) {
        this.added++;
        this.#visitor.added(key, after);
        return true;
      }
      this.#index++;
      if (order === 0) {
        if (this.#isSame(before.content, after)) return true;
        this.changed++;
        this.#visitor.changed(key, before.content, after);
        return true;
      }
      this.#remove(before);
    }
  }

  async loadPage(): Promise<void> {
    const { value, done } = await this.#pages.next();
    this.#page = done === true ? [] : value;
    this.#index = 0;
    this.#isAtEnd = done === true;
  }

  /** Counts the remaining entries as removed. */
  async finish(): Promise<void> {
    while (!this.#isAtEnd) {
      for (; this.#index < this.#page.length; this.#index++) this.#remove(this.#page[this.#index] as Walked);
      await this.loadPage();
    }
  }

  #remove({ key, content }: Walked): void {
    this.removed++;
    this.#visitor.removed(key, content);
  }
}

const compareKeys = (one: Uint8Array, other: Uint8Array) => compareBytes(one, 0, one.length, other, 0, other.length);

export type EntryKind = "skus" | "styles" | "groups";

export async function compareGenerations(
  database: Queryable,
  kind: EntryKind,
  from: number,
  to: number,
  visitor: DifferenceVisitor,
): Promise<void> {
  const walk = (generation: number) =>
    kind === "skus" ? walkSkus(database, generation) : walkFragments(database, generation, kind);
  const isSame =
    kind === "skus"
      ? await createLineComparison(walkStyleCodes(database, from), await readStyleNames(database, to))
      : equalBytes;
  const comparison = new OrderedComparison(walk(from), visitor, isSame);
  for await (const page of walk(to)) {
    for (const { key, content } of page) while (!comparison.tryAdd(key, content)) await comparison.loadPage();
    await Bun.sleep(0);
  }
  await comparison.finish();
}

async function readStyleNames(database: Queryable, generation: number): Promise<NameTable> {
  const names = new NameTable();
  for await (const page of walkStyleCodes(database, generation)) for (const { code } of page) names.addBytes(code);
  return names;
}

/**
 * Compares packed lines that number styles differently.
 * @param codes all styles of the generation of the lines before
 * @param names the styles of the lines after
 */
export async function createLineComparison(codes: AsyncIterable<StyleCode[]>, names: NameTable): Promise<IsSame> {
  let isIdentity = true;
  // Indexed by number in the generation; 0 means no style.
  let numbers = new Uint32Array(1024);
  for await (const page of codes) {
    for (const { number, code } of page) {
      const other = names.findBytes(code);
      if (number >= numbers.length) {
        numbers = grow(numbers, new Uint32Array(Math.max(numbers.length * 2, number + 1)));
      }
      numbers[number] = other;
      isIdentity &&= other === number;
    }
  }
  if (isIdentity) return equalBytes;
  const [one, other] = [new LineCursor(), new LineCursor()];
  return (before, after) => {
    one.reset(before);
    other.reset(after);
    while (!one.isAtEnd && !other.isAtEnd) {
      one.next();
      other.next();
      const isSame =
        numbers[one.style] === other.style &&
        equalBytes(before.subarray(one.sequenceStart, one.end), after.subarray(other.sequenceStart, other.end));
      if (!isSame) return false;
    }
    return one.isAtEnd && other.isAtEnd;
  };
}
