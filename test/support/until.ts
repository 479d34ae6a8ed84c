import { expect } from "bun:test";

/** Waits until a condition holds. @throws Error after the timeout */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  for (const begun = performance.now(); !(await isSo()); await Bun.sleep(10)) {
    if (performance.now() - begun > withinMs) throw new Error(`timeout of ${withinMs} ms while waiting until ${what}`);
  }
}

/**
 * Waits until a value equals the expected one; after the timeout the expectation fails and shows
 * the difference.
 */
export async function untilEqual<T>(read: () => Promise<T>, expected: T, withinMs = 1000): Promise<void> {
  for (const begun = performance.now(); ; await Bun.sleep(10)) {
    const isLast = performance.now() - begun > withinMs;
    const value = await read();
    if (!isLast && !Bun.deepEquals(value, expected)) continue;
    expect<unknown>(value).toEqual(expected);
    return;
  }
}
