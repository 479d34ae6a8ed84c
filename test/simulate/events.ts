import { createRandom, createSequence } from "../../bench/support/sequence.ts";

/** A fleet whose events are simulated one by one, with products by Zipf and no limit of memory. */
export interface EventFleet {
  readonly requestsPerSecond: number;
  readonly products: number;
  readonly changesPerSecond: number;
  readonly pointsOfPresence: number;
  readonly replicas: number;
  readonly ttlS: number;
  readonly isPurged: boolean;
  /** Entries of each cache of the CDN, which evicts the least recently used. */
  readonly edgeEntries: number;
}

interface Purge {
  readonly atS: number;
  readonly product: number;
}

const purgeDelaysS = [0.25, 5.25];

/**
 * @returns per request of a shopper: the requests at replicas, their reads of the store, and the requests
 * that are the second ones after a read
 */
export function simulateEvents(fleet: EventFleet, warmUp: number, measured: number) {
  const random = createRandom(7);
  const pick = createSequence("zipf", fleet.products, 11);
  const exponential = (rate: number) => -Math.log1p(-random()) / rate;
  const below = (limit: number) => Math.floor(random() * limit);
  // Maps list their entries in the order of insertion: the least recently used first.
  const edges = Array.from({ length: fleet.pointsOfPresence }, () => new Map<number, number>());
  const replicas = Array.from({ length: fleet.replicas }, () => new Map<number, number>());
  const waiting: Purge[][] = purgeDelaysS.map(() => []);
  let [nowS, changeAtS, origin, reads, secondRequests] = [0, exponential(fleet.changesPerSecond), 0, 0, 0];

  const applyUntil = (untilS: number) => {
    for (; changeAtS <= untilS; changeAtS += exponential(fleet.changesPerSecond)) {
      const product = below(fleet.products);
      for (const cached of replicas) cached.delete(product);
      if (fleet.isPurged)
        for (const [index, list] of waiting.entries())
          list.push({ atS: changeAtS + (purgeDelaysS[index] ?? 0), product });
    }
    for (const list of waiting) {
      const due = list.findIndex(({ atS }) => atS > untilS);
      for (const { product } of list.splice(0, due < 0 ? list.length : due))
        for (const cached of edges) cached.delete(product);
    }
  };
  for (let request = 0; request < warmUp + measured; request++) {
    nowS += exponential(fleet.requestsPerSecond);
    applyUntil(nowS);
    const product = pick();
    const edge = edges[below(edges.length)] ?? new Map();
    const fetchedAtS = edge.get(product);
    edge.delete(product);
    const isHit = fetchedAtS !== undefined && nowS - fetchedAtS < fleet.ttlS;
    edge.set(product, isHit ? fetchedAtS : nowS);
    if (edge.size > fleet.edgeEntries) edge.delete(edge.keys().next().value ?? 0);
    if (isHit) continue;
    const replica = replicas[below(replicas.length)] ?? new Map();
    const before = replica.get(product) ?? 0;
    replica.set(product, before + 1);
    if (request < warmUp) continue;
    origin++;
    if (before === 0) reads++;
    if (before === 1) secondRequests++;
  }
  return { origin: origin / measured, reads: reads / measured, secondRequests: secondRequests / measured };
}

/** Response times of one server with random arrivals. @param pick the next service time */
export function simulateQueue(rate: number, pick: (random: () => number) => number, count: number): number[] {
  const random = createRandom(3);
  let [nowS, freeAtS] = [0, 0];
  return Array.from({ length: count }, () => {
    nowS += -Math.log1p(-random()) / rate;
    freeAtS = Math.max(freeAtS, nowS) + pick(random);
    return freeAtS - nowS;
  });
}
