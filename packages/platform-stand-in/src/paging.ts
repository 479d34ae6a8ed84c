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
  readonly last?: number | null;
  readonly after?: string | null;
  readonly before?: string | null;
}

export interface Page<T> {
  readonly nodes: readonly T[];
  readonly edges: readonly { readonly node: T; readonly cursor: string }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

export class InvalidCursor extends Error {
  override name = "InvalidCursor";
}

/** For children of a product: they never move, so the index is enough. */
export function byPosition<T extends { readonly id: string }>(list: LazyList<T>): OrderedList<T> {
  return {
    length: list.length,
    at: (index) => list.at(index),
    positionAt: (index) => ({ id: list.at(index).id, value: index + 1 }),
    indexAfter: ({ value }) => (Number.isSafeInteger(value) && value > 0 ? Math.min(value, list.length) : -1),
  };
}

/** `end`: maximum number of elements that paging reaches; the list seems to end there. */
export function toPage<T>(list: OrderedList<T>, args: PageArguments, end = Number.POSITIVE_INFINITY): Page<T> {
  const length = Math.min(list.length, end);
  let start = args.after == null ? 0 : Math.min(indexAfter(list, args.after), length);
  let stop = args.before == null ? length : Math.max(start, Math.min(indexAfter(list, args.before) - 1, length));
  if (args.first != null) stop = Math.min(stop, start + args.first);
  else if (args.last != null) start = Math.max(start, stop - args.last);

  const nodes = Array.from({ length: stop - start }, (_, offset) => list.at(start + offset));
  const cursorAt = (index: number) => writeCursor(list.positionAt(index));
  return {
    nodes,
    get edges() {
      return nodes.map((node, offset) => ({ node, cursor: cursorAt(start + offset) }));
    },
    pageInfo: {
      hasNextPage: stop < length,
      hasPreviousPage: start > 0,
      startCursor: stop > start ? cursorAt(start) : null,
      endCursor: stop > start ? cursorAt(stop - 1) : null,
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
