import { expect } from "bun:test";

/** Waits until something is so. @throws Error when it is not within the time */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  for (const begun = performance.now(); !(await isSo()); await Bun.sleep(10)) {
    if (performance.now() - begun > withinMs) throw new Error(`in ${withinMs} ms it did not come about that ${what}`);
  }
}

/** Waits until what is read is as expected; when it is not within the time, the expectation fails and shows the difference. */
export async function untilEqual<T>(read: () => Promise<T>, expected: T, withinMs = 1000): Promise<void> {
  for (const begun = performance.now(); ; await Bun.sleep(10)) {
    const isLast = performance.now() - begun > withinMs;
    const value = await read();
    if (!isLast && !Bun.deepEquals(value, expected)) continue;
    expect<unknown>(value).toEqual(expected);
    return;
  }
}
