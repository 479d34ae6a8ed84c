/**
 * A list that creates its elements on access, so that a page of 50 variants does not create the
 * other 1,998.
 */
export interface LazyList<T> {
  readonly length: number;
  at(index: number): T;
}

export function fromArray<T>(items: readonly T[]): LazyList<T> {
  return {
    length: items.length,
    at: (index) => {
      const item = items[index];
      if (item === undefined) throw new RangeError(`no element ${index} in a list of ${items.length}`);
      return item;
    },
  };
}

export function toArray<T>(list: LazyList<T>): T[] {
  return Array.from({ length: list.length }, (_, index) => list.at(index));
}
