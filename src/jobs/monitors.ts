import { hideCredentials } from "../base/credentials.ts";
import { ServiceError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Fetch } from "../base/outgoing.ts";
import { untilAborted, withTimeout } from "../base/time.ts";

/** Before each attempt. */
const delaysMs = [0, 1000, 3000];
const timeoutMs = 10_000;
/** Statuses of a monitor that does not accept POST. */
const refusesPost: readonly number[] = [404, 405, 501];
/** How long pending notifications may delay the exit after a stop signal. */
const exitMs = 3000;

/** An unreachable monitor does not fail a run: the monitor itself alerts when no ping arrives. */
export class Monitors {
  readonly #log: Log;
  readonly #secrets: readonly string[];
  readonly #fetch: Fetch;
  readonly #pending = new Set<Promise<void>>();

  /** @param secrets texts that must not leave this process */
  constructor(log: Log, secrets: readonly string[], fetch: Fetch) {
    this.#log = log;
    this.#secrets = secrets;
    this.#fetch = fetch;
  }

  /** Removes secrets and credentials in URLs. */
  readonly hide = (text: string): string =>
    this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, "hidden"), hideCredentials(text));

  /**
   * @param url undefined if the monitor wants no notification
   * @param previous the notification that must arrive first
   */
  notify(url: string | undefined, message: string, previous: Promise<void> = Promise.resolve()): Promise<void> {
    const notified = url === undefined ? previous : previous.then(() => this.#callWithRetries(url, message));
    this.#pending.add(notified);
    void notified.then(() => this.#pending.delete(notified));
    return notified;
  }

  /** @param signal after it aborts, a monitor that hangs delays the exit only briefly */
  async settled(signal: AbortSignal): Promise<void> {
    const arrived = Promise.all(this.#pending);
    await untilAborted(arrived, signal).catch(() => withTimeout(arrived, exitMs, () => {}));
  }

  async #callWithRetries(url: string, message: string): Promise<void> {
    let problem: string | undefined;
    try {
      for (const delayMs of delaysMs) {
        await Bun.sleep(delayMs);
        problem = await call(this.#fetch, url, message);
        if (problem === undefined) return;
      }
    } catch (error) {
      problem = (error as Error).message;
    }
    // The path of the URL is as sensitive as a password.
    this.#log.warn({ monitor: new URL(url).host }, `cannot notify the monitor: ${problem}`);
  }
}

/** @returns the problem, if any. @throws ServiceError if the address is refused */
async function call(fetch: Fetch, url: string, message: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = { "Content-Type": "text/plain; charset=utf-8" };
    const posted = await fetch(url, { method: "POST", body: message, headers, signal });
    const { ok, status } = refusesPost.includes(posted.status) ? await fetch(url, { signal }) : posted;
    return ok ? undefined : `it responded with status ${status}`;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    return (error as Error).name === "TimeoutError" ? "it did not respond in time" : "it cannot be reached";
  }
}
