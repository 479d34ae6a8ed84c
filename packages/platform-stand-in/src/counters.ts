/** Counts of requests and faults, for tests and for `GET /control`. */
export class Counters {
  /** GraphQL requests by operation name; unnamed operations count as "anonymous". */
  readonly requests = new Map<string, number>();
  readonly faults = new Map<string, number>();
  readonly productReads = new Map<string, number>();
  /** Points spent by operation name. */
  readonly points = new Map<string, number>();
  /** The fewest points that an operation left in the bucket when it was admitted. */
  readonly lowest = new Map<string, number>();
  throttled = 0;
  tokenGrants = 0;
  bulkRuns = 0;
  bulkDownloads = 0;

  get pointsSpent(): number {
    return [...this.points.values()].reduce((sum, points) => sum + points, 0);
  }

  reset(): void {
    for (const counts of [this.requests, this.faults, this.productReads, this.points, this.lowest]) counts.clear();
    Object.assign(this, { throttled: 0, tokenGrants: 0, bulkRuns: 0, bulkDownloads: 0 });
  }

  toJSON() {
    const { pointsSpent, throttled, tokenGrants, bulkRuns, bulkDownloads } = this;
    return {
      requests: Object.fromEntries(this.requests),
      faults: Object.fromEntries(this.faults),
      productReads: Object.fromEntries(this.productReads),
      points: Object.fromEntries(this.points),
      pointsSpent,
      throttled,
      tokenGrants,
      bulkRuns,
      bulkDownloads,
    };
  }
}

export function increase(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}
