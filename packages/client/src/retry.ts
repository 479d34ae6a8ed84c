import type { ErrorCode, ProductDataError } from "./errors.ts";

/**
 * Parses a `Retry-After` header, in seconds or as an HTTP date, to milliseconds; undefined when it
 * is neither.
 * @param nowMs milliseconds since 1970
 */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const atMs = header.endsWith("GMT") ? Date.parse(header) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

export interface Attempts {
  /** Error codes of the attempts before this one. */
  readonly previousErrors: readonly ErrorCode[];
  /** Maximum number of retries. */
  readonly retries: number;
  /** Time left of the call's timeout. */
  readonly remainingMs: number;
}

/**
 * The delay before the next attempt; undefined when the call should fail. An unavailable service is
 * asked again after its `Retry-After`, or else with backoff, and a network failure is retried once. There is no retry if the delay would exceed the
 * timeout.
 * @param random from 0 to 1
 */
export function retryDelayMs(
  { code, retryAfterMs }: Pick<ProductDataError, "code" | "retryAfterMs">,
  { previousErrors, retries, remainingMs }: Attempts,
  random: number,
): number | undefined {
  if (previousErrors.length >= retries) return undefined;
  let delayMs: number | undefined;
  if (code === "unavailable") delayMs = retryAfterMs ?? 2 ** previousErrors.length * (250 + 250 * random);
  if (code === "network" && !previousErrors.includes(code)) delayMs = 100 + 400 * random;
  return delayMs !== undefined && delayMs < remainingMs ? delayMs : undefined;
}
