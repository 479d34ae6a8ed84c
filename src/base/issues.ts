import type { z } from "zod";

/**
 * Says what a value in the file must be instead. Does not quote the value, which may be a secret.
 * @param value the one with the problem
 */
export function describeIssue(issue: z.core.$ZodIssue, value: unknown): string {
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
