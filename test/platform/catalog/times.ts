import { mix, roll } from "./dice.ts";

const day = 86_400;
const oldest = 5 * 365 * day;

/** Mass edits stamp many products with one second: paging by time has to survive more equal times than fit a page. */
const burstsDaysAgo = [3, 40, 200] as const;

export interface Times {
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Seconds since 1970, all before `end`, which is the instant the generated catalog was last touched. */
export function timesOf(base: number, end: number): Times {
  const createdAt = end - 210 * day - (mix(base, 1) % (oldest - 210 * day));
  if (roll(base, 2, 4) === 0) return { createdAt, updatedAt: end - day * (burstsDaysAgo[roll(base, 3, 3)] ?? 3) };
  return { createdAt, updatedAt: createdAt + (mix(base, 4) % (end - createdAt)) };
}

/** The platform's form: UTC, whole seconds. */
export function toTimestamp(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}
