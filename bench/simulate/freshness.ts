import { pollIntervalMs } from "../../src/cache/invalidator.ts";
import { gatherMs } from "../../src/model/cdn.ts";
import { pollMs } from "../../src/purge/follower.ts";
import type { Fleet } from "./parameters.ts";
import type { Purges } from "./purges.ts";

/** From the commit of a change until responses have it. */
export interface Freshness {
  readonly p50S: number;
  readonly p99S: number;
}

const freshness = (quantile: (share: number) => number): Freshness => ({ p50S: quantile(0.5), p99S: quantile(0.99) });

/** Quantile of the sum of two times that are distributed evenly from 0. */
function quantileOfSum(oneS: number, otherS: number, share: number): number {
  const [short, long] = oneS < otherS ? [oneS, otherS] : [otherS, oneS];
  if (short === 0) return long * share;
  const edge = short / (2 * long);
  if (share < edge) return Math.sqrt(2 * short * long * share);
  if (share <= 1 - edge) return long * share + short / 2;
  return short + long - Math.sqrt(2 * short * long * (1 - share));
}

/**
 * The last replica notices a change at its next poll.
 * @param pollS how long a poll takes
 */
export const replicasFreshness = (replicas: number, pollS: number): Freshness =>
  freshness((share) => share ** (1 / replicas) * (pollIntervalMs / 1000 + pollS) + pollS);

/**
 * The purge follows when the change was seen for a quarter of a second, at a poll. Without purging, a
 * response expires.
 * @param stepS how long a poll of the follower takes
 * @param sendS from the poll to the end of the purge
 */
export function edgeFreshness(
  { cdn, purge, edge_seconds: ttlS }: Fleet,
  { maxWaitS }: Purges,
  stepS: number,
  sendS: number,
): Freshness | undefined {
  if (cdn === "none") return undefined;
  if (purge === "off") return freshness((share) => share * ttlS);
  const periodS = pollMs / 1000 + stepS;
  const gatheredS = Math.ceil(gatherMs / 1000 / periodS) * periodS;
  return freshness((share) => quantileOfSum(periodS, maxWaitS, share) + gatheredS + sendS);
}
