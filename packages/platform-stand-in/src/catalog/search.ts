import { compareIds } from "./ids.ts";
import type { ProductStatus } from "./records.ts";

/** Seconds since 1970, inclusive. */
export interface Interval {
  readonly from: number;
  readonly to: number;
}

export interface Candidate {
  readonly id: string;
  readonly createdAt: number;
  readonly status: ProductStatus;
}

export interface ProductSearch {
  /** Separate from the tests because the catalog has an index by it. */
  readonly updated: Interval;
  readonly tests: readonly ((candidate: Candidate) => boolean)[];
}

/**
 * A search that the stand-in does not support. The platform ignores such terms with a warning,
 * which clients must not rely on.
 */
export class SearchNotSupported extends Error {
  override name = "SearchNotSupported";
}

const term = /\s*(?:AND\s+)?(\w+):(>=|<=|>|<)?('[^']*'|"[^"]*"|[^\s'"]+)\s*/y;
const always: Interval = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

/**
 * Supports the part of the search syntax that clients of products need: updated_at, created_at,
 * status, id; AND.
 */
export function parseSearch(query: string | null | undefined): ProductSearch {
  let updated = always;
  const tests: ((candidate: Candidate) => boolean)[] = [];
  for (const { field, operator, value } of readTerms(query)) {
    if (field === "updated_at") updated = intersect(updated, toInterval(operator, value));
    else if (field === "created_at") tests.push(within(toInterval(operator, value), ({ createdAt }) => createdAt));
    else if (field === "status") tests.push(({ status }) => value.toUpperCase().split(",").includes(status));
    else if (field === "id") tests.push(({ id }) => holds(operator, compareIds(id, value)));
    else throw new SearchNotSupported(`does not know the search term "${field}"`);
  }
  return { updated, tests };
}

export interface Term {
  readonly field: string;
  readonly operator: string;
  readonly value: string;
}

export function readTerms(query: string | null | undefined): Term[] {
  const terms: Term[] = [];
  const text = query?.trim() ?? "";
  term.lastIndex = 0;
  while (term.lastIndex < text.length) {
    const at = term.lastIndex;
    const match = term.exec(text);
    if (match === null) throw new SearchNotSupported(`cannot read the search "${text.slice(at)}"`);
    const [, field = "", operator = "", quoted = ""] = match;
    terms.push({ field, operator, value: quoted.replace(/^['"]|['"]$/g, "") });
  }
  return terms;
}

/** The platform compares whole seconds. */
export function toInterval(operator: string, value: string): Interval {
  const seconds = Date.parse(value) / 1000;
  if (Number.isNaN(seconds)) throw new SearchNotSupported(`"${value}" is not a date`);
  if (operator === ">=") return { ...always, from: Math.ceil(seconds) };
  if (operator === ">") return { ...always, from: Math.floor(seconds) + 1 };
  if (operator === "<=") return { ...always, to: Math.floor(seconds) };
  if (operator === "<") return { ...always, to: Math.ceil(seconds) - 1 };
  return { from: Math.floor(seconds), to: Math.floor(seconds) };
}

function intersect(a: Interval, b: Interval): Interval {
  return { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
}

export function within<Item>({ from, to }: Interval, secondsOf: (item: Item) => number): (item: Item) => boolean {
  return (item) => secondsOf(item) >= from && secondsOf(item) <= to;
}

function holds(operator: string, comparison: number): boolean {
  if (operator === ">") return comparison > 0;
  if (operator === ">=") return comparison >= 0;
  if (operator === "<") return comparison < 0;
  if (operator === "<=") return comparison <= 0;
  return comparison === 0;
}
