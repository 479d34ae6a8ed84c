import { pollIntervalMs } from "../../src/cache/invalidator.ts";
import { invalidatedFreshMs } from "../../src/cache/namespace.ts";
import { keptChanges } from "../../src/database/change.ts";
import { maxFingerprints } from "../../src/personalization/changes.ts";
import { pollMs } from "../../src/purge/follower.ts";
import type { Costs, IdleCosts, KindCosts, MissCosts, Wakes } from "./costs.ts";
import { afterPurges, type CachedClass, classesOf, type EdgePolicy, edgeHitRatios } from "./edge.ts";
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

/** CPU of one replica without requests, on its own and at each server. */
function idleOf({ idle }: Costs, { cdn, purge, standbys }: Fleet): IdleCosts {
  const purges = cdn !== "none" && purge === "on" ? 1 : 0;
  const share = (name: keyof IdleCosts) => idle.replica[name] + purges * idle.purging[name];
  return {
    replica: share("replica") + standbys * idle.reading.replica,
    postgres: share("postgres"),
    standby: share("standby") + idle.reading.standby,
  };
}

/** A class of objects with what passes the CDN. */
interface OriginClass extends CachedClass {
  readonly kind: Kind;
  /** Requests per second for each object that the CDN does not answer. */
  readonly originRate: number;
  /** Of these, those after changes. */
  readonly afterChanges: (replicas: number) => AfterChanges;
}

/**
 * The first and the second request at a replica after a change, per second, at all replicas that get any;
 * and the requests that come at random.
 */
interface AfterChanges {
  readonly first: number;
  readonly second: number;
  readonly others: number;
}

interface Origin {
  readonly classes: readonly OriginClass[];
  readonly purges: Purges;
}

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
      const afterChanges = (replicas: number) => countAfterChanges({ ...one, rate }, 0, replicas, rate);
      return { ...one, kind, bytes, rate, originRate: rate, afterChanges };
    });
    return { classes, purges };
  }
  const ratios = edgeHitRatios(groups.map(({ one, policy }) => [one, policy]));
  const classes = groups.map(({ kind, one, policy, bytes }, index) => {
    const originRate = one.rate * (1 - (ratios[index] ?? 0)) * caches;
    const purged = policy.isPurged ? caches : 0;
    const afterChanges = (replicas: number) => countAfterChanges(one, purged, replicas, originRate);
    return { ...one, kind, bytes, rate: one.rate * caches, originRate, afterChanges };
  });
  return { classes, purges };
}

/**
 * Requests that follow changes of an object. After each purge, each cache of the CDN asks once. The
 * replica that it reaches has read the change already, or reads it. Other requests come at random.
 * @param caches those that are purged
 */
function countAfterChanges(
  { rate, changes }: CachedClass,
  caches: number,
  replicas: number,
  originRate: number,
): AfterChanges {
  if (changes === 0) return { first: 0, second: 0, others: originRate };
  const { first, second } = afterPurges({ rate, changes });
  // Requests of which there is one for each change are counted here; the rest come at random.
  const others = Math.max(0, originRate - changes * caches * (first + second));
  // Of one cache, and one replica: neither, or just one of its two requests.
  const neither = (1 - first / replicas) * (1 - second / replicas);
  const either = (first + second - (2 * first * second) / replicas) / replicas;
  const noneOfPurges = neither ** caches;
  const oneOfPurges = caches === 0 ? 0 : caches * either * neither ** (caches - 1);
  // Until the next change.
  const noneOfOthers = changes / (changes + others / replicas);
  const none = noneOfPurges * noneOfOthers;
  const once = oneOfPurges * noneOfOthers + none * (1 - noneOfOthers);
  return { first: changes * replicas * (1 - none), second: changes * replicas * (1 - none - once), others };
}

interface Served {
  readonly replicas: number;
  /** Requests per second that reach replicas, and those that they read from the store. */
  readonly requests: Readonly<Record<Kind, number>>;
  readonly reads: Readonly<Record<Kind, number>>;
  /** Reads in the background, of responses that were cached long ago. */
  readonly refreshes: Readonly<Record<Kind, number>>;
  /** Responses that are requested again after a read, and then compressed better. */
  readonly improvements: Readonly<Record<Kind, number>>;
  /** Of one replica, without what it takes to wake it. */
  readonly queue: Queue;
  /** CPU of one replica, as a share of a core. */
  readonly utilization: number;
  readonly hottestUtilization: number;
}

function serveBy(replicas: number, fleet: Fleet, { classes }: Origin, costs: Costs, refreshS: number): Served {
  // With a hash, an object has one replica. Otherwise each has a part of the requests for every object.
  const holders = fleet.routing === "hash" ? 1 : replicas;
  const memory = (fleet.memory_megabytes * 2 ** 20 * replicas) / holders;
  const kept = simulateEviction(
    classes.map(({ count, originRate, bytes }) => ({ count, rate: originRate, bytes })),
    memory,
  );
  const none = () => ({ personalization: 0, product: 0 });
  const [requests, reads, refreshes, improvements] = [none(), none(), none(), none()];
  for (const [index, { kind, count, originRate, afterChanges }] of classes.entries()) {
    const { hitRatio, secondRequests } = kept[index] ?? { hitRatio: 0, secondRequests: 0 };
    const after = afterChanges(holders);
    const first = Math.min(originRate, after.first);
    const second = Math.min(originRate - first, after.second);
    requests[kind] += count * originRate;
    reads[kind] += count * (first + (originRate - first) * (1 - hitRatio));
    const each = after.others / holders;
    if (each > 0) refreshes[kind] += (count * holders * hitRatio) / (refreshS + 1 / each);
    improvements[kind] += count * (second * hitRatio + (originRate - first) * secondRequests);
  }
  const services = listServices(costs, { requests, reads, refreshes, improvements }, replicas, fleet);
  const queue = queueOf(services, variationOf(costs));
  const perReplica = total(requests) / replicas;
  const readsPerReplica = total(reads) / replicas;
  // A replica that handles changes is idle for a shorter time before a request.
  const handled = perReplica + fleet.product_changes_per_second;
  const wakes =
    ((perReplica - readsPerReplica) * wakeUs(costs.wakes.hits, handled) +
      readsPerReplica * wakeUs(costs.wakes.misses, handled)) /
    1e6;
  // By PASTA, a request finds it idle with probability 1 - utilization.
  const utilization = queue.utilization >= 1 ? queue.utilization : (queue.utilization + wakes) / (1 + wakes);
  return {
    replicas,
    requests,
    reads,
    refreshes,
    improvements,
    queue,
    utilization,
    hottestUtilization: hottest(utilization, fleet, classes, costs, replicas),
  };
}

/** Interpolated by the logarithm of the rate. */
function wakeUs(wakes: Wakes, perSecond: number): number {
  const next = wakes.findIndex((each) => each.perSecond >= perSecond);
  const [below, above] = [wakes[next < 0 ? wakes.length - 1 : next - 1], wakes[next]];
  if (below === undefined || above === undefined) return (below ?? above)?.us ?? 0;
  const share = Math.log(perSecond / below.perSecond) / Math.log(above.perSecond / below.perSecond);
  return below.us + share * (above.us - below.us);
}

/** Of a read, from a standby if there are any. */
const missOf = (costs: Costs, kind: Kind, { standbys }: Fleet): MissCosts =>
  costs[kind][standbys > 0 ? "standby" : "primary"];

/** The work of one replica in a second. */
function listServices(
  costs: Costs,
  { requests, reads, refreshes, improvements }: Pick<Served, "requests" | "reads" | "refreshes" | "improvements">,
  replicas: number,
  fleet: Fleet,
): Service[] {
  return [
    ...kinds.flatMap((kind) => {
      const { hitUs, improveUs } = costs[kind];
      const { us: missUs } = missOf(costs, kind, fleet);
      // A background refresh takes what a miss takes in addition to a hit.
      return [
        { rate: (requests[kind] - reads[kind]) / replicas, seconds: hitUs / 1e6 },
        { rate: reads[kind] / replicas, seconds: missUs / 1e6 },
        { rate: refreshes[kind] / replicas, seconds: (missUs - hitUs) / 1e6 },
        { rate: improvements[kind] / replicas, seconds: improveUs / 1e6 },
      ];
    }),
    // Polls, timers, and garbage collection, taken as pieces as short as a cached response.
    {
      rate: (idleOf(costs, fleet).replica * 1e6) / costs.personalization.hitUs,
      seconds: costs.personalization.hitUs / 1e6,
    },
    { rate: fleet.product_changes_per_second, seconds: costs.change.replicaUs / 1e6 },
  ];
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Squared coefficient of variation of service times, by the latencies of single cached requests. */
function variationOf({ personalization, product }: Costs): number {
  const variation = ({ hitLatencyUs }: KindCosts) =>
    mean(hitLatencyUs.map((us) => us ** 2)) / mean(hitLatencyUs) ** 2 - 1;
  return (variation(personalization) + variation(product)) / 2;
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

const total = ({ personalization, product }: Readonly<Record<Kind, number>>) => personalization + product;
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
