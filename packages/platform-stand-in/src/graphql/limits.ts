import { sizeOf, type Variables } from "./cost.ts";
import type { ErrorEntry } from "./errors.ts";
import type { PricedField, PricePlan } from "./price-plan.ts";

const maxPage = 250;

/**
 * The first connection with a missing or too large page size; the platform then rejects the whole
 * query.
 */
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
  if (size === undefined) return reject(field, "you must provide one of first or last");
  if (size < 0) return reject(field, "first cannot be negative");
  return size > maxPage ? reject(field, `first cannot exceed ${maxPage}`) : undefined;
}

function reject(field: PricedField, message: string): ErrorEntry {
  return { message, path: [field.key], extensions: { code: "BAD_REQUEST" } };
}
