import { z } from "zod";
import type { KeyPath } from "../base/toml.ts";
import { type OperatorToken, operatorName, tokenSchema } from "../operators/tokens.ts";
import type { SettingsFile } from "./file.ts";
import type { SettingProblems } from "./problems.ts";
import { parseTable } from "./table.ts";

const tableSchema = z.custom<Readonly<Record<string, unknown>>>(isTable, "expected a table");
const adminSchema = z.strictObject({ tokens: tableSchema.optional() });

/** @param value the table `admin` of the file */
export function parseTokens(value: unknown, file: SettingsFile, problems: SettingProblems): OperatorToken[] {
  if (value === undefined) return [];
  parseTable(adminSchema, value, { toFilePath: (path) => ["admin", ...path] }, file, problems);
  const found: OperatorToken[] = [];
  const tokens = isTable(value) && isTable(value.tokens) ? value.tokens : {};
  for (const [name, given] of Object.entries(tokens)) {
    const token = parseToken(name, given, file, problems);
    const same = found.find(({ sha256 }) => sha256 === token?.sha256);
    if (same !== undefined) {
      const path = ["admin", "tokens", name];
      problems.add(() => `${file.locate(path)}: ${path.join(".")}: is the token of ${same.name} too; create another`);
    } else if (token !== undefined) found.push(token);
  }
  return found;
}

function parseToken(
  name: string,
  given: unknown,
  file: SettingsFile,
  problems: SettingProblems,
): OperatorToken | undefined {
  const table: KeyPath = ["admin", "tokens", name];
  try {
    operatorName(name);
  } catch (error) {
    problems.add(() => `${file.locate(table)}: ${table.join(".")}: ${(error as Error).message}`);
    return undefined;
  }
  const data = parseTable(tokenSchema, given, { toFilePath: (path) => [...table, ...path] }, file, problems);
  return data && { name, ...data };
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
