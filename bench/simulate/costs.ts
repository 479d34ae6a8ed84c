import measured from "./costs.json" with { type: "json" };

/** Of one kind of responses, as browsers get them: compressed. In microseconds of CPU. */
export interface KindCosts {
  /** Of the replica, for a cached response. */
  readonly hitUs: number;
  /** Of the replica, for a response that it reads from PostgreSQL. */
  readonly missUs: number;
  /** Of PostgreSQL, for the same. */
  readonly readUs: number;
  /** Latencies of single requests one after the other: quantiles at even distances. */
  readonly hitLatencyUs: readonly number[];
  readonly missLatencyUs: readonly number[];
  /** Memory of a response in the cache of a replica, and in that of Varnish. */
  readonly replicaBytes: number;
  readonly edgeBytes: number;
}

/** Measured by `npm run simulate -- --measure`. */
export interface Costs {
  readonly machine: string;
  readonly personalization: KindCosts;
  readonly product: KindCosts;
  /** Of a replica that polls for changes to apply and to purge: shares of a core. */
  readonly idle: { readonly replica: number; readonly postgres: number };
  /** Of one change of a product: for each replica, and for PostgreSQL with its reads by one replica. */
  readonly change: { readonly replicaUs: number; readonly postgresUs: number };
  /** Of one row of a feed. */
  readonly row: { readonly importUs: number; readonly postgresUs: number; readonly elapsedUs: number };
  /**
   * Of a replica, when it was idle before a request or an answer of the store: the system wakes its process.
   * The other costs are those of a busy one.
   */
  readonly wakeUs: number;
  /** Of a request to Varnish. */
  readonly varnish: { readonly hitUs: number; readonly missUs: number };
  /** Duration of a query for the last change. */
  readonly pollUs: number;
}

export const costs: Costs = measured;
