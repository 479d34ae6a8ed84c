import { decodeText, encodeInto, grow, readUint32 } from "../bytes.ts";
import { compareSequence, type ListName, lists } from "../lists.ts";
import { LineCursor } from "../packed-lines.ts";
import type { FeedRows } from "./feed-rows.ts";
import type { FeedRow } from "./rows.ts";

/**
 * @param earlier line of the replaced row
 * @param key the key's two values
 */
export type OnDuplicate = (line: number, earlier: number, key: () => readonly [string, string]) => void;

/** The lines are in display order. */
export interface SkuGroup {
  /** Number of rows in the feed, including replaced ones. */
  readonly read: number;
  /** In UTF-8. Valid until the next group. */
  readonly key: Uint8Array;
  readonly lines: Uint8Array;
  /** Numbers of its styles. Valid until the next group. */
  readonly styles: readonly number[];
}

/** In order. Of lines with the same style, the last one counts. */
export function* readSkus(rows: FeedRows, onDuplicate: OnDuplicate): Generator<SkuGroup> {
  const packer = new LinePacker();
  for (const { rows: read, key, content } of rows.groups("pzlines")) {
    const lines = packer.pack(content, (line, earlier, style) =>
      onDuplicate(line, earlier, () => [decodeText(key), rows.styleNames.nameOf(style)]),
    );
    yield { read, key, lines, styles: packer.styles };
  }
}

/** Sorts the lines of one SKU. Reuses its arrays, because there are millions of SKUs. */
class LinePacker {
  readonly #cursor = new LineCursor();
  #count = 0;
  #isInOrder = true;
  /** Styles of the lines that count. */
  styles: number[] = [];
  readonly #feedLines: number[] = [];
  readonly #styles: number[] = [];
  /** -1 for a line that a later one replaced. */
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  /** -1 for a text. */
  readonly #sequences: number[] = [];
  readonly #places = new Map<number, number>();

  pack(content: Uint8Array, onDuplicate: (line: number, earlier: number, style: number) => void): Uint8Array {
    this.#read(content, onDuplicate);
    const order = this.#isInOrder ? undefined : this.#sort(content);
    let length = 0;
    for (let index = 0; index < this.#count; index++) {
      if (this.#starts[index] !== -1) length += (this.#ends[index] as number) - (this.#starts[index] as number);
    }
    const packed = new Uint8Array(length);
    this.styles = [];
    let end = 0;
    for (let place = 0; place < this.#count; place++) {
      const index = order === undefined ? place : (order[place] as number);
      const start = this.#starts[index] as number;
      if (start === -1) continue;
      this.styles.push(this.#styles[index] as number);
      for (let at = start; at < (this.#ends[index] as number); at++) packed[end++] = content[at] as number;
    }
    return packed;
  }

  #read(content: Uint8Array, onDuplicate: (line: number, earlier: number, style: number) => void): void {
    const cursor = this.#cursor.reset(content);
    this.#isInOrder = true;
    this.#places.clear();
    let index = 0;
    for (; !cursor.isAtEnd; index++) {
      const feedLine = readUint32(content, cursor.end);
      cursor.end += 4;
      cursor.next();
      const { style, plainSequence } = cursor;
      this.#feedLines[index] = feedLine;
      this.#styles[index] = style;
      this.#starts[index] = cursor.start;
      this.#ends[index] = cursor.end;
      this.#sequences[index] = plainSequence;
      const earlier = this.#findEarlier(style, index);
      if (earlier >= 0) {
        onDuplicate(feedLine, this.#feedLines[earlier] as number, style);
        this.#starts[earlier] = -1;
        this.#isInOrder = false;
      }
      if (plainSequence < 0 || (index > 0 && plainSequence < (this.#sequences[index - 1] as number))) {
        this.#isInOrder = false;
      }
    }
    this.#count = index;
  }

  /** The index of the line with this style that counts so far; -1 if there is none. */
  #findEarlier(style: number, index: number): number {
    // Comparing a few lines is faster than looking them up.
    if (index < 16) {
      for (let place = 0; place < index; place++) {
        if (this.#styles[place] === style && this.#starts[place] !== -1) return place;
      }
      return -1;
    }
    if (index === 16) {
      for (let place = 0; place < 16; place++) {
        if (this.#starts[place] !== -1) this.#places.set(this.#styles[place] as number, place);
      }
    }
    const earlier = this.#places.get(style) ?? -1;
    this.#places.set(style, index);
    return earlier;
  }

  #sort(content: Uint8Array): number[] {
    const sequences = Array.from({ length: this.#count }, (_, index) => {
      const plain = this.#sequences[index] as number;
      if (plain >= 0) return `${plain}`;
      const start = this.#starts[index] as number;
      if (start === -1) return "";
      this.#cursor.reset(content, start).next();
      return this.#cursor.sequence;
    });
    const indexes = Array.from(sequences.keys());
    return indexes.sort((one, other) => compareSequence(sequences[one] as string, sequences[other] as string));
  }
}

/** The rows are in display order. */
export interface TextGroup {
  /** Number of rows in the feed, including replaced ones. */
  readonly read: number;
  readonly name: string;
  /** In UTF-8. Valid until the next group. */
  readonly key: Uint8Array;
  readonly rows: readonly FeedRow[];
}

/** In order. Of rows with the same key, the last one counts. */
export function* readTextGroups(
  rows: FeedRows,
  list: "pzstyles" | "pzchoices",
  onDuplicate: OnDuplicate,
): Generator<TextGroup> {
  const { columns, key: keyColumns } = lists[list];
  const second = columns.indexOf(keyColumns[1]);
  const sequence = columns.findIndex((column) => column.endsWith("_seq"));
  for (const { rows: read, key, content } of rows.groups(list)) {
    const last = new Map<string, FeedRow>();
    let name = "";
    for (let at = 0; at < content.length; ) {
      const end = at + 8 + readUint32(content, at + 4);
      const row = { line: readUint32(content, at), values: JSON.parse(decodeText(content, at + 8, end)) as string[] };
      at = end;
      name = row.values[0] as string;
      const value = row.values[second] as string;
      const earlier = last.get(value);
      if (earlier !== undefined) {
        onDuplicate(row.line, earlier.line, () => [row.values[0] as string, value]);
        // The later row also takes the later position.
        last.delete(value);
      }
      last.set(value, row);
    }
    const inOrder = [...last.values()].sort((one, other) =>
      compareSequence(one.values[sequence] as string, other.values[sequence] as string),
    );
    yield { read, name, key, rows: inOrder };
  }
}

/** JSON text before each value of an object. */
const prefixesOf = (list: ListName) =>
  lists[list].columns.map((column, index) => `${index === 0 ? "{" : ","}${JSON.stringify(column)}:`);
const prefixes = { pzstyles: prefixesOf("pzstyles"), pzchoices: prefixesOf("pzchoices") };

export function toJsonRows(list: "pzstyles" | "pzchoices", rows: readonly FeedRow[]): Uint8Array {
  let bytes = new Uint8Array(256 * rows.length);
  let end = 0;
  for (const { values } of rows) {
    let text = end === 0 ? "" : ",";
    for (let index = 0; index < values.length; index++) text += prefixes[list][index] + JSON.stringify(values[index]);
    text += "}";
    const needed = end + 3 * text.length;
    if (needed > bytes.length) bytes = grow(bytes, new Uint8Array(bytes.length + needed));
    end = encodeInto(bytes, end, text);
  }
  return bytes.slice(0, end);
}
