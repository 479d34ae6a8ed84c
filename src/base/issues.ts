import { z } from "zod";
import type { KeyPath } from "./toml.ts";

/** The path begins at the checked value. */
export type Problem =
  | { readonly path: KeyPath; readonly reason: string }
  /** The last key of the path is unknown. */
  | { readonly path: KeyPath; readonly validKeys: readonly string[] };

/** `data` is undefined if there are problems. */
export function checkValue<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { readonly data: z.output<Schema> | undefined; readonly problems: readonly Problem[] } {
  // Each file is checked once, which takes less time than compiling a validator.
  const { data, error } = schema.safeParse(value, { jitless: true });
  const problems = (error?.issues ?? []).flatMap((issue): Problem[] => {
    const path = issue.path as KeyPath;
    if (issue.code !== "unrecognized_keys") return [{ path, reason: describeIssue(issue, valueAt(value, path)) }];
    const validKeys = keysAt(schema, path);
    return issue.keys.map((key) => ({ path: [...path, key], validKeys }));
  });
  return { data, problems };
}

const valueAt = (root: unknown, path: KeyPath) =>
  path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root);

function keysAt(schema: z.core.$ZodType | undefined, path: KeyPath): readonly string[] {
  const [key, ...rest] = path;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return keysAt(schema.unwrap(), path);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => keysAt(option, path));
  if (schema instanceof z.ZodArray) return keysAt(schema.element, rest);
  if (schema instanceof z.ZodRecord)
    return schema.keyType instanceof z.ZodEnum ? schema.keyType.options.map(String) : [];
  if (!(schema instanceof z.ZodObject)) return [];
  return key === undefined ? Object.keys(schema.shape) : keysAt(schema.shape[key], rest);
}

/** Does not quote the value, which may be a secret. */
function describeIssue(issue: z.core.$ZodIssue, value: unknown): string {
  if (value === undefined) return "is missing";
  switch (issue.code) {
    case "invalid_type":
      return `expected ${nouns[issue.expected] ?? issue.expected}`;
    case "too_small":
      return isNumber(issue.origin)
        ? `expected at least ${issue.minimum}`
        : "expected at least one, not an empty value";
    case "too_big":
      return `expected at most ${issue.maximum}`;
    case "invalid_value":
      return `expected ${issue.values.map((each) => JSON.stringify(each)).join(" or ")}`;
    default:
      return issue.message;
  }
}

const isNumber = (origin: string) => origin === "number" || origin === "int";

const nouns: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  map: "a table",
  number: "a number",
  object: "a table",
  record: "a table",
  string: "a text",
};
