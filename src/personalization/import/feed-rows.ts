import { ServiceError } from "../../base/errors.ts";
import { excerpt } from "../../jobs/import-report.ts";
import { decodeText, encodeInto, readUint32, writeUint32 } from "../bytes.ts";
import { type ListName, lists } from "../lists.ts";
import { NameTable, tooManyNames } from "../name-table.ts";
import { maxLineBytes, writeLine } from "../packed-lines.ts";
import { RowSorter } from "./row-sorter.ts";
import type { FeedRow } from "./rows.ts";
import type { SortedGroup } from "./sorted-runs.ts";

/** A SKU, style, or choice group is in memory as a whole. A larger one means a damaged feed. */
const maxRowsOfGroup = 100_000;
const maxMegabytesOfGroup = 4;

/** Each row is preceded by its line in the file. */
const lineBytes = 4;

const skuOfLine = lists.pzlines.columns.indexOf("sku_id");
const styleOfLine = lists.pzlines.columns.indexOf("style_code");
const sequenceOfLine = lists.pzlines.columns.indexOf("style_display_seq");
const statusOfLine = lists.pzlines.columns.indexOf("style_sku_status");

/**
 * The rows of a feed, grouped: lines by SKU, styles by code, choices by group. Add the lists in the
 * order choices, styles, lines.
 */
export class FeedRows implements AsyncDisposable {
  /** Numbers the styles: first those with rows, in order, then those that only lines name. */
  readonly styleNames = new NameTable();
  definedStyles = 0;
  lastStyle = 0;
  count = 0;
  readonly #sorters: Readonly<Record<ListName, RowSorter>> = {
    pzchoices: new RowSorter(),
    pzstyles: new RowSorter(),
    pzlines: new RowSorter(),
  };
  readonly #files: Readonly<Record<ListName, { readonly name: string }>>;

  /** @param files whose names appear in messages */
  constructor(files: Readonly<Record<ListName, { readonly name: string }>>) {
    this.#files = files;
  }

  /**
   * Call it before the first line is added.
   * @throws ServiceError `invalid_input` if a style has too many rows, or there are too many styles
   */
  numberStyles(): void {
    for (const { key, content } of this.groups("pzstyles")) {
      this.styleNames.addBytes(key);
      if (this.styleNames.isFull) throw this.#tooManyStyles("pzstyles", readUint32(content, 0));
    }
    this.definedStyles = this.styleNames.size;
  }

  /**
   * @throws ServiceError `invalid_input` if there are too many styles; `unavailable` if the
   *   temporary folder is full
   */
  add(list: ListName, row: FeedRow): void {
    if (list === "pzlines") this.#addLine(row);
    else this.#addText(list, row);
    this.count++;
  }

  /** The file and line, for messages. */
  place(list: ListName, line: number): string {
    return `${this.#files[list].name}:${line}`;
  }

  #tooManyStyles(list: ListName, line: number): ServiceError {
    return tooManyNames(this.styleNames, this.place(list, line), "style codes");
  }

  #addLine({ line, values }: FeedRow): void {
    const sorter = this.#sorters.pzlines;
    const [sequence, status] = [values[sequenceOfLine] as string, values[statusOfLine] as string];
    const offset = sorter.reserve(values[skuOfLine] as string, lineBytes + maxLineBytes(sequence, status));
    this.lastStyle = this.styleNames.add(values[styleOfLine] as string);
    if (this.styleNames.isFull) throw this.#tooManyStyles("pzlines", line);
    writeUint32(sorter.bytes, offset, line);
    sorter.commit(writeLine(sorter.bytes, offset + lineBytes, this.lastStyle, sequence, status));
  }

  #addText(list: "pzstyles" | "pzchoices", { line, values }: FeedRow): void {
    const sorter = this.#sorters[list];
    const text = JSON.stringify(values);
    const offset = sorter.reserve(values[0] as string, 2 * lineBytes + 3 * text.length);
    const start = offset + 2 * lineBytes;
    const end = encodeInto(sorter.bytes, start, text);
    writeUint32(sorter.bytes, offset, line);
    writeUint32(sorter.bytes, offset + lineBytes, end - start);
    sorter.commit(end);
  }

  /** @throws ServiceError `unavailable` if the temporary folder is full */
  finish(list: ListName): void {
    this.#sorters[list].finish();
  }

  /** @throws ServiceError `invalid_input` if a group has too many rows */
  groups(list: ListName): Generator<SortedGroup> {
    return this.#sorters[list].groups({
      rows: maxRowsOfGroup,
      bytes: maxMegabytesOfGroup * 2 ** 20,
      refuse: (key, content) => {
        const [field] = lists[list].key;
        throw new ServiceError(
          "invalid_input",
          `${this.place(list, readUint32(content, 0))}: ${field} ${excerpt(decodeText(key))} begins here, and has more than ${maxRowsOfGroup} rows or ${maxMegabytesOfGroup} MB`,
        );
      },
    });
  }

  /** Frees the memory and the file of a list. */
  release(list: ListName): Promise<void> {
    return this.#sorters[list][Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const sorter of Object.values(this.#sorters)) await sorter[Symbol.asyncDispose]();
  }
}
