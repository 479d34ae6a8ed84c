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
  pointsSpent = 0;
  throttled = 0;
  tokenGrants = 0;
  bulkRuns = 0;
  bulkDownloads = 0;

  countRequest(operation: string): void {
    increase(this.requests, operation);
  }

  countPoints(operation: string, points: number): void {
    this.pointsSpent += points;
    increase(this.points, operation, points);
  }

  noteAvailable(operation: string, points: number): void {
    this.lowest.set(operation, Math.min(points, this.lowest.get(operation) ?? points));
  }

  countFault(kind: string): void {
    increase(this.faults, kind);
  }

  countProductRead(id: string): void {
    increase(this.productReads, id);
  }

  reset(): void {
    for (const counts of [this.requests, this.faults, this.productReads, this.points, this.lowest]) counts.clear();
    this.pointsSpent = 0;
    this.throttled = 0;
    this.tokenGrants = 0;
    this.bulkRuns = 0;
    this.bulkDownloads = 0;
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

function increase(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}
