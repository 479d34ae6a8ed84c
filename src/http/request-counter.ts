/** Upper bounds of the duration's buckets, in seconds: from an answer out of memory to one that waited for everything. */
export const durationBounds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** How long the answers of one route, method and status took. */
export interface Durations {
  readonly route: string;
  readonly method: string;
  readonly status: number;
  /** Answers by bucket, the last one without a bound; not cumulated. */
  readonly buckets: Float64Array;
  sumS: number;
}

/** Methods that have a name of their own among the metrics: a stranger can make up others without end. */
const methods = new Set(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]);

/** Counts requests as cheaply as can be: it is done for each. */
export class RequestCounter {
  readonly #routes: RouteCounter[] = [];

  /** @param route the template, such as `/api/v1/products/:id` */
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
    const statuses = this.#methods.get(method) ?? new Map<number, Durations>();
    this.#methods.set(method, statuses);
    const buckets = new Float64Array(durationBounds.length + 1);
    const durations = statuses.get(status) ?? { route: this.#route, method, status, buckets, sumS: 0 };
    statuses.set(status, durations);
    return durations;
  }
}
