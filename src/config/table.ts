import type { z } from "zod";
import { checkValue } from "../base/issues.ts";
import { suggest } from "../base/suggest.ts";
import type { KeyPath } from "../base/toml.ts";
import type { SettingsFile } from "./file.ts";
import { quote, type SettingProblems } from "./problems.ts";

interface TableNames {
  /** Maps a path in the value to its path in the file. */
  readonly toFilePath: (path: KeyPath) => KeyPath;
  /** The noun for the keys of a table if not `a setting of [TABLE]`, and its plural. */
  readonly nameKeys?: (table: KeyPath) => readonly [string, string] | undefined;
}

/** @returns undefined if the value is invalid; its problems are added to `problems` */
export function parseTable<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { toFilePath, nameKeys }: TableNames,
  file: SettingsFile,
  problems: SettingProblems,
): z.output<Schema> | undefined {
  const checked = checkValue(schema, value);
  for (const problem of checked.problems) {
    problems.add(() => {
      const path = toFilePath(problem.path);
      const place = file.locate(path);
      if ("reason" in problem) return `${place}: ${path.join(".")}: ${problem.reason}`;
      const key = String(path.at(-1));
      const table = path.slice(0, -1);
      const [kind, noun] = nameKeys?.(table) ?? [`a setting of [${table.join(".")}]`, "settings"];
      return `${place}: ${quote(key)} is not ${kind}; ${suggest(key, problem.validKeys, noun)}`;
    });
  }
  return checked.data;
}
