import type { ErrorCode, ProductDataError } from "./errors.ts";

/**
 * The wait that a `Retry-After` header asks for, in milliseconds, from seconds or an HTTP date; undefined when it is neither.
 * @param nowMs milliseconds since 1970
 */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const atMs = header.endsWith("GMT") ? Date.parse(header) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

export interface Tries {
  /** Why the tries before this one failed. */
  readonly past: readonly ErrorCode[];
  /** Further tries after the first, at most. */
  readonly retries: number;
  /** What is left of the call's time. */
  readonly leftMs: number;
}

/**
 * How long to wait before the next try, or undefined when there is to be none: what is unavailable is asked again when it said
 * when, a network failure is tried once more. A wait that the call's time does not allow is not begun.
 * @param chance from 0 to 1
 */
export function retryDelayMs(
  { code, retryAfterMs }: Pick<ProductDataError, "code" | "retryAfterMs">,
  { past, retries, leftMs }: Tries,
  chance: number,
): number | undefined {
  if (past.length >= retries) return undefined;
  let delayMs: number | undefined;
  if (code === "unavailable") delayMs = retryAfterMs;
  if (code === "network" && !past.includes(code)) delayMs = 100 + 400 * chance;
  return delayMs !== undefined && delayMs < leftMs ? delayMs : undefined;
}
