import { ServiceError } from "../../errors.ts";
import { CsvReader, type CsvRecord } from "../../feed/csv.ts";
import { excerpt, type RejectedRow, shorten } from "../../model/import-report.ts";
import { type EntryKey, keyOf } from "../../model/presentation.ts";
import { checkEntry, textFields, valueFields } from "./entries.ts";
import type { ParsedPresentation } from "./parse.ts";

const columns = [
  "style_code",
  "line_display_seq",
  "choice_type",
  "choice_value",
  "locale",
  ...textFields,
  ...valueFields,
] as const;
type Column = (typeof columns)[number];
type Row = Partial<Readonly<Record<Column, string>>>;

/** The rows of one style, line, or choice: one for each locale, or more. */
interface Draft {
  readonly key: EntryKey;
  /** The line of the first row. */
  readonly line: number;
  /** Values and texts, as {@link checkEntry} expects them. */
  readonly values: Record<string, unknown>;
  /** The line that says a value, by its path. */
  readonly lines: Map<string, number>;
  readonly problems: RejectedRow[];
}

/**
 * Parses a presentation in CSV, with a row for each style, line, or choice and each locale.
 * @throws ServiceError `invalid_input` if the header cannot be used
 */
export function parsePresentationCsv(text: string, file: string): ParsedPresentation {
  const reader = new CsvReader(file);
  const [first, ...records] = [...reader.push(text), ...reader.end()];
  const { names, notes } = readHeader(first, file);
  const drafts = new Map<string, Draft>();
  const rejected: RejectedRow[][] = [];
  for (const record of records) {
    const problem = readRecord(record, names, file, drafts);
    if (problem !== undefined) rejected.push([{ file, line: record.line, ...problem }]);
  }
  const entries: ParsedPresentation["entries"][number][] = [];
  for (const { key, line, values, lines, problems } of drafts.values()) {
    const entry = checkEntry(key, values);
    const lineOf = (path: readonly string[]) => lines.get(path.join(".")) ?? line;
    const found = Array.isArray(entry)
      ? entry.map(({ path, reason }) => ({ file, line: lineOf(path), field: fieldOf(path), reason }))
      : [];
    if (problems.length + found.length > 0) rejected.push([...problems, ...found]);
    else if (!Array.isArray(entry)) entries.push(entry);
  }
  return { entries, rejected, notes };
}

const fieldOf = (path: readonly string[]) => shorten(path.join(".")) || "key";

function readHeader(first: CsvRecord | undefined, file: string): { names: (Column | undefined)[]; notes: string[] } {
  const expected = `expected a header with some of ${columns.join(", ")}`;
  const where = `${file}:${first?.line ?? 1}`;
  if (first === undefined) throw new ServiceError("invalid_input", `${where}: the file is empty; ${expected}`);
  if (first.problem !== undefined) {
    throw new ServiceError("invalid_input", `${where}: invalid header: ${first.problem}`);
  }
  const given = first.fields.map((name) => name.trim());
  const names = given.map((name) => columns.find((column) => column === name.toLowerCase()));
  const has = (column: Column) => names.includes(column);
  if (!has("style_code") && !(has("choice_type") && has("choice_value"))) {
    throw new ServiceError(
      "invalid_input",
      `${where}: the header needs style_code, or choice_type and choice_value; it has ${excerpt(given.join(", "))}`,
    );
  }
  const repeated = columns.find((column) => names.indexOf(column) !== names.lastIndexOf(column));
  if (repeated !== undefined) {
    throw new ServiceError("invalid_input", `${where}: the header has a duplicate column ${repeated}`);
  }
  const unknown = given.filter((name, index) => names[index] === undefined && name !== "");
  const notes = unknown.length === 0 ? [] : [`${file}: ignored unknown columns: ${excerpt(unknown.join(", "))}`];
  return { names, notes };
}

/** Adds a record to its draft. @returns why it cannot be used */
function readRecord(
  record: CsvRecord,
  names: readonly (Column | undefined)[],
  file: string,
  drafts: Map<string, Draft>,
): Pick<RejectedRow, "reason" | "text"> | undefined {
  if (record.problem !== undefined) return { reason: record.problem, text: excerpt(record.text) };
  const { fields, line } = record;
  // A spreadsheet writes blank rows like that.
  if (fields.every((field) => field.trim() === "")) return undefined;
  const shown = excerpt(fields.join(","));
  if (fields.length !== names.length) {
    return { reason: `has ${fields.length} fields, and the header ${names.length}`, text: shown };
  }
  const row: Row = Object.fromEntries(
    names.flatMap((name, index) => (name === undefined || fields[index] === "" ? [] : [[name, fields[index]]])),
  );
  const key = toKey(row);
  if (typeof key === "string") return { reason: key, text: shown };
  const id = keyOf(key);
  const draft = drafts.get(id) ?? { key, line, values: {}, lines: new Map(), problems: [] };
  drafts.set(id, draft);
  addValues(draft, row, line, file);
  return undefined;
}

/** @returns what the row describes, or why that is unclear */
function toKey({ style_code: style, line_display_seq: line, choice_type: group, choice_value: choice }: Row) {
  const isChoice = group !== undefined || choice !== undefined;
  if (isChoice && (style !== undefined || line !== undefined)) {
    return "has both a style and a choice: leave the columns of one of them empty";
  }
  if (isChoice) {
    if (group === undefined || choice === undefined) return "needs both choice_type and choice_value";
    return { group, choice };
  }
  if (style === undefined) return "needs style_code, or choice_type and choice_value";
  return line === undefined ? { style } : { style, line };
}

function addValues({ values, lines, problems }: Draft, row: Row, line: number, file: string): void {
  const { locale } = row;
  const add = (table: Record<string, unknown>, path: readonly string[], value: unknown) => {
    const field = path.join(".");
    const name = path.at(-1) ?? "";
    if (lines.has(field) && table[name] !== value) {
      problems.push({ file, line, field: fieldOf(path), reason: `differs from line ${lines.get(field)}` });
    } else if (!lines.has(field)) {
      lines.set(field, line);
      table[name] = value;
    }
  };
  for (const field of textFields) {
    const value = row[field];
    if (value === undefined) continue;
    if (locale === undefined) problems.push({ file, line, field, reason: "needs a locale in its row" });
    else {
      values[field] ??= Object.create(null);
      add(values[field] as Record<string, unknown>, [field, locale.trim()], value);
    }
  }
  for (const field of valueFields) {
    const value = row[field];
    if (value !== undefined) add(values, [field], toValue(field, value));
  }
}

const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  "1": true,
  false: false,
  no: false,
  "0": false,
};

/** The type that a cell means; a text that means none is refused when the entry is checked. */
function toValue(field: (typeof valueFields)[number], text: string): unknown {
  if (field === "limit") return /^\s*\d{1,9}\s*$/.test(text) ? Number(text) : text;
  if (field === "required" || field === "uppercase") return booleans[text.trim().toLowerCase()] ?? text;
  return text;
}
