import type { Log } from "../log.ts";

/** Pauses before the further attempts. */
const pausesMs = [1000, 3000];
const timeoutMs = 10_000;

/** Outside monitors that are told of runs. One that cannot be reached makes no run fail: it raises its own alarm. */
export class Monitors {
  readonly #log: Log;
  readonly #open = new Set<Promise<void>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * @param address what to call; undefined when nobody is to be told
   * @param earlier what must have been told before
   */
  tell(address: string | undefined, earlier: Promise<void> = Promise.resolve()): Promise<void> {
    const told = address === undefined ? earlier : earlier.then(() => this.#call(address));
    this.#open.add(told);
    void told.then(() => this.#open.delete(told));
    return told;
  }

  /** Settles when all has been told that can be. */
  async settled(): Promise<void> {
    await Promise.all(this.#open);
  }

  async #call(address: string): Promise<void> {
    let problem = await call(address);
    for (const pauseMs of pausesMs) {
      if (problem === undefined) return;
      await Bun.sleep(pauseMs);
      problem = await call(address);
    }
    // Its path is as good as a password.
    if (problem !== undefined)
      this.#log.warn({ monitor: new URL(address).host }, `the monitor was not told: ${problem}`);
  }
}

/** @returns what went wrong */
async function call(address: string): Promise<string | undefined> {
  try {
    const { ok, status } = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) });
    return ok ? undefined : `it answered ${status}`;
  } catch (error) {
    return (error as Error).name === "TimeoutError" ? "it did not answer" : "it cannot be reached";
  }
}
