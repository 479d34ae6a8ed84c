import { setTimeout as sleep } from "node:timers/promises";
import { hideCredentials } from "../base/credentials.ts";
import type { Log } from "../base/log.ts";
import type { Fetch } from "../base/outgoing.ts";
import type { ProbeResult, PurgeCounter } from "./metrics.ts";
import { secondPurgeS } from "./plan.ts";

const timeoutMs = 5000;
const intervalMs = 5000;
const sampleSize = 3;
/** A change between the two reads is purged twice within this time. */
const againMs = (secondPurgeS + 2) * 1000;

export interface ProberOptions {
  readonly edgeUrl: string;
  readonly originUrl: string;
  readonly counter: PurgeCounter;
  readonly log: Log;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
}

/** Reads a sample of purged addresses through the CDN, because a purge may succeed without effect. */
export class Prober {
  readonly #options: ProberOptions;
  #lastMs = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  #probing: Promise<unknown> = Promise.resolve();

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  get stopped(): Promise<unknown> {
    return this.#probing;
  }

  /** @param paths addresses that have just been purged for the second time */
  probe(paths: readonly string[]): void {
    const nowMs = performance.now();
    if (paths.length === 0 || nowMs - this.#lastMs < intervalMs) return;
    this.#lastMs = nowMs;
    const from = Math.floor(Math.random() * paths.length);
    const sample = new Set([...paths.slice(from, from + sampleSize), ...paths.slice(0, sampleSize)]);
    const probes = [...sample].slice(0, sampleSize).map((path) => this.#probeOne(path));
    // Drops the results, which would keep those of all earlier probes in memory.
    this.#probing = Promise.all([this.#probing, ...probes]).then(() => {});
  }

  async #probeOne(path: string): Promise<void> {
    const { counter, log, signal } = this.#options;
    let cause = "";
    const result = await this.#compare(path).catch((error: Error): ProbeResult => {
      cause = hideCredentials(error.message);
      return "failed";
    });
    if (signal.aborted) return;
    counter.probes[result]++;
    if (result === "stale") log.warn({ path }, "the CDN still serves the old response after two purges");
    if (result === "failed" && !this.#hasFailed) log.warn({ path, cause }, "cannot probe the CDN; check PUBLIC_URL");
    this.#hasFailed = result === "failed";
  }

  async #compare(path: string): Promise<ProbeResult> {
    const [origin, before] = await this.#readBoth(path);
    if (before === origin) return "fresh";
    // It may have changed since it was purged.
    await sleep(againMs, undefined, { signal: this.#options.signal });
    const [originNow, after] = await this.#readBoth(path);
    return after === originNow || after !== before ? "fresh" : "stale";
  }

  #readBoth(path: string): Promise<[origin: string, edge: string]> {
    const { originUrl, edgeUrl, fetch, signal } = this.#options;
    return Promise.all([read(fetch, originUrl + path, signal), read(fetch, edgeUrl + path, signal)]);
  }
}

/** @returns the status and the entity tag, which a CDN may have weakened */
async function read(fetch: Fetch, url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  await response.arrayBuffer();
  const etag = response.headers.get("etag")?.replace(/^W\//, "");
  if (response.status !== 404 && (response.status !== 200 || etag === undefined)) {
    throw new Error(`${url} responded with status ${response.status}${etag === undefined ? ", without an ETag" : ""}`);
  }
  return `${response.status} ${etag}`;
}
