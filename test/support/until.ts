import { expect } from "bun:test";

/**
 * Looks less often after a second, because a look is often a request, which takes CPU of what the
 * test waits for.
 */
const pauseMs = (waitedMs: number) => (waitedMs < 1000 ? 10 : 30);

/**
 * Ends a wait that would never end. It is no expectation, so it is far beyond what a busy machine
 * takes, and tests have no shorter limits of their own.
 */
const hangsAfterMs = Math.min(Number(process.env.TEST_TIMEOUT_MS ?? 300_000) / 2, 120_000);

/** Waits until a condition holds. @throws Error after the timeout */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs = hangsAfterMs,
): Promise<void> {
  const begun = performance.now();
  for (let waitedMs = 0; !(await isSo()); waitedMs = performance.now() - begun) {
    await Bun.sleep(pauseMs(waitedMs));
    if (waitedMs > withinMs) throw new Error(`timeout of ${withinMs} ms while waiting until ${what}`);
  }
}

/**
 * Waits until a value equals the expected one; after the timeout the expectation fails and shows
 * the difference.
 */
export async function untilEqual<T>(read: () => Promise<T>, expected: T, withinMs = hangsAfterMs): Promise<void> {
  for (const begun = performance.now(); ; await Bun.sleep(10)) {
    const isLast = performance.now() - begun > withinMs;
    const value = await read();
    if (!isLast && !Bun.deepEquals(value, expected)) continue;
    expect<unknown>(value).toEqual(expected);
    return;
  }
}
