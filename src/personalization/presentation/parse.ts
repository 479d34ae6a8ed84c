import { ServiceError } from "../../base/errors.ts";
import { truncate } from "../../base/format.ts";
import { suggest } from "../../base/suggest.ts";
import { isTable, parseToml, type TomlFile, type TomlTable } from "../../base/toml.ts";
import { TextDecoding } from "../../feed/decode.ts";
import { readBytes } from "../../feed/file.ts";
import { excerpt, type RejectedRow } from "../../jobs/import-report.ts";
import { checkEntry, maxLocales, sortEntries } from "./entries.ts";
import { type EntryKey, listLocales, type PresentationEntry } from "./entry.ts";

export interface ParsedPresentation {
  readonly entries: readonly PresentationEntry[];
  /** The problems of each entry that is not used. */
  readonly rejected: readonly (readonly RejectedRow[])[];
}

/** Every serving process keeps it in memory. Parsing 4 MB takes the job 740 MB. */
const maxBytes = 4 * 2 ** 20;

/**
 * @param name the name for messages
 * @param onRead receives the bytes as stored
 * @throws ServiceError `invalid_input` if the file as a whole cannot be used
 */
export async function readPresentation(
  path: string,
  name: string,
  onRead?: (bytes: Uint8Array) => void,
): Promise<ParsedPresentation> {
  const decoding = new TextDecoding(name);
  let text = "";
  let bytes = 0;
  for await (const chunk of readBytes(path, { name, ...(onRead && { onRead }) })) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ServiceError("invalid_input", `${name}: expected a presentation of at most 4 MB`);
    text += decoding.push(chunk);
  }
  text += decoding.end();
  const { entries, rejected } = new TomlPresentation(text, name);
  const locales = listLocales(entries);
  if (locales.length > maxLocales) {
    throw new ServiceError(
      "invalid_input",
      `${name}: has ${locales.length} locales; at most ${maxLocales} are possible`,
    );
  }
  return { entries: sortEntries(entries), rejected };
}

/** Reads `[styles.CODE]`, `[styles.CODE.lines.SEQUENCE]`, and `[choices.GROUP.VALUE]`. */
class TomlPresentation implements ParsedPresentation {
  readonly entries: ParsedPresentation["entries"][number][] = [];
  readonly rejected: RejectedRow[][] = [];
  readonly #file: string;
  readonly #toml: TomlFile;

  constructor(text: string, file: string) {
    this.#file = file;
    this.#toml = parseToml(text, file, "invalid_input");
    const { styles = {}, choices = {}, ...others } = this.#toml.values;
    for (const name of Object.keys(others)) {
      this.#reject([name], `${excerpt(name)} is not a table of a presentation; ${suggest(name, tables, "tables")}`);
    }
    for (const [style, value, path] of this.#tablesIn(styles, ["styles"])) {
      const { lines = {}, ...rest } = value;
      this.#add({ style }, rest, path);
      for (const [line, rules, linePath] of this.#tablesIn(lines, [...path, "lines"])) {
        this.#add({ style, line }, rules, linePath);
      }
    }
    for (const [group, value, path] of this.#tablesIn(choices, ["choices"])) {
      for (const [choice, look, choicePath] of this.#tablesIn(value, path))
        this.#add({ group, choice }, look, choicePath);
    }
  }

  /** Each with its name and its path. */
  *#tablesIn(value: unknown, path: readonly string[]): Generator<[string, TomlTable, string[]]> {
    if (!isTable(value)) return this.#reject(path, "expected a table");
    for (const [name, inner] of Object.entries(value)) {
      if (isTable(inner)) yield [name, inner, [...path, name]];
      else this.#reject([...path, name], "expected a table");
    }
  }

  #add(key: EntryKey, values: TomlTable, path: readonly string[]): void {
    const entry = checkEntry(key, values);
    if (!Array.isArray(entry)) {
      // A table that only contains others is no entry.
      if (Object.keys(values).length > 0) this.entries.push(entry);
      return;
    }
    this.rejected.push(entry.map((problem) => this.#toRow([...path, ...problem.path], problem.reason)));
  }

  #reject(path: readonly string[], reason: string): void {
    this.rejected.push([this.#toRow(path, reason)]);
  }

  #toRow(path: readonly string[], reason: string): RejectedRow {
    const line = this.#toml.locate(path)?.line ?? 1;
    return { file: this.#file, line, field: truncate(path.map(toTomlKey).join("."), 200), reason };
  }
}

const tables = ["styles", "choices"];

/** A key as it is written in TOML. */
export const toTomlKey = (key: string) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key));
