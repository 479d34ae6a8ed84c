import { pollIntervalMs } from "../../src/cache/invalidator.ts";
import { invalidatedFreshMs } from "../../src/cache/namespace.ts";
import { keptChanges } from "../../src/database/change.ts";
import { pollMs } from "../../src/purge/follower.ts";
import { type Costs, idleOf, type Kind, kinds, missOf } from "./costs.ts";
import { edgeFreshness, type Freshness, replicasFreshness } from "./freshness.ts";
import { findLimits, type Limit } from "./limits.ts";
import { type Origin, originOf } from "./origin.ts";
import type { Fleet } from "./parameters.ts";
import type { Purges } from "./purges.ts";
import { type Latency, latencyQuantile } from "./queue.ts";
import { findEnough, type Served, serveBy, total } from "./replicas.ts";

export interface Prediction {
  readonly fleet: Fleet;
  readonly edge: {
    readonly hitRatio: number;
    readonly hitRatios: Readonly<Record<Kind, number>>;
    /** Of Varnish, as measured here; of other providers unknown. */
    readonly cores: number | undefined;
  };
  readonly origin: { readonly requestsPerSecond: number };
  readonly replicas: {
    readonly count: number;
    readonly machines: number;
    readonly hitRatio: number;
    readonly hitRatios: Readonly<Record<Kind, number>>;
    /** Responses that are compressed better, per second. */
    readonly improvementsPerSecond: number;
    /** Microseconds of CPU per request at the origin, polling included. */
    readonly cpuUs: number;
    readonly utilization: number;
    /** Of the replica that serves the address with the highest demand. */
    readonly hottestUtilization: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
  };
  readonly database: {
    readonly readsPerSecond: number;
    readonly pollsPerSecond: number;
    /** Of the primary. */
    readonly cores: number;
    /** Of each standby; undefined without any. */
    readonly standbyCores: number | undefined;
    readonly connections: number;
  };
  readonly fresh: { readonly replicas: Freshness; readonly edge: Freshness | undefined };
  readonly purges: Purges;
  /** Those with the highest utilization first. */
  readonly limits: readonly Limit[];
}

/** Polls of a replica per second: for changes, and for what to purge. */
const [changePolls, purgePolls] = [1000 / pollIntervalMs, 1000 / pollMs];
const pollsOf = ({ cdn, purge }: Fleet) => changePolls + (cdn !== "none" && purge === "on" ? purgePolls : 0);

/**
 * Predicts what a fleet does, from costs that were measured.
 * @param refreshS after which time a replica reads again what did not change, in seconds
 */
export function predict(fleet: Fleet, costs: Costs, refreshS = invalidatedFreshMs / 1000): Prediction {
  const origin = originOf(fleet, costs);
  const serve = (replicas: number) => serveBy(replicas, fleet, origin, costs, refreshS);
  const served = fleet.replicas > 0 ? serve(fleet.replicas) : findEnough(serve, fleet.target_utilization);
  return describe(fleet, origin, served, costs);
}

const ratio = (part: number, whole: number) => (whole === 0 ? 1 : part / whole);

function describe(fleet: Fleet, { classes, purges }: Origin, served: Served, costs: Costs): Prediction {
  const { replicas, requests, reads, refreshes, queue } = served;
  const shopperRates = { personalization: 0, product: 0 };
  for (const { kind, count, rate } of classes) shopperRates[kind] += count * rate;
  const edgeRatio = (kind: Kind) => 1 - ratio(requests[kind], shopperRates[kind]);
  const replicaRatio = (kind: Kind) => 1 - ratio(reads[kind], requests[kind]);
  const readsPerSecond = total(reads) + total(refreshes);
  const readCores = kinds.reduce(
    (sum, kind) => sum + ((reads[kind] + refreshes[kind]) * missOf(costs, kind, fleet).storeUs) / 1e6,
    0,
  );
  const idle = idleOf(costs, fleet);
  const changeRate = fleet.product_changes_per_second;
  const rowsPerSecond = fleet.feed_rows / (fleet.feed_minutes * 60);
  const originRate = total(requests);
  const toVarnish = total(shopperRates);
  const pollS = costs.pollUs / 1e6;
  const latencies: Latency[] = kinds.flatMap((kind) => [
    { rate: requests[kind] - reads[kind], quantilesS: toSeconds(costs[kind].hitLatencyUs) },
    { rate: reads[kind], quantilesS: toSeconds(missOf(costs, kind, fleet).latencyUs) },
  ]);
  const database = {
    readsPerSecond,
    pollsPerSecond: replicas * pollsOf(fleet),
    cores:
      (fleet.standbys > 0 ? 0 : readCores) +
      costs.idle.postgres +
      replicas * idle.postgres +
      (changeRate * costs.change.postgresUs + rowsPerSecond * costs.row.postgresUs) / 1e6,
    standbyCores:
      fleet.standbys > 0
        ? readCores / fleet.standbys +
          costs.idle.standby +
          replicas * idle.standby +
          (changeRate * costs.change.standbyUs + rowsPerSecond * costs.row.standbyUs) / 1e6
        : undefined,
    // A run has its own.
    connections: (replicas + 1) * fleet.connections_per_replica,
  };
  const prediction = {
    fleet,
    edge: {
      hitRatio: fleet.cdn === "none" ? 0 : 1 - ratio(originRate, toVarnish),
      hitRatios: { personalization: edgeRatio("personalization"), product: edgeRatio("product") },
      cores:
        fleet.cdn === "varnish"
          ? ((toVarnish - originRate) * costs.varnish.hitUs + originRate * costs.varnish.missUs) / 1e6
          : undefined,
    },
    origin: { requestsPerSecond: originRate },
    replicas: {
      count: replicas,
      machines: Math.ceil(replicas / fleet.cores_per_machine),
      hitRatio: 1 - ratio(total(reads), originRate),
      hitRatios: { personalization: replicaRatio("personalization"), product: replicaRatio("product") },
      improvementsPerSecond: total(served.improvements),
      cpuUs: (served.utilization * replicas * 1e6) / originRate,
      utilization: served.utilization,
      hottestUtilization: served.hottestUtilization,
      p50Ms: latencyQuantile(queue, latencies, 0.5) * 1000,
      p99Ms: latencyQuantile(queue, latencies, 0.99) * 1000,
    },
    database,
    fresh: { replicas: replicasFreshness(replicas, pollS), edge: edgeFreshness(fleet, purges, pollS, 3 * pollS) },
    purges,
  };
  return { ...prediction, limits: findLimits(prediction, costs, keptChanges) };
}

const toSeconds = (us: readonly number[]) => us.map((each) => each / 1e6);
