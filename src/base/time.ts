import { setTimeout as sleep } from "node:timers/promises";
import type { MaybePromise } from "./maybe-promise.ts";

/** Ends early when the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { ...(signal && { signal }) }).catch(() => {});
}

/**
 * Stops waiting after a time. The work continues, and its late outcome is ignored.
 * @param late returns the result instead, or throws
 */
export async function withTimeout<T, Late>(work: MaybePromise<T>, ms: number, late: () => Late): Promise<T | Late> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  try {
    return await Promise.race([work, timeout.promise.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}

/** Stops waiting when the signal aborts, and throws its reason; the work continues. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

export interface RepeatOptions {
  readonly signal: AbortSignal;
  readonly retryMs: number;
  /** Called with the first of consecutive errors. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Repeats a step until it ends the loop, or the signal aborts; an error after that is ignored.
 * @param step returns how long to wait before the next one, in milliseconds; undefined ends the loop
 */
export async function repeat(
  step: () => Promise<number | undefined>,
  { signal, retryMs, onFailure }: RepeatOptions,
): Promise<void> {
  let hasFailed = false;
  while (!signal.aborted) {
    let waitMs: number | undefined = retryMs;
    try {
      waitMs = await step();
      hasFailed = false;
    } catch (error) {
      if (signal.aborted) return;
      if (!hasFailed) onFailure(error);
      hasFailed = true;
    }
    if (waitMs === undefined) return;
    await pause(waitMs, signal);
  }
}

/** Repeats some work until disposal, but not while it is still in progress. Ignores its errors. */
export function repeatEvery(ms: number, work: () => Promise<unknown>): Disposable {
  let isBusy = false;
  const timer = setInterval(async () => {
    if (isBusy) return;
    isBusy = true;
    await work().catch(() => {});
    isBusy = false;
  }, ms);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** @param attempt counted from 1 */
export const backoff = (attempt: number, first: number, most = Number.POSITIVE_INFINITY): number =>
  Math.min(most, first * 2 ** (attempt - 1));
