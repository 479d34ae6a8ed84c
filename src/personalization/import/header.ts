import { ServiceError } from "../../base/errors.ts";
import { formatNames } from "../../base/format.ts";
import type { CsvRecord } from "../../feed/csv.ts";
import { excerpt } from "../../jobs/import-report.ts";
import { type ListName, listNames, lists } from "../lists.ts";
import type { PersonalizationOptions } from "../options.ts";

type Aliases = Pick<PersonalizationOptions, "aliases">;

export interface Header {
  /** Each column's index among the fields. */
  readonly indexes: readonly number[];
  readonly count: number;
  /** False if the first record already is a row. */
  readonly isPresent: boolean;
  readonly note?: string;
}

/**
 * Columns may have any order, any case, and aliases.
 * @param allowMissing whether to assume the contract's columns for a file without a header
 * @throws ServiceError `invalid_input` if columns are missing or duplicated
 */
export function readHeader(
  list: ListName,
  file: string,
  record: CsvRecord,
  format: Aliases,
  allowMissing: boolean,
): Header {
  const { columns } = lists[list];
  const where = `${file}:${record.line}`;
  if (record.problem !== undefined) throw invalid(`${where}: invalid header: ${record.problem}`);
  const names = record.fields.map((name) => name.trim());
  const found = names.map((name) => columnOf(list, name, format));
  const missing = columns.filter((column) => !found.includes(column));
  const other = otherList(list, names);
  if (missing.length === columns.length && names.length === columns.length && other === undefined) {
    return headerless(where, columns, names, allowMissing);
  }
  if (missing.length > 0) {
    const shown = excerpt(names.join(", ")).slice(1, -1);
    const hint = other === undefined ? "" : `; this looks like ${other}`;
    throw invalid(`${where}: the header is missing ${missing.join(", ")}; it has ${shown}${hint}`);
  }
  const duplicate = columns.find((column) => found.indexOf(column) !== found.lastIndexOf(column));
  if (duplicate !== undefined) {
    const spellings = names.filter((_, index) => found[index] === duplicate);
    const as = spellings.every((name) => name === duplicate) ? "" : ` (as ${spellings.join(" and ")})`;
    throw invalid(`${where}: the header has a duplicate column ${duplicate}${as}`);
  }
  const unknown = names.filter((_, index) => found[index] === undefined);
  return {
    indexes: columns.map((column) => found.indexOf(column)),
    count: names.length,
    isPresent: true,
    ...(unknown.length > 0 && { note: `${file}: ignored unknown columns: ${formatNames(unknown)}` }),
  };
}

function headerless(where: string, columns: readonly string[], names: readonly string[], isAllowed: boolean): Header {
  const expected = columns.join(", ");
  if (!isAllowed) {
    const first = excerpt(names.join(", "));
    throw invalid(
      `${where}: no header: the first line is ${first}, expected ${expected}; use --force to read the columns in that order`,
    );
  }
  const note = `${where}: no header; columns read as ${expected}`;
  return { indexes: [...columns.keys()], count: columns.length, isPresent: false, note };
}

/** Ignores case, and accepts aliases. */
export function columnOf(list: ListName, name: string, format: Aliases): string | undefined {
  const lowerCase = name.toLowerCase();
  return lists[list].columns.find((column) => namesOf(column, format).includes(lowerCase));
}

const namesOf = (column: string, { aliases }: Aliases): string[] => [
  column,
  ...(aliases[column] ?? []).map((alias) => alias.trim().toLowerCase()),
];

/** Detects a repeated header, as in concatenated files: each value is a name of its column. */
export function createHeaderTest(list: ListName, format: Aliases): (values: readonly string[]) => boolean {
  const columns = lists[list].columns.map((column) => {
    const names = namesOf(column, format);
    return { names, shortest: Math.min(...names.map((name) => name.length)) };
  });
  // The last columns are least likely to look like a name, so they come first.
  const tests = columns.map((column, index) => ({ ...column, index })).reverse();
  return (values) => {
    for (const { names, shortest, index } of tests) {
      const value = values[index] ?? "";
      if (value.length < shortest || !names.includes(value.trim().toLowerCase())) return false;
    }
    return true;
  };
}

function otherList(list: ListName, names: readonly string[]): ListName | undefined {
  const lowerCase = names.map((name) => name.toLowerCase());
  const match = listNames.find((candidate) => lists[candidate].columns.every((column) => lowerCase.includes(column)));
  return match === list ? undefined : match;
}

function invalid(message: string): ServiceError {
  return new ServiceError("invalid_input", message);
}
