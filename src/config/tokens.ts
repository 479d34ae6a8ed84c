import { describeIssue } from "../base/issues.ts";
import { suggest } from "../base/suggest.ts";
import type { KeyPath } from "../base/toml.ts";
import { type OperatorToken, operatorName, tokenSchema } from "../operators/tokens.ts";
import type { SettingsFile } from "./file.ts";
import type { SettingProblems } from "./problems.ts";

/** @param value the table `admin` of the file */
export function parseTokens(value: unknown, file: SettingsFile, problems: SettingProblems): OperatorToken[] {
  if (value === undefined) return [];
  const add: AddProblem = (path, problem) =>
    problems.add(() => `${file.locate(path)}: ${path.join(".")}: ${problem()}`);
  if (!isTable(value)) {
    add(["admin"], () => "expected a table");
    return [];
  }
  for (const key of Object.keys(value).filter((key) => key !== "tokens")) {
    add(["admin", key], () => `is not a setting; ${suggest(key, ["tokens"], "settings")}`);
  }
  const { tokens = {} } = value;
  if (!isTable(tokens)) {
    add(["admin", "tokens"], () => "expected a table");
    return [];
  }
  const found: OperatorToken[] = [];
  for (const [name, given] of Object.entries(tokens)) {
    const token = parseToken(name, given, add);
    const same = found.find(({ sha256 }) => sha256 === token?.sha256);
    if (same !== undefined) add(["admin", "tokens", name], () => `is the token of ${same.name} too; create another`);
    else if (token !== undefined) found.push(token);
  }
  return found;
}

type AddProblem = (path: KeyPath, problem: () => string) => void;

function parseToken(name: string, given: unknown, add: AddProblem): OperatorToken | undefined {
  const path: KeyPath = ["admin", "tokens", name];
  try {
    operatorName(name);
  } catch (error) {
    add(path, () => (error as Error).message);
    return undefined;
  }
  const { data, error } = tokenSchema.safeParse(given, { jitless: true });
  for (const issue of error?.issues ?? []) {
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) {
        add([...path, key], () => `is not a setting of a token; ${suggest(key, ["sha256", "role"], "settings")}`);
      }
    } else {
      const [key] = issue.path;
      const value = key === undefined ? given : (given as Record<string, unknown>)[String(key)];
      add([...path, ...(issue.path as KeyPath)], () => describeIssue(issue, value));
    }
  }
  return data && { name, ...data };
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
