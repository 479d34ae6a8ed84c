import { findRepeatedField, type JsonDocument } from "../../feed/json.ts";
import { excerpt } from "../../jobs/import-report.ts";
import { type ListName, lists } from "../lists.ts";
import type { PersonalizationOptions } from "../options.ts";
import { columnOf } from "./header.ts";
import type { RowBatch } from "./rows.ts";

/** Maps field names to column indexes, and looks each name up only once. */
export class FieldNames {
  readonly columns: readonly string[];
  readonly #list: ListName;
  readonly #format: Pick<PersonalizationOptions, "aliases">;
  /** -1 for an unknown name. */
  readonly #indexes = new Map<string, number>();

  constructor(list: ListName, format: Pick<PersonalizationOptions, "aliases">) {
    this.columns = lists[list].columns;
    this.#list = list;
    this.#format = format;
    this.columns.forEach((column, index) => {
      this.#indexes.set(column, index);
    });
  }

  get size(): number {
    return this.#indexes.size;
  }

  /** @returns -1 if no column has this name */
  indexOf(name: string): number {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    const index = this.columns.indexOf(columnOf(this.#list, name, this.#format) ?? "");
    this.#indexes.set(name, index);
    return index;
  }

  listUnknown(): string[] {
    return [...this.#indexes].flatMap(([name, index]) => (index < 0 ? [name] : []));
  }
}

/** Adds an object as a row, or rejects it. */
export function addObject(batch: RowBatch, fieldNames: FieldNames, { text, line, fields, value }: JsonDocument): void {
  let row: unknown;
  try {
    row = value ?? JSON.parse(text);
  } catch {
    batch.reject(line, "invalid JSON", text);
    return;
  }
  if (typeof row !== "object" || row === null || Array.isArray(row)) {
    batch.reject(line, "expected a JSON object", text);
    return;
  }
  const entries = Object.entries(row);
  // The parser keeps only the last of several fields with the same name.
  if (entries.length !== fields) {
    batch.reject(line, `has the field ${excerpt(findRepeatedField(text))} more than once`, text);
    return;
  }
  const values: unknown[] = fieldNames.columns.map(() => undefined);
  for (const [name, value] of entries) {
    const index = fieldNames.indexOf(name);
    if (index < 0) continue;
    if (values[index] !== undefined) {
      batch.reject(line, `has the field ${fieldNames.columns[index]} more than once`, text);
      return;
    }
    values[index] = value;
  }
  batch.add(line, values, () => text);
}
