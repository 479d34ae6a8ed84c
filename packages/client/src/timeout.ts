import { ProductDataError } from "./errors.ts";

/** Longer timers overflow and fire immediately. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Runs a function with a signal that aborts on timeout or with the caller's signal.
 * Its reason is the error to throw.
 */
export async function withTimeout<Value>(
  timeoutMs: number,
  callerSignal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController();
  const abort = () =>
    controller.abort(new ProductDataError("aborted", "The call was aborted.", { cause: callerSignal?.reason }));
  const expire = () =>
    controller.abort(new ProductDataError("timeout", `The service did not respond within ${timeoutMs} ms.`));
  const timer = setTimeout(expire, Math.min(timeoutMs, maxTimerMs));
  callerSignal?.addEventListener("abort", abort);
  if (callerSignal?.aborted) abort();
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    callerSignal?.removeEventListener("abort", abort);
  }
}

/** @throws the signal's reason when the signal aborts first */
export function delay(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
