import { backoff } from "../base/time.ts";
import type { PurgePosition, PurgeRecord, PurgeState } from "./position.ts";
import type { PurgeError } from "./send.ts";

const maxRetryS = 60;
const maxRecords = 5;

/** Does not wait after the clock was set back. */
export function mustWait({ state, now }: PurgePosition): boolean {
  if (state?.failure === undefined) return false;
  const { at, retryAt } = state.failure;
  return Date.parse(at) <= Date.parse(now) && Date.parse(now) < Date.parse(retryAt);
}

/** The next purges are small, because successful ones are repeated after another failure. */
export function fail(state: PurgeState, error: PurgeError, now: string, random: number): PurgeState {
  const count = (state.failure?.count ?? 0) + 1;
  const backoffS = backoff(count, 1, maxRetryS) * (0.5 + random / 2);
  const waitS = Math.max(error.retryAfterS ?? 0, backoffS);
  const retryAt = new Date(Date.parse(now) + waitS * 1000).toISOString();
  const tokens = error.isThrottled && state.tokens !== undefined ? { left: 0, at: now } : state.tokens;
  const since = state.failure?.since ?? now;
  return { ...state, tokens, atOnce: 1, failure: { count, since, at: now, retryAt, reason: error.message } };
}

/** @param before the state when the purge began */
export function record(
  next: PurgeState,
  before: PurgeState | undefined,
  purge: Omit<PurgeRecord, "changes">,
): PurgeState {
  const changes = before === undefined ? 0 : Math.max(0, next.first - before.first);
  return { ...next, recent: [{ ...purge, changes }, ...(next.recent ?? [])].slice(0, maxRecords) };
}
