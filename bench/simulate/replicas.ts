import { sum } from "../support/statistics.ts";
import { type Costs, idleOf, type Kind, type KindCosts, kinds, missOf, type Wakes } from "./costs.ts";
import { simulateEviction } from "./eviction.ts";
import type { Origin, OriginClass } from "./origin.ts";
import type { Fleet } from "./parameters.ts";
import { type Queue, queueOf, type Service } from "./queue.ts";

/** The load of all replicas. */
export interface Served {
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

/**
 * Predicts the load of a number of replicas.
 * @param refreshS after which time a replica reads again what did not change, in seconds
 */
export function serveBy(replicas: number, fleet: Fleet, { classes }: Origin, costs: Costs, refreshS: number): Served {
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

const mean = (values: readonly number[]) => sum(values) / values.length;

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
export function findEnough(serve: (replicas: number) => Served, target: number): Served {
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

export const total = ({ personalization, product }: Readonly<Record<Kind, number>>) => personalization + product;
