import { pollIntervalMs } from "../../src/cache/invalidator.ts";
import { invalidatedFreshMs } from "../../src/cache/namespace.ts";
import { keptChanges } from "../../src/database/change.ts";
import { maxFingerprints } from "../../src/personalization/changes.ts";
import { pollMs } from "../../src/purge/follower.ts";
import { secondPurgeS } from "../../src/purge/plan.ts";
import type { Costs, KindCosts } from "./costs.ts";
import { type CachedClass, classesOf, type EdgePolicy, edgeHitRatios } from "./edge.ts";
import { simulateEviction } from "./eviction.ts";
import { edgeFreshness, type Freshness, replicasFreshness } from "./freshness.ts";
import { findLimits, type Limit } from "./limits.ts";
import type { Fleet } from "./parameters.ts";
import { zipfClasses } from "./popularity.ts";
import { type Purges, purgesOf } from "./purges.ts";
import { type Latency, latencyQuantile, type Queue, queueOf, type Service } from "./queue.ts";

export const kinds = ["personalization", "product"] as const;
export type Kind = (typeof kinds)[number];

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
    readonly cores: number;
    readonly connections: number;
  };
  readonly fresh: { readonly replicas: Freshness; readonly edge: Freshness | undefined };
  readonly purges: Purges;
  /** Those with the highest utilization first. */
  readonly limits: readonly Limit[];
}

const refreshS = invalidatedFreshMs / 1000;
/** Polls of a replica per second: for changes, and for what to purge. */
const [changePolls, purgePolls] = [1000 / pollIntervalMs, 1000 / pollMs];
const pollsOf = ({ cdn, purge }: Fleet) => changePolls + (cdn !== "none" && purge === "on" ? purgePolls : 0);
/** Of a measured cost of all polls, what one replica of a fleet causes. */
const idleOf = (share: number, fleet: Fleet) => (share * pollsOf(fleet)) / (changePolls + purgePolls);

/** A class of objects with what passes the CDN. */
interface OriginClass extends CachedClass {
  readonly kind: Kind;
  /** Requests per second for each object that the CDN does not answer. */
  readonly originRate: number;
  /** Of these, the first ones after a change, per second. */
  readonly firstReads: (replicas: number) => number;
}

interface Origin {
  readonly classes: readonly OriginClass[];
  readonly purges: Purges;
}

/** Predicts what a fleet does, from costs that were measured. */
export function predict(fleet: Fleet, costs: Costs): Prediction {
  const origin = originOf(fleet, costs);
  const serve = (replicas: number) => serveBy(replicas, fleet, origin, costs);
  const served = fleet.replicas > 0 ? serve(fleet.replicas) : findEnough(serve, fleet.target_utilization);
  return describe(fleet, origin, served, costs);
}

function originOf(fleet: Fleet, costs: Costs): Origin {
  const purges = purgesOf(fleet, maxFingerprints);
  const isFeedUnknown = fleet.feed_changes > maxFingerprints;
  const feedsPerSecond = 1 / (fleet.feed_minutes * 60);
  const changedSkus = isFeedUnknown ? fleet.skus : Math.min(fleet.feed_changes, fleet.skus);
  const details = {
    personalization: {
      objects: fleet.skus,
      rate: fleet.requests_per_second * fleet.personalization_share,
      changes: (changedSkus / fleet.skus) * feedsPerSecond,
      wholePurges: isFeedUnknown ? 0 : purges.wholePersonalization,
    },
    product: {
      objects: fleet.products,
      rate: fleet.requests_per_second * (1 - fleet.personalization_share),
      changes: fleet.product_changes_per_second / fleet.products,
      wholePurges: purges.wholeProducts,
    },
  };
  const caches = fleet.points_of_presence;
  const groups = kinds.flatMap((kind) => {
    const { objects, rate, changes, wholePurges } = details[kind];
    const { edgeBytes, replicaBytes } = costs[kind];
    const policy: EdgePolicy = {
      megabytes: fleet.edge_megabytes,
      ttlS: fleet.edge_seconds,
      isPurged: fleet.purge === "on",
      wholePurges,
    };
    const classes = classesOf(zipfClasses(objects, fleet.skew), rate / caches, {
      changes,
      bytes: edgeBytes,
    });
    return classes.map((one) => ({ kind, one, policy, bytes: replicaBytes }));
  });
  if (fleet.cdn === "none") {
    const classes = groups.map(({ kind, one, bytes }) => {
      const rate = one.rate * caches;
      // Random requests: a replica reads again if any arrives before the next change.
      const firstReads = (replicas: number) => harmonic(one.changes, rate / replicas) * replicas;
      return { ...one, kind, bytes, rate, originRate: rate, firstReads };
    });
    return { classes, purges };
  }
  const ratios = edgeHitRatios(groups.map(({ one, policy }) => [one, policy]));
  const classes = groups.map(({ kind, one, policy, bytes }, index) => {
    const originRate = one.rate * (1 - (ratios[index] ?? 0)) * caches;
    const firstReads = (replicas: number) => readsAfterChange(one, policy, caches, replicas, originRate);
    return { ...one, kind, bytes, rate: one.rate * caches, originRate, firstReads };
  });
  return { classes, purges };
}

/** Rate of the changes that are followed by another event before the next change. */
const harmonic = (changes: number, events: number) => (changes === 0 ? 0 : (changes * events) / (changes + events));

/**
 * Reads of the store after changes of an object, per second. After each purge, each cache of the CDN
 * asks once. The replica that it reaches has read the change already, or reads it.
 */
function readsAfterChange(
  { rate, changes }: CachedClass,
  { isPurged }: EdgePolicy,
  caches: number,
  replicas: number,
  originRate: number,
): number {
  if (changes === 0) return 0;
  if (!isPurged) return harmonic(changes, originRate / replicas) * replicas;
  const afterFirst = -Math.expm1(-rate * secondPurgeS);
  const afterSecond = rate / (rate + changes);
  // Requests of which there is one for each change are counted here; the rest come at random.
  const others = Math.max(0, originRate - changes * caches * (afterFirst + afterSecond));
  const noneOfPurges = ((1 - afterFirst / replicas) * (1 - afterSecond / replicas)) ** caches;
  const noneOfOthers = changes / (changes + others / replicas);
  return changes * replicas * (1 - noneOfPurges * noneOfOthers);
}

interface Served {
  readonly replicas: number;
  /** Requests per second that reach replicas, and those that they read from the store. */
  readonly requests: Readonly<Record<Kind, number>>;
  readonly reads: Readonly<Record<Kind, number>>;
  /** Reads in the background, of responses that were cached long ago. */
  readonly refreshes: Readonly<Record<Kind, number>>;
  /** Of one replica, without what it takes to wake it. */
  readonly queue: Queue;
  /** CPU of one replica, as a share of a core. */
  readonly utilization: number;
  readonly hottestUtilization: number;
}

function serveBy(replicas: number, fleet: Fleet, { classes }: Origin, costs: Costs): Served {
  // With a hash, an object has one replica. Otherwise each has a part of the requests for every object.
  const holders = fleet.routing === "hash" ? 1 : replicas;
  const memory = (fleet.memory_megabytes * 2 ** 20 * replicas) / holders;
  const ratios = simulateEviction(
    classes.map(({ count, originRate, bytes }) => ({ count, rate: originRate, bytes })),
    memory,
  );
  const none = () => ({ personalization: 0, product: 0 });
  const [requests, reads, refreshes] = [none(), none(), none()];
  for (const [index, { kind, count, originRate, firstReads }] of classes.entries()) {
    const kept = ratios[index] ?? 0;
    const first = Math.min(originRate, firstReads(holders));
    requests[kind] += count * originRate;
    reads[kind] += count * (first + (originRate - first) * (1 - kept));
    const each = originRate / holders;
    if (each > 0) refreshes[kind] += (count * holders * kept) / (refreshS + 1 / each);
  }
  const services = listServices(costs, { requests, reads, refreshes }, replicas, fleet);
  const queue = queueOf(services, variationOf(costs));
  // The answer of the store also wakes a replica.
  const wakes = (((total(requests) + total(reads)) / replicas) * costs.wakeUs) / 1e6;
  // By PASTA, a request finds it idle with probability 1 - utilization.
  const utilization = queue.utilization >= 1 ? queue.utilization : (queue.utilization + wakes) / (1 + wakes);
  return {
    replicas,
    requests,
    reads,
    refreshes,
    queue,
    utilization,
    hottestUtilization: hottest(utilization, fleet, classes, costs, replicas),
  };
}

/** What one replica does in a second. */
function listServices(
  costs: Costs,
  { requests, reads, refreshes }: Pick<Served, "requests" | "reads" | "refreshes">,
  replicas: number,
  fleet: Fleet,
): Service[] {
  return [
    ...kinds.flatMap((kind) => {
      const { hitUs, missUs } = costs[kind];
      // A background refresh takes what a miss takes in addition to a hit.
      return [
        { rate: (requests[kind] - reads[kind]) / replicas, seconds: hitUs / 1e6 },
        { rate: reads[kind] / replicas, seconds: missUs / 1e6 },
        { rate: refreshes[kind] / replicas, seconds: (missUs - hitUs) / 1e6 },
      ];
    }),
    { rate: pollsOf(fleet), seconds: idleOf(costs.idle.replica, fleet) / pollsOf(fleet) },
    { rate: fleet.product_changes_per_second, seconds: costs.change.replicaUs / 1e6 },
  ];
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Squared coefficient of variation of service times, by the latencies of single cached requests. */
function variationOf({ personalization, product }: Costs): number {
  const of = ({ hitLatencyUs }: KindCosts) => mean(hitLatencyUs.map((us) => us ** 2)) / mean(hitLatencyUs) ** 2 - 1;
  return (of(personalization) + of(product)) / 2;
}

function hottest(
  utilization: number,
  { routing }: Fleet,
  classes: readonly OriginClass[],
  costs: Costs,
  replicas: number,
): number {
  if (routing !== "hash") return utilization;
  const loads = classes.map(({ kind, originRate }) => (originRate * costs[kind].hitUs) / 1e6);
  const most = Math.max(...loads);
  return utilization + most * (1 - 1 / replicas);
}

/** The fewest replicas, at least two, that stay below a utilization. */
function findEnough(serve: (replicas: number) => Served, target: number): Served {
  let tooFew = 1;
  let served = serve(2);
  while (served.utilization > target) {
    tooFew = served.replicas;
    const background = served.utilization;
    served = serve(Math.max(served.replicas + 1, Math.ceil((served.replicas * background) / target)));
    if (served.replicas > 1e6) return served;
  }
  while (served.replicas - tooFew > Math.max(1, served.replicas / 50)) {
    const middle = serve(Math.floor((tooFew + served.replicas) / 2));
    if (middle.utilization > target) tooFew = middle.replicas;
    else served = middle;
  }
  return served;
}

const total = (of: Readonly<Record<Kind, number>>) => of.personalization + of.product;
const ratio = (part: number, whole: number) => (whole === 0 ? 1 : part / whole);

function describe(fleet: Fleet, { classes, purges }: Origin, served: Served, costs: Costs): Prediction {
  const { replicas, requests, reads, refreshes, queue } = served;
  const shopperRates = { personalization: 0, product: 0 };
  for (const { kind, count, rate } of classes) shopperRates[kind] += count * rate;
  const edgeRatio = (kind: Kind) => 1 - ratio(requests[kind], shopperRates[kind]);
  const replicaRatio = (kind: Kind) => 1 - ratio(reads[kind], requests[kind]);
  const readsPerSecond = total(reads) + total(refreshes);
  const readCores = kinds.reduce((sum, kind) => sum + ((reads[kind] + refreshes[kind]) * costs[kind].readUs) / 1e6, 0);
  const rowsPerSecond = fleet.feed_rows / (fleet.feed_minutes * 60);
  const originRate = total(requests);
  const toVarnish = total(shopperRates);
  const pollS = costs.pollUs / 1e6;
  const latencies: Latency[] = kinds.flatMap((kind) => [
    { rate: requests[kind] - reads[kind], quantilesS: toSeconds(costs[kind].hitLatencyUs) },
    { rate: reads[kind], quantilesS: toSeconds(costs[kind].missLatencyUs) },
  ]);
  const database = {
    readsPerSecond,
    pollsPerSecond: replicas * pollsOf(fleet),
    cores:
      readCores +
      replicas * idleOf(costs.idle.postgres, fleet) +
      (fleet.product_changes_per_second * costs.change.postgresUs) / 1e6 +
      (rowsPerSecond * costs.row.postgresUs) / 1e6,
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
