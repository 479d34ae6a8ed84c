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
export function addObject(batch: RowBatch, fieldNames: FieldNames, document: JsonDocument): void {
  const { line, text } = document;
  const values = readValues(fieldNames, document);
  if (typeof values === "string") batch.reject(line, values, text);
  else batch.add(line, values, () => text);
}

/** @returns the values in the order of the columns, or why there are none */
function readValues(fieldNames: FieldNames, { text, fields, value: parsed }: JsonDocument): unknown[] | string {
  let row: unknown;
  try {
    row = parsed ?? JSON.parse(text);
  } catch {
    return "invalid JSON";
  }
  if (typeof row !== "object" || row === null || Array.isArray(row)) return "expected a JSON object";
  const entries = Object.entries(row);
  // The parser keeps only the last of several fields with the same name.
  if (entries.length !== fields) return `has the field ${excerpt(findRepeatedField(text))} more than once`;
  const values: unknown[] = fieldNames.columns.map(() => undefined);
  for (const [name, value] of entries) {
    const index = fieldNames.indexOf(name);
    if (index < 0) continue;
    if (values[index] !== undefined) return `has the field ${fieldNames.columns[index]} more than once`;
    values[index] = value;
  }
  return values;
}
