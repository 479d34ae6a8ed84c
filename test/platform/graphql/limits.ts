import { sizeOf, type Variables } from "./cost.ts";
import type { ErrorEntry } from "./errors.ts";
import type { PricedField, PricePlan } from "./price-plan.ts";

const maxPage = 250;

/** The first connection whose page is too large or of no stated size; the platform then answers nothing at all. */
export function findBadPageSize(plan: PricePlan, variables: Variables): ErrorEntry | undefined {
  return findIn(plan.fields, variables);
}

function findIn(fields: readonly PricedField[], variables: Variables): ErrorEntry | undefined {
  for (const field of fields) {
    const found = field.connection === undefined ? undefined : checkSize(field, variables);
    const problem = found ?? findIn(field.children, variables);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function checkSize(field: PricedField, variables: Variables): ErrorEntry | undefined {
  const size = field.connection && sizeOf(field.connection.size, variables);
  if (size === undefined) return refuse(field, "you must provide one of first or last");
  if (size < 0) return refuse(field, "first cannot be negative");
  return size > maxPage ? refuse(field, `first cannot exceed ${maxPage}`) : undefined;
}

function refuse(field: PricedField, message: string): ErrorEntry {
  return { message, path: [field.key], extensions: { code: "BAD_REQUEST" } };
}
