import { secondPurgeS } from "../../src/purge/plan.ts";
import type { Class } from "./popularity.ts";

/** Objects of one kind with the same demand at one cache. */
export interface CachedClass {
  readonly count: number;
  /** Requests per second for each. */
  readonly rate: number;
  /** Changes per second of each. */
  readonly changes: number;
  readonly bytes: number;
}

/** How a cache of a CDN keeps responses. */
export interface EdgePolicy {
  readonly megabytes: number;
  /** Responses expire so long after they were fetched. */
  readonly ttlS: number;
  readonly isPurged: boolean;
  /** Purges of all responses of the kind per second, in addition. */
  readonly wholePurges: number;
}

export const classesOf = (
  popularity: readonly Class[],
  rate: number,
  { changes, bytes }: Pick<CachedClass, "changes" | "bytes">,
): CachedClass[] => popularity.map(({ count, share }) => ({ count, rate: rate * share, changes, bytes }));

/**
 * Probabilities that a cache asks for an object after the first purge of a change, and after the second
 * one: that it is requested before the next purge, which may be one of another change. Requests and
 * changes come at random. Until the second purge, those of other changes come twice as often.
 */
export function afterPurges({ rate, changes }: Pick<CachedClass, "rate" | "changes">): {
  readonly first: number;
  readonly second: number;
} {
  const soonest = rate + 2 * changes;
  const first = (rate / soonest) * -Math.expm1(-secondPurgeS * soonest);
  const later = (rate / (rate + changes)) * Math.exp(-secondPurgeS * soonest);
  return { first, second: first + later };
}

/** The removals of an object per second that give as many misses as purges do. */
function removalsOf(one: CachedClass, { isPurged, wholePurges }: EdgePolicy): number {
  const changes = wholePurges + (isPurged ? one.changes : 0);
  if (changes === 0 || one.rate === 0) return 0;
  const { first, second } = afterPurges({ rate: one.rate, changes });
  const misses = changes * (first + second);
  return misses < one.rate ? (one.rate * misses) / (one.rate - misses) : Number.POSITIVE_INFINITY;
}

/**
 * Hit ratio of an object under Poisson requests, of a cache that evicts the least recently used.
 *
 * By Che's approximation (Che, Tung, Wang, IEEE JSAC 2002), an object leaves when it was not requested
 * for the characteristic time, after (e^(rate * time) - 1) / rate on average. An object that is also
 * removed at random, and expires, stays E = (1 - e^(-removals * ttl)) / removals. Between two misses
 * there are rate * E hits, which is exact for a cache that never evicts (Jung, Berger, Balakrishnan,
 * INFOCOM 2003).
 * @param idleS the characteristic time
 */
export function hitRatio(rate: number, removals: number, ttlS: number, idleS: number): number {
  if (rate === 0) return 0;
  const evictions = rate / Math.expm1(Math.min(rate * idleS, 700));
  const leaving = removals + evictions;
  const stayS = leaving * ttlS < 1e-9 ? ttlS : -Math.expm1(-leaving * ttlS) / leaving;
  return (rate * stayS) / (1 + rate * stayS);
}

/** @returns the hit ratio of each class at one cache */
export function edgeHitRatios(groups: readonly (readonly [CachedClass, EdgePolicy])[]): number[] {
  const at = (idleS: number) =>
    groups.map(([one, policy]) => hitRatio(one.rate, removalsOf(one, policy), policy.ttlS, idleS));
  const usedBytes = (idleS: number) =>
    // By PASTA, an object is there as often as its requests are hits.
    at(idleS).reduce(
      (sum, ratio, index) => sum + ratio * (groups[index]?.[0].count ?? 0) * (groups[index]?.[0].bytes ?? 0),
      0,
    );
  const bytes = (groups[0]?.[1].megabytes ?? 0) * 2 ** 20;
  const never = 1e15;
  if (usedBytes(never) <= bytes) return at(never);
  let [low, high] = [1e-9, never];
  for (let step = 0; step < 100; step++) {
    const middle = Math.sqrt(low * high);
    if (usedBytes(middle) > bytes) high = middle;
    else low = middle;
  }
  return at(low);
}
