import { EntryTable, TableEntry } from "../../src/cache/entry-table.ts";
import { createRandom } from "../support/sequence.ts";

/** Objects with the same demand at a replica. */
export interface Demand {
  readonly count: number;
  /** Requests per second for each. */
  readonly rate: number;
  /** Of an entry in the cache. */
  readonly bytes: number;
}

/** Entries in the simulated cache, at most. */
const maxEntries = 5000;
const warmUpPerEntry = 150;
const measuredPerEntry = 150;

class Entry extends TableEntry {
  readonly bytes: number;
  isRequestedAgain = false;

  constructor(bytes: number) {
    super();
    this.bytes = bytes;
  }
}

export interface Kept {
  readonly hitRatio: number;
  /** Requests that are the second ones for an entry, as a share. */
  readonly secondRequests: number;
}

/**
 * Hit ratios of a replica's cache, whose eviction (SIEVE) has no closed form: random requests run
 * through the cache's own table. Of a large cache, a sample of the objects runs through a cache that
 * is as much smaller (Waldspurger, Saemundsson, Ahmad, Park, USENIX ATC 2017).
 * @returns what is kept of each class
 */
export function simulateEviction(demands: readonly Demand[], maxBytes: number, seed = 1): Kept[] {
  const totalBytes = demands.reduce((sum, { count, bytes }) => sum + count * bytes, 0);
  if (totalBytes <= maxBytes) return demands.map(() => ({ hitRatio: 1, secondRequests: 0 }));
  if (maxBytes <= 0) return demands.map(() => ({ hitRatio: 0, secondRequests: 0 }));
  const objects = demands.reduce((sum, { count }) => sum + count, 0);
  const entries = Math.max(1, (maxBytes / totalBytes) * objects);
  const share = Math.min(1, maxEntries / entries);
  const sampled = sampleEvenly(demands, share);
  const table = new EntryTable<Entry>(maxBytes * share, ({ bytes }) => bytes);
  const random = createRandom(seed);
  const sums = new Float64Array(sampled.length);
  let total = 0;
  for (const [index, count] of sampled.entries()) {
    total += count * (demands[index]?.rate ?? 0);
    sums[index] = total;
  }
  const counts = demands.map(() => ({ requests: 0, hits: 0, secondRequests: 0 }));
  const simulated = Math.min(entries, maxEntries);
  const warmUp = Math.ceil(warmUpPerEntry * simulated);
  const end = warmUp + Math.ceil(measuredPerEntry * simulated);
  for (let at = 0; at < end; at++) {
    const index = findFirst(sums, random() * total);
    const key = `${Math.floor(random() * (sampled[index] ?? 1))}`;
    const entry = table.get(`${index}`, key);
    const isSecond = entry?.isRequestedAgain === false;
    if (entry === undefined) table.set(`${index}`, key, new Entry(demands[index]?.bytes ?? 0));
    else entry.isRequestedAgain = true;
    const count = counts[index];
    if (at < warmUp || count === undefined) continue;
    count.requests++;
    if (entry !== undefined) count.hits++;
    if (isSecond) count.secondRequests++;
  }
  return pool(demands, counts);
}

/** Requests of classes with similar demand that are counted together, at least. */
const pooledRequests = 1000;

interface Counts {
  readonly requests: number;
  readonly hits: number;
  readonly secondRequests: number;
}

/** Eviction depends on the demand for an object, not on its kind or size. */
function pool(demands: readonly Demand[], counts: readonly Counts[]): Kept[] {
  const order = demands.map((_, index) => index).sort((a, b) => (demands[b]?.rate ?? 0) - (demands[a]?.rate ?? 0));
  const pooled = new Array<Kept>(demands.length);
  let members: number[] = [];
  let sum: Counts = { requests: 0, hits: 0, secondRequests: 0 };
  let kept: Kept = { hitRatio: 0, secondRequests: 0 };
  for (const [place, index] of order.entries()) {
    members.push(index);
    const { requests = 0, hits = 0, secondRequests = 0 } = counts[index] ?? {};
    sum = {
      requests: sum.requests + requests,
      hits: sum.hits + hits,
      secondRequests: sum.secondRequests + secondRequests,
    };
    if (sum.requests < pooledRequests && place < order.length - 1) continue;
    // The last ones may be too few to count.
    if (sum.requests >= pooledRequests || place === members.length - 1)
      kept = { hitRatio: sum.hits / sum.requests, secondRequests: sum.secondRequests / sum.requests };
    for (const member of members) pooled[member] = kept;
    members = [];
    sum = { requests: 0, hits: 0, secondRequests: 0 };
  }
  return pooled;
}

/** How many objects of each class are in a sample. */
function sampleEvenly(demands: readonly Demand[], share: number): number[] {
  let due = 0.5;
  return demands.map(({ count }) => {
    due += count * share;
    const taken = Math.floor(due);
    due -= taken;
    return taken;
  });
}

function findFirst(sums: Float64Array, wanted: number): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sums[middle] ?? 0) > wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}
