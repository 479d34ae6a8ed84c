import type { LazyList } from "./catalog/list.ts";

/** The end of a page, with enough data to find it again after the list has changed. */
export interface CursorPosition {
  readonly id: string;
  readonly value: number;
}

/** An ordered list that supports cursors. */
export interface OrderedList<T> {
  readonly length: number;
  at(index: number): T;
  positionAt(index: number): CursorPosition;
  /**
   * Index of the first element after the position; -1 if the position belongs to another sort
   * order.
   */
  indexAfter(place: CursorPosition): number;
}

export interface PageArguments {
  readonly first?: number | null;
  readonly after?: string | null;
}

export interface Page<T> {
  readonly nodes: readonly T[];
  readonly edges: readonly { readonly node: T }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

export class InvalidCursor extends Error {
  override name = "InvalidCursor";
}

/** For children of a product: they never move, so the index is enough. */
export function pageOf<T extends { readonly id: string }>(list: LazyList<T>, args: PageArguments): Page<T> {
  const ordered: OrderedList<T> = {
    length: list.length,
    at: (index) => list.at(index),
    positionAt: (index) => ({ id: list.at(index).id, value: index + 1 }),
    indexAfter: ({ value }) => (Number.isSafeInteger(value) && value > 0 ? Math.min(value, list.length) : -1),
  };
  return toPage(ordered, args);
}

/** `end`: maximum number of elements that paging reaches; the list seems to end there. */
export function toPage<T>(list: OrderedList<T>, args: PageArguments, end = Number.POSITIVE_INFINITY): Page<T> {
  const length = Math.min(list.length, end);
  const start = args.after == null ? 0 : Math.min(indexAfter(list, args.after), length);
  const stop = Math.min(length, start + (args.first ?? length));
  const nodes = Array.from({ length: stop - start }, (_, offset) => list.at(start + offset));
  return {
    nodes,
    edges: nodes.map((node) => ({ node })),
    pageInfo: {
      hasNextPage: stop < length,
      endCursor: stop > start ? writeCursor(list.positionAt(stop - 1)) : null,
    },
  };
}

function indexAfter<T>(list: OrderedList<T>, cursor: string): number {
  const place = readCursor(cursor);
  const index = place === undefined ? -1 : list.indexAfter(place);
  if (index < 0) throw new InvalidCursor("Invalid cursor for current pagination sort.");
  return index;
}

function writeCursor(place: CursorPosition): string {
  return btoa(JSON.stringify({ last_id: place.id, last_value: place.value }));
}

function readCursor(cursor: string): CursorPosition | undefined {
  try {
    const read: unknown = JSON.parse(atob(cursor));
    if (typeof read !== "object" || read === null || !("last_id" in read) || !("last_value" in read)) return undefined;
    const { last_id: id, last_value: value } = read;
    return typeof id === "string" && typeof value === "number" ? { id, value } : undefined;
  } catch {
    return undefined;
  }
}
