import { type ListName, lists } from "../feed/lists.ts";
import { excerpt, type RejectedRow } from "../model/import-report.ts";
import { maxSkuLength } from "../model/personalization.ts";

/** A row's values in the order of its list's columns, all of them text and as they came. */
export interface FeedRow {
  readonly line: number;
  /** Its place among the accepted rows of the file, from 0. */
  readonly position: number;
  readonly values: readonly string[];
}

/** What a piece of a file held. */
export interface FeedPiece {
  readonly rows: readonly FeedRow[];
  readonly rejected: readonly RejectedRow[];
}

/** The rows of a piece of a file as they are taken in. */
export class Piece implements FeedPiece {
  readonly rows: FeedRow[] = [];
  readonly rejected: RejectedRow[] = [];
  readonly #list: ListName;
  readonly #file: string;
  #next: number;

  /** @param position the place of its first accepted row */
  constructor(list: ListName, file: string, position: number) {
    this.#list = list;
    this.#file = file;
    this.#next = position;
  }

  /** @param source what the values came from, to be shown if one of them is wrong */
  take(line: number, values: readonly unknown[], source: () => string): void {
    const { columns } = lists[this.#list];
    for (let index = 0; index < columns.length; index++) {
      const field = columns[index] as string;
      const reason = problemOf(values[index], field, this.#list);
      if (reason === undefined) continue;
      this.#reject({ line, field, reason }, source());
      return;
    }
    this.rows.push({ line, position: this.#next++, values: values as readonly string[] });
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
  if (value.includes("\0")) return "holds a NUL character";
  if (!value.isWellFormed()) return "holds half of a surrogate pair";
  if (field === "sku_id" && value.length > maxSkuLength) return `is longer than ${maxSkuLength} characters`;
  return undefined;
}
