import { z } from "zod";
import { isTable, type KeyPath } from "../base/toml.ts";
import { type OperatorToken, operatorName, tokenSchema } from "../operators/tokens.ts";
import type { SettingsFile } from "./file.ts";
import type { SettingProblems } from "./problems.ts";
import { parseTable } from "./table.ts";

const tableSchema = z.custom(isTable, "expected a table");
const adminSchema = z.strictObject({ tokens: tableSchema.optional() });

/** @param value the table `admin` of the file */
export function parseTokens(value: unknown, file: SettingsFile, problems: SettingProblems): OperatorToken[] {
  if (value === undefined) return [];
  parseTable(adminSchema, value, { toFilePath: (path) => ["admin", ...path] }, file, problems);
  const found: OperatorToken[] = [];
  const tokens = isTable(value) && isTable(value.tokens) ? value.tokens : {};
  for (const [name, given] of Object.entries(tokens)) {
    const table: KeyPath = ["admin", "tokens", name];
    const add = (reason: string) => problems.add(() => `${file.locate(table)}: ${table.join(".")}: ${reason}`);
    try {
      operatorName(name);
    } catch (error) {
      add((error as Error).message);
      continue;
    }
    const token = parseTable(tokenSchema, given, { toFilePath: (path) => [...table, ...path] }, file, problems);
    const same = found.find(({ sha256 }) => sha256 === token?.sha256);
    if (same !== undefined) add(`is the token of ${same.name} too; create another`);
    else if (token !== undefined) found.push({ name, ...token });
  }
  return found;
}
