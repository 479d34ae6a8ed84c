import { ProductDataError } from "./errors.ts";

/** A longer timer would end at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Runs something with a signal that ends it when its time is over or when the caller's own signal says so.
 * The signal's reason is the error to throw then.
 */
export async function within<Value>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController();
  const abort = () =>
    controller.abort(new ProductDataError("aborted", "The call was aborted.", { cause: outer?.reason }));
  const expire = () =>
    controller.abort(new ProductDataError("timeout", `The service did not answer within ${timeoutMs} ms.`));
  const timer = setTimeout(expire, Math.min(timeoutMs, longestTimerMs));
  outer?.addEventListener("abort", abort);
  if (outer?.aborted) abort();
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", abort);
  }
}

/** @throws the signal's reason, when it ends the wait */
export function wait(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
