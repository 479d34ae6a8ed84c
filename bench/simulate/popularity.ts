/** Objects that are requested equally often. */
export interface Class {
  readonly count: number;
  /** Share of the requests that each object gets. */
  readonly share: number;
}

/** The most requested objects have a class each; of the others, ranks that differ by 2 % share one. */
const exactRanks = 500;
const widening = 1.02;

/**
 * Popularity by Zipf's law: the nth object is requested n^-skew as often as the first. Classes keep
 * the work small for any number of objects.
 * @param skew 0 for objects that are all requested equally often
 */
export function zipfClasses(objects: number, skew: number): Class[] {
  const classes: { count: number; weight: number }[] = [];
  for (let rank = 1; rank <= objects; ) {
    const width = rank < exactRanks ? 1 : Math.max(1, Math.floor(rank * (widening - 1)));
    const count = Math.min(width, objects - rank + 1);
    classes.push({ count, weight: (rank + (count - 1) / 2) ** -skew });
    rank += count;
  }
  const sum = classes.reduce((total, { count, weight }) => total + count * weight, 0);
  return classes.map(({ count, weight }) => ({ count, share: weight / sum }));
}
