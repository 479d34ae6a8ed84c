import type { ValueNode } from "graphql";
import type { ErrorEntry } from "./errors.ts";
import type { PricedConnection, PricedField, PricePlan } from "./price-plan.ts";

/** On every plan of the platform. */
export const singleQueryLimit = 1_000;
const mutationCost = 10;

export type Variables = Readonly<Record<string, unknown>>;

export function priceRequested(plan: PricePlan, variables: Variables): number {
  return plan.isMutation ? plan.rootFields * mutationCost : highestCost(plan.fields, variables);
}

/** Computed from the sizes in the response; the rest of the requested cost is refunded. */
export function priceActual(plan: PricePlan, data: unknown): number {
  return plan.isMutation ? plan.rootFields * mutationCost : Math.round(spent(plan.fields, data));
}

/** Derived from recorded responses: the cost of a list grows with the logarithm of its size. */
export function connectionFactor(size: number): number {
  return Math.floor(2 * Math.log(Math.max(2, size)));
}

/** The highest cost among the possible types. */
function highestCost(fields: readonly PricedField[], variables: Variables): number {
  const priceOfType = new Map<string, number>();
  let highest = 0;
  for (const field of fields) {
    const price = requested(field, variables);
    for (const type of field.on) {
      const total = (priceOfType.get(type) ?? 0) + price;
      priceOfType.set(type, total);
      highest = Math.max(highest, total);
    }
  }
  return highest;
}

function requested(field: PricedField, variables: Variables): number {
  const each = field.cost + highestCost(field.children, variables);
  return field.connection === undefined
    ? each
    : 2 + each * connectionFactor(sizeOf(field.connection.size, variables) ?? 0);
}

function spent(fields: readonly PricedField[], data: unknown): number {
  let total = 0;
  for (const field of fields) {
    const value = read(data, field.key);
    // An absent key belongs to a fragment on another type; recorded responses do charge for a null.
    if (value === undefined) continue;
    total += field.connection === undefined ? field.cost + spentInside(field, value) : spentOnList(field, value);
  }
  return total;
}

function spentInside(field: PricedField, value: unknown): number {
  if (field.children.length === 0) return 0;
  if (!Array.isArray(value)) return spent(field.children, value);
  return Math.max(0, ...value.map((element) => spent(field.children, element)));
}

function spentOnList(field: PricedField, value: unknown): number {
  const nodes = field.connection === undefined ? [] : nodesOf(field.connection, value);
  if (nodes.length === 0) return 2;
  let inside = 0;
  if (field.children.length > 0) for (const node of nodes) inside += spent(field.children, node);
  return 2 + (field.cost + inside / nodes.length) * connectionFactor(nodes.length);
}

function nodesOf(connection: PricedConnection, value: unknown): readonly unknown[] {
  if (connection.nodes !== undefined) return toList(read(value, connection.nodes));
  const { edges } = connection;
  return edges === undefined ? [] : toList(read(value, edges.key)).map((edge) => read(edge, edges.node));
}

/** The requested page size; undefined if there is none. */
function sizeOf(size: ValueNode | undefined, variables: Variables): number | undefined {
  if (size?.kind === "IntValue") return Number(size.value);
  const value = size?.kind === "Variable" ? variables[size.name.value] : undefined;
  return typeof value === "number" ? value : undefined;
}

const maxPage = 250;

/**
 * The first connection with a missing or too large page size; the platform then rejects the whole
 * query.
 */
export function findBadPageSize(fields: readonly PricedField[], variables: Variables): ErrorEntry | undefined {
  for (const field of fields) {
    const found = field.connection === undefined ? undefined : checkSize(field, variables);
    const problem = found ?? findBadPageSize(field.children, variables);
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

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function read(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
