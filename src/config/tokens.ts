import { z } from "zod";
import { suggest } from "../base/suggest.ts";
import { adminOperator, type OperatorToken, roles, sha256 } from "../model/operator.ts";
import type { SettingsFile } from "./file.ts";
import { describeIssue } from "./issues.ts";
import type { Problems } from "./problems.ts";
import type { KeyPath } from "./toml.ts";

const tokenSchema = z.strictObject({
  sha256: z
    .string()
    .regex(/^[\da-f]{64}$/, "expected the SHA-256 of a token, 64 hexadecimal digits, as pds token create prints it")
    .refine(
      (digest) => digest !== sha256(""),
      "this is the SHA-256 of an empty text; create a token with pds token create",
    ),
  role: z.enum(roles),
});

/** Log lines, audit records, and pages show the name. */
const validName = /^[\w.@+-]{1,50}$/;

/** @throws Error that says which names are valid */
export function operatorName(text: string): string {
  if (validName.test(text) && text !== adminOperator) return text;
  throw new Error(
    `expected a name of 1 to 50 ASCII letters, digits, and characters of _.@+-, but not ${adminOperator}`,
  );
}

/** @param value the table `admin` of the file */
export function parseTokens(value: unknown, file: SettingsFile, problems: Problems): OperatorToken[] {
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

interface TokenSettings {
  readonly adminToken: string;
  readonly tokens: readonly OperatorToken[];
}

/** Lists the tokens that the admin listener accepts; none if it needs none. */
export function listTokens({ adminToken, tokens }: TokenSettings): readonly OperatorToken[] {
  if (adminToken === "") return tokens;
  return [{ name: adminOperator, role: "operate", sha256: sha256(adminToken) }, ...tokens];
}
