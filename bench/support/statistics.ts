/** The smallest value that is not exceeded by the given share of the values, from 0 to 1. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;
}

export const median = (values: readonly number[]) => percentile(values, 0.5);

/** The median, and from three values on the 95 % interval of it, for a table. */
export function interval(values: readonly number[]): string {
  const shown = median(values).toFixed(2);
  if (values.length < 3) return shown;
  // Resampled: the distribution of a ratio is not known.
  const medians = Array.from({ length: 2000 }, () =>
    median(values.map(() => values[Math.floor(Math.random() * values.length)] as number)),
  );
  return `${shown} (${percentile(medians, 0.025).toFixed(2)} to ${percentile(medians, 0.975).toFixed(2)})`;
}

const rounds = 12;
const warmUpRounds = 2;

/**
 * Interleaves measurements in rounds, each of which returns durations.
 * @returns the median of the round medians of each
 */
export async function compareMedians(measurements: readonly (() => Promise<readonly number[]>)[]): Promise<number[]> {
  const medians: number[][] = measurements.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, measure] of measurements.entries()) {
      const durations = await measure();
      if (round >= warmUpRounds) medians[index]?.push(median(durations));
    }
  }
  return medians.map(median);
}
