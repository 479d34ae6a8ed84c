import measured from "./costs.json" with { type: "json" };
import type { Fleet } from "./parameters.ts";

export const kinds = ["personalization", "product"] as const;
export type Kind = (typeof kinds)[number];

/**
 * Additional CPU of a request to a replica that was idle before it, by requests per second for a replica, the
 * fewest first: the system wakes its process, whose data have left the caches of the core.
 */
export type Wakes = readonly { readonly perSecond: number; readonly us: number }[];

/** Of a response that a replica reads from PostgreSQL, in microseconds of CPU. */
export interface MissCosts {
  /** Of a busy replica. */
  readonly us: number;
  /** Of the server. */
  readonly storeUs: number;
  /** Latencies of requests that hardly wait for each other: quantiles at even distances. */
  readonly latencyUs: readonly number[];
}

/** Of one kind of responses, as browsers get them: compressed. In microseconds of CPU. */
export interface KindCosts {
  /** Of a busy replica, for a cached response. */
  readonly hitUs: number;
  /** As those of misses. */
  readonly hitLatencyUs: readonly number[];
  /** With a read of the primary, and of a standby. */
  readonly primary: MissCosts;
  readonly standby: MissCosts;
  /** Of the replica: it compresses a response better when it is requested again. */
  readonly improveUs: number;
  /** Memory of a response in the cache of a replica, and in that of Varnish. */
  readonly replicaBytes: number;
  readonly edgeBytes: number;
}

/** CPU of one replica without requests, in shares of a core. */
export interface IdleCosts {
  readonly replica: number;
  readonly postgres: number;
  readonly standby: number;
}

/** Measured by `npm run simulate -- --measure`. */
export interface Costs {
  readonly machine: string;
  /** Of the work of `CpuMeter`, at the speed to which all CPU times here were converted. */
  readonly workUs: number;
  readonly personalization: KindCosts;
  readonly product: KindCosts;
  readonly idle: {
    /** Servers without replicas, in shares of a core. */
    readonly postgres: number;
    readonly standby: number;
    /** Of a replica; in addition if it purges, and if it reads from a standby. */
    readonly replica: IdleCosts;
    readonly purging: IdleCosts;
    readonly reading: Omit<IdleCosts, "postgres">;
  };
  /** Of one change of a product: for each replica, for PostgreSQL, and for each standby. */
  readonly change: { readonly replicaUs: number; readonly postgresUs: number; readonly standbyUs: number };
  /** Of one row of a feed. */
  readonly row: {
    readonly importUs: number;
    readonly postgresUs: number;
    readonly standbyUs: number;
    readonly elapsedUs: number;
  };
  /** Of a cached response, and of one that is read: the answer of the store wakes the replica too. */
  readonly wakes: { readonly hits: Wakes; readonly misses: Wakes };
  /** Of a request to Varnish. */
  readonly varnish: { readonly hitUs: number; readonly missUs: number };
  /** Duration of a query for the last change. */
  readonly pollUs: number;
}

export const costs: Costs = measured;

/** Of a read, from a standby if there are any. */
export const missOf = (costs: Costs, kind: Kind, { standbys }: Fleet): MissCosts =>
  costs[kind][standbys > 0 ? "standby" : "primary"];

/** CPU of one replica without requests, on its own and at each server. */
export function idleOf({ idle }: Costs, { cdn, purge, standbys }: Fleet): IdleCosts {
  const purges = cdn !== "none" && purge === "on" ? 1 : 0;
  const share = (name: keyof IdleCosts) => idle.replica[name] + purges * idle.purging[name];
  return {
    replica: share("replica") + standbys * idle.reading.replica,
    postgres: share("postgres"),
    standby: share("standby") + idle.reading.standby,
  };
}
