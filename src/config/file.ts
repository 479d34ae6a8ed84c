import { existsSync, readFileSync } from "node:fs";
import { hideCredentials } from "../credentials.ts";
import { ServiceError } from "../errors.ts";

/**
 * The keys that lead to a value in the file, such as `["jobs", "personalization-import", 1,
 * "source"]`.
 */
export type KeyPath = readonly (string | number)[];

/** A settings file. */
export interface SettingsFile {
  readonly path: string;
  readonly text: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Reads a TOML file; a missing file is empty.
 * @throws ServiceError `invalid_setting` if the file is required and missing, or is not TOML
 */
export function readSettingsFile(path: string, isRequired: boolean): SettingsFile {
  if (!existsSync(path)) {
    if (isRequired) throw invalidSetting(`PDS_CONFIG is ${path}, but this file does not exist`);
    return { path, text: "", values: {} };
  }
  const text = readText(path);
  try {
    return { path, text, values: Bun.TOML.parse(text) as Record<string, unknown> };
  } catch (cause) {
    // The parser quotes the text at the error, which may be a secret.
    const reason = (cause as Error).message.replace(/"[^"]*"/g, "…").replace("TOML Parse error: ", "invalid TOML: ");
    throw invalidSetting(`${path}:${findSyntaxError(text)}: ${reason}`, cause);
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw invalidSetting(`${path}: ${(cause as Error).message}`, cause);
  }
}

/**
 * Returns the line, counted from 1, where the first invalid statement starts. The parser does not
 * report it, so this is the line after the longest valid beginning of the file.
 */
function findSyntaxError(text: string): number {
  const lines = text.split("\n");
  let valid = lines.length - 1;
  while (valid > 0 && !isToml(lines.slice(0, valid).join("\n"))) valid--;
  return valid + 1;
}

function isToml(text: string): boolean {
  try {
    Bun.TOML.parse(text);
    return true;
  } catch {
    return false;
  }
}

export function invalidSetting(message: string, cause?: unknown): ServiceError {
  return new ServiceError("invalid_setting", hideCredentials(message), { cause });
}

/** Returns `pds.toml:12`, or only the name of the file if the line is unknown. */
export function locate({ path, text }: SettingsFile, place: KeyPath): string {
  const line = findLine(text, place);
  return line === undefined ? path : `${path}:${line}`;
}

const headerPattern = /^\s*\[(\[?)([^[\]=]+)\]\]?\s*(?:#.*)?$/;
const keyPattern = /^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=/;

/** Returns the line, counted from 1, of a value or of the closest table or list around it. */
function findLine(text: string, place: KeyPath): number | undefined {
  // The lines of a multiline string look like keys and tables.
  if (/"""|'''/.test(text)) return undefined;
  const counts = new Map<string, number>();
  let table: KeyPath = [];
  let found = { line: 0, depth: 0 };
  for (const [index, line] of text.split("\n").entries()) {
    const [, isList, header] = line.match(headerPattern) ?? [];
    const [, key] = header === undefined ? (line.match(keyPattern) ?? []) : [];
    if (header !== undefined) table = toTable(header, isList !== "", counts);
    else if (key === undefined) continue;
    const path = key === undefined ? table : [...table, ...splitKey(key)];
    const depth = Math.min(path.length, place.length);
    const isSame = path.slice(0, depth).every((part, position) => part === place[position]);
    if (isSame && depth > found.depth) found = { line: index + 1, depth };
  }
  return found.depth === 0 ? undefined : found.line;
}

/** Returns the path of a `[table]` or `[[list.of.tables]]`, with the indexes of the lists in it. */
function toTable(header: string, isList: boolean, counts: Map<string, number>): KeyPath {
  const keys = splitKey(header);
  const name = (length: number) => keys.slice(0, length).join(".");
  if (isList) counts.set(name(keys.length), (counts.get(name(keys.length)) ?? 0) + 1);
  return keys.flatMap((key, index) => {
    const count = counts.get(name(index + 1));
    return count === undefined ? [key] : [key, count - 1];
  });
}

const splitKey = (key: string) => key.split(".").map((part) => part.trim().replace(/^["']|["']$/g, ""));

/**
 * Returns the end of a message about an unknown name: the most similar valid name, or all of them.
 */
export function suggest(name: string, valid: readonly string[], noun: string): string {
  const byDistance = valid
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate) }))
    .sort((a, b) => a.distance - b.distance);
  const [closest] = byDistance;
  return closest !== undefined && closest.distance <= Math.max(1, name.length / 3)
    ? `did you mean ${JSON.stringify(closest.candidate)}?`
    : `the ${noun} are ${valid.join(", ")}`;
}

/**
 * Returns the number of characters to insert, delete, or replace, and of neighbors to swap, to turn
 * one text into the other.
 */
function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= to.length; column++) {
      const replaced = at(row - 1, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = isSwap ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY;
      rows[row]?.push(Math.min(replaced, swapped, at(row - 1, column) + 1, at(row, column - 1) + 1));
    }
  }
  return at(from.length, to.length);
}
