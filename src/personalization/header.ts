import type { PersonalizationOptions } from "../config/index.ts";
import { ServiceError } from "../errors.ts";
import type { CsvRecord } from "../feed/csv.ts";
import { type ListName, listNames, lists } from "../feed/lists.ts";
import { excerpt } from "../model/import-report.ts";

type Aliases = Pick<PersonalizationOptions, "aliases">;

/** Where a list's columns stand in a record. */
export interface Header {
  readonly indexes: readonly number[];
  /** How many fields a record has. */
  readonly count: number;
  /** Whether the first record is one, and not the first row. */
  readonly isThere: boolean;
  /** What is worth knowing about it. */
  readonly note?: string;
}

/**
 * Reads the first record of a file as its header: in any order and case, by the columns' names or their aliases.
 * @param mayBeMissing whether a file without header is read with the columns in the contract's order
 * @throws ServiceError `invalid_input`, naming what the header lacks or has twice.
 */
export function readHeader(
  list: ListName,
  file: string,
  record: CsvRecord,
  format: Aliases,
  mayBeMissing: boolean,
): Header {
  const { columns } = lists[list];
  const where = `${file}:${record.line}`;
  if (record.problem !== undefined) throw invalid(`${where}: the header: ${record.problem}`);
  const names = record.fields.map((name) => name.trim());
  const found = names.map((name) => columnOf(list, name, format));
  const missing = columns.filter((column) => !found.includes(column));
  const other = otherList(list, names);
  if (missing.length === columns.length && names.length === columns.length && other === undefined) {
    const expected = columns.join(", ");
    const note = `${where}: there is no header, so the columns were read as ${expected}`;
    if (mayBeMissing) return { indexes: [...columns.keys()], count: columns.length, isThere: false, note };
    const first = excerpt(names.join(", "));
    throw invalid(
      `${where}: there is no header: the first line is ${first}, expected ${expected}; forced, the columns are read in that order`,
    );
  }
  if (missing.length > 0) {
    const shown = excerpt(names.join(", ")).slice(1, -1);
    const hint = other === undefined ? "" : `: it looks like ${other}`;
    throw invalid(`${where}: the header lacks ${missing.join(", ")}; it has ${shown}${hint}`);
  }
  const twice = columns.find((column) => found.indexOf(column) !== found.lastIndexOf(column));
  if (twice !== undefined) {
    const spelled = names.filter((_, index) => found[index] === twice);
    const as = spelled.every((name) => name === twice) ? "" : ` (as ${spelled.join(" and ")})`;
    throw invalid(`${where}: the header has ${twice} twice${as}`);
  }
  const unknown = names.filter((_, index) => found[index] === undefined);
  return {
    indexes: columns.map((column) => found.indexOf(column)),
    count: names.length,
    isThere: true,
    ...(unknown.length > 0 && { note: `${file}: unknown columns, left out: ${shortened(unknown)}` }),
  };
}

/** The list's column that a name means, if any. */
export function columnOf(list: ListName, name: string, { aliases }: Aliases): string | undefined {
  const folded = name.toLowerCase();
  return lists[list].columns.find(
    (column) => column === folded || aliases[column]?.some((alias) => alias.trim().toLowerCase() === folded),
  );
}

/** The list that has this header, where that is another one. */
function otherList(list: ListName, names: readonly string[]): ListName | undefined {
  const folded = names.map((name) => name.toLowerCase());
  const whole = listNames.find((candidate) => lists[candidate].columns.every((column) => folded.includes(column)));
  return whole === list ? undefined : whole;
}

/** Names that came from outside, as many and as much of them as a message bears. */
export function shortened(names: readonly string[]): string {
  const shown = names.slice(0, 10).map((name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name));
  return names.length > shown.length ? `${shown.join(", ")} and ${names.length - shown.length} more` : shown.join(", ");
}

function invalid(message: string): ServiceError {
  return new ServiceError("invalid_input", message);
}
