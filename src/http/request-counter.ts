/** Upper bounds of the histogram's buckets, in seconds: from a cache hit to a timed-out request. */
export const durationBounds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

export interface Durations {
  readonly route: string;
  readonly method: string;
  readonly status: number;
  /** Responses per bucket, not cumulative; the last bucket has no upper bound. */
  readonly buckets: Float64Array;
  sumS: number;
}

/** Other methods share one label, because clients can invent any number of them. */
const methods = new Set(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]);

/** Runs for every request, so it avoids the metrics library. */
export class RequestCounter {
  readonly #routes: RouteCounter[] = [];

  /** @param route template, such as `/api/v1/products/:id` */
  route(route: string): RouteCounter {
    const counter = new RouteCounter(route);
    this.#routes.push(counter);
    return counter;
  }

  list(): Durations[] {
    return this.#routes.flatMap((route) => route.list());
  }
}

export class RouteCounter {
  readonly #route: string;
  readonly #methods = new Map<string, Map<number, Durations>>();

  constructor(route: string) {
    this.#route = route;
  }

  count(method: string, status: number, seconds: number): void {
    const durations =
      this.#methods.get(method)?.get(status) ?? this.#add(methods.has(method) ? method : "other", status);
    let bucket = 0;
    while (bucket < durationBounds.length && seconds > (durationBounds[bucket] as number)) bucket++;
    durations.buckets[bucket] = (durations.buckets[bucket] as number) + 1;
    durations.sumS += seconds;
  }

  list(): Durations[] {
    return [...this.#methods.values()].flatMap((statuses) => [...statuses.values()]);
  }

  #add(method: string, status: number): Durations {
    const buckets = new Float64Array(durationBounds.length + 1);
    const none: Durations = { route: this.#route, method, status, buckets, sumS: 0 };
    return this.#methods.getOrInsertComputed(method, () => new Map()).getOrInsert(status, none);
  }
}
