import { hashPair, roll } from "./random.ts";

const day = 86_400;
const oldest = 5 * 365 * day;

/**
 * Bulk edits give many products the same second: paging by time must handle more equal times than
 * fit on a page.
 */
const burstsDaysAgo = [3, 40, 200] as const;

export interface Times {
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Seconds since 1970, all before `end`, the time of the newest update of the generated catalog. */
export function timesOf(base: number, end: number): Times {
  const createdAt = end - 210 * day - (hashPair(base, 1) % (oldest - 210 * day));
  if (roll(base, 2, 4) === 0) return { createdAt, updatedAt: end - day * (burstsDaysAgo[roll(base, 3, 3)] ?? 3) };
  return { createdAt, updatedAt: createdAt + (hashPair(base, 4) % (end - createdAt)) };
}

/** The platform's format: UTC, whole seconds. */
export function toTimestamp(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}
