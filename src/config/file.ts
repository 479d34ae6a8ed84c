import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { formatPlace, type KeyPath, parseToml, type TomlTable } from "../base/toml.ts";
import { invalidSetting } from "./problems.ts";

export interface SettingsFile {
  readonly exists: boolean;
  readonly values: TomlTable;
  /** Returns `pds.toml:12:3`, or only the name of the file if the position is unknown. */
  locate(place: KeyPath): string;
}

/**
 * Settings take a few kilobytes, so a larger file is probably the wrong one. In a file of this size,
 * problems are located within a second.
 */
const maxBytes = 256 * 1024;

/**
 * Reads a TOML file. A missing file counts as empty.
 * @throws ServiceError `invalid_setting` if the file is required and missing, or is not TOML
 */
export function readSettingsFile(path: string, isRequired: boolean): SettingsFile {
  const found = readText(path, isRequired);
  const { values, locate } = parseToml(found ?? "", path, "invalid_setting");
  return { exists: found !== undefined, values, locate: (place) => formatPlace(path, locate(place)) };
}

/** @returns undefined if the file does not exist */
function readText(path: string, isRequired: boolean): string | undefined {
  const name = path === "" ? "PDS_CONFIG" : path;
  const explain = <T>(read: () => T): T => {
    try {
      return read();
    } catch (cause) {
      throw invalidSetting(`${name}: ${(cause as Error).message}`, cause);
    }
  };
  const stat = explain(() => statSync(path, { throwIfNoEntry: false }));
  if (stat === undefined) {
    if (isRequired) throw invalidSetting(`${name}: the file of the settings does not exist`);
    return undefined;
  }
  if (stat.isDirectory()) throw invalidSetting(`${name}: expected a file, not a folder`);
  if (stat.size > maxBytes) throw invalidSetting(`${name}: expected settings of at most 256 kB`);
  const bytes = explain(() => readFileSync(path));
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  throw invalidSetting(`${name}:${findInvalidLine(bytes)}: expected UTF-8 text`);
}

/** Returns the first line, counted from 1, that is not UTF-8. */
function findInvalidLine(bytes: Buffer): number {
  let line = 1;
  for (let start = 0; ; line++) {
    const end = bytes.indexOf("\n", start);
    if (end < 0 || !isUtf8(bytes.subarray(start, end))) return line;
    start = end + 1;
  }
}
