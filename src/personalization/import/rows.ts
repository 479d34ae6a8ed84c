import { isLonger } from "../../base/format.ts";
import { excerpt, type RejectedRow } from "../../jobs/import-report.ts";
import { keyFields, type ListName, lists, maxKeyBytes, maxSkuLength } from "../lists.ts";

/** A row's values as unchanged text, in the list's order of columns. */
export interface FeedRow {
  readonly line: number;
  readonly values: readonly string[];
}

export class RowBatch {
  readonly rows: FeedRow[] = [];
  readonly rejected: RejectedRow[] = [];
  readonly #list: ListName;
  readonly #file: string;

  constructor(list: ListName, file: string) {
    this.#list = list;
    this.#file = file;
  }

  /** @param source returns the row's text, for a message */
  add(line: number, values: readonly unknown[], source: () => string): void {
    const { columns } = lists[this.#list];
    for (let index = 0; index < columns.length; index++) {
      const field = columns[index] as string;
      const reason = problemOf(values[index], field, this.#list);
      if (reason === undefined) continue;
      this.#reject({ line, field, reason }, source());
      return;
    }
    this.rows.push({ line, values: values as readonly string[] });
  }

  reject(line: number, reason: string, text?: string): void {
    this.#reject({ line, reason }, text);
  }

  #reject(problem: Omit<RejectedRow, "file">, text: string | undefined): void {
    this.rejected.push({ file: this.#file, ...problem, ...(text !== undefined && { text: excerpt(text) }) });
  }
}

function problemOf(value: unknown, field: string, list: ListName): string | undefined {
  if (value === undefined) return "is missing";
  if (typeof value !== "string") return `expected text, got ${JSON.stringify(value).slice(0, 80)}`;
  if (value === "" && (lists[list].key as readonly string[]).includes(field)) return "is empty";
  if (value.includes("\0")) return "contains a NUL character";
  if (!value.isWellFormed()) return "contains an unpaired surrogate";
  if (field === "sku_id" && isLonger(value, maxSkuLength)) return `is longer than ${maxSkuLength} characters`;
  // A UTF-16 unit takes at most three bytes.
  if (value.length * 3 > maxKeyBytes && keyFields.has(field) && Buffer.byteLength(value) > maxKeyBytes) {
    return `is longer than ${maxKeyBytes} bytes in UTF-8`;
  }
  return undefined;
}
