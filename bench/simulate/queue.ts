/** A service time and how often it occurs. */
export interface Service {
  /** Per second. */
  readonly rate: number;
  readonly seconds: number;
}

export interface Queue {
  /** Share of the time that the server is busy. */
  readonly utilization: number;
  /** Mean wait before service; infinite if the server can't keep up. */
  readonly waitS: number;
}

/**
 * One server with random arrivals (M/G/1), by the formula of Pollaczek and Khinchine. A replica is one:
 * its event loop handles one request at a time.
 * @param variation squared coefficient of variation of each service time
 */
export function queueOf(services: readonly Service[], variation: number): Queue {
  const utilization = services.reduce((sum, { rate, seconds }) => sum + rate * seconds, 0);
  const second = services.reduce((sum, { rate, seconds }) => sum + rate * seconds ** 2 * (1 + variation), 0);
  return { utilization, waitS: utilization >= 1 ? Number.POSITIVE_INFINITY : second / (2 * (1 - utilization)) };
}

/** Latencies of a kind of requests without a queue, as quantiles at even distances, and their rate. */
export interface Latency {
  readonly rate: number;
  readonly quantilesS: readonly number[];
}

/**
 * Quantile of wait and latency together. The wait exceeds t with probability
 * utilization * e^(-utilization * t / mean wait): exact for M/M/1, and the usual approximation for M/G/1.
 */
export function latencyQuantile({ utilization, waitS }: Queue, latencies: readonly Latency[], share: number): number {
  if (utilization >= 1) return Number.POSITIVE_INFINITY;
  const total = latencies.reduce((sum, { rate }) => sum + rate, 0);
  const exceeds = (t: number): number => {
    let sum = 0;
    for (const { rate, quantilesS } of latencies) {
      let late = 0;
      for (const quantile of quantilesS) {
        if (quantile >= t) late += 1;
        else if (waitS > 0) late += utilization * Math.exp((-utilization * (t - quantile)) / waitS);
      }
      sum += (rate / total) * (late / quantilesS.length);
    }
    return sum;
  };
  let [low, high] = [0, 1e-6];
  while (exceeds(high) > 1 - share) high *= 2;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (exceeds(middle) > 1 - share) low = middle;
    else high = middle;
  }
  return high;
}
