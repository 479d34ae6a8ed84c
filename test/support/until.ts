/** Waits until something is so. @throws Error when it is not within the time */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  for (const begun = performance.now(); !(await isSo()); await Bun.sleep(10)) {
    if (performance.now() - begun > withinMs) throw new Error(`in ${withinMs} ms it did not come about that ${what}`);
  }
}
