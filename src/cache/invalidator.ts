import type { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";
import type { Log } from "../base/log.ts";
import {
  type ChangePosition,
  findChangePosition,
  hasChange,
  keptChanges,
  listChanges,
  noChange,
  StandbyError,
} from "../database/change.ts";
import type { Database } from "../database/database.ts";
import type { ResponseCache } from "./response-cache.ts";

/** Between two polls for changes. */
export const pollIntervalMs = 200;
/**
 * The store counts as unreachable if it answers no query of a poll for so long. A failover or a
 * checkpoint may take a second.
 */
const answerTimeoutMs = 3000;
/** After that long without a response, the connections to the store are given up, as requests are. */
const silenceMs = 5000;
/** Pause after connections that led to a standby were given up. */
const reconnectMs = 1000;
/** Limits the queries that pile up when the store hangs. */
const maxPendingPolls = 2;

export interface CacheInvalidatorOptions {
  readonly database: Database;
  readonly cache: ResponseCache;
  /** The cache namespaces whose responses are made from a noun. */
  readonly namespaces: ReadonlyMap<string, readonly string[]>;
  /** That of reads of the store itself; closed while the store is unreachable. */
  readonly storeLimiter: ConcurrencyLimiter;
  readonly log: Log;
  /**
   * Called when changes are lost and nothing else shows it: everything that was made from the store must be
   * forgotten. Called again while it fails.
   */
  readonly onChangesLost: () => Promise<void>;
  /**
   * Called when the connections to the store are of no use: it has not responded for long, and a lost
   * connection may never do; or they lead to a standby.
   */
  readonly onLost: () => void;
}

/**
 * Polls the store's change log and removes changed entries from the cache, whichever process made
 * the change.
 */
export class CacheInvalidator {
  #verifiedAtMs = performance.now();
  #isStoreUnreachable = false;
  #lastChange = noChange;
  /** In which history of the store the last change is. */
  #history = "";
  #pendingPolls = 0;
  #respondedAtMs = performance.now();

  /** By `performance.now()`: when the cache was last verified against the change log. */
  get verifiedAtMs(): number {
    return this.#verifiedAtMs;
  }

  get isStoreUnreachable(): boolean {
    return this.#isStoreUnreachable;
  }

  /**
   * Reads the current position in the change log, then polls until the signal aborts. Call it
   * before anything is cached.
   * @returns a promise that settles when polling has stopped
   */
  async start(options: CacheInvalidatorOptions, signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { newest, history } = await findChangePosition(options.database);
    this.#lastChange = newest;
    this.#history = history;
    return { stopped: this.#run(options, signal) };
  }

  async #run(options: CacheInvalidatorOptions, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedMs = performance.now();
      const problem = await this.#pollWithTimeout(options);
      if (signal.aborted) return;
      if (problem === undefined) this.#verifiedAtMs = startedMs;
      // A connection that ends, or a restart, is not yet a loss: other requests may succeed.
      const isLost = problem !== undefined && performance.now() - this.#verifiedAtMs >= answerTimeoutMs;
      if (problem === undefined ? this.#isStoreUnreachable : isLost && !this.#isStoreUnreachable)
        this.#setStoreProblem(options, problem);
      // Until a connection leads to the primary.
      const isStandby = problem instanceof StandbyError;
      if (isStandby) options.onLost();
      if (this.#pendingPolls > 0 && performance.now() - this.#respondedAtMs > silenceMs) {
        this.#respondedAtMs = performance.now();
        options.onLost();
      }
      await Bun.sleep(isStandby ? reconnectMs : pollIntervalMs);
    }
  }

  /** @returns the reason why the store could not be polled */
  async #pollWithTimeout(options: CacheInvalidatorOptions): Promise<Error | undefined> {
    if (this.#pendingPolls >= maxPendingPolls) return new Error("the store does not respond");
    this.#pendingPolls++;
    const startedMs = performance.now();
    let isOver = false;
    const polling = this.#poll(options)
      .then(() => undefined)
      .catch((error: Error) => error)
      .finally(() => {
        isOver = true;
        this.#pendingPolls--;
        this.#respondedAtMs = performance.now();
      });
    const silence = async () => {
      while (!isOver) {
        const silentMs = performance.now() - Math.max(startedMs, this.#respondedAtMs);
        if (silentMs >= answerTimeoutMs) break;
        await Bun.sleep(answerTimeoutMs - silentMs);
      }
      return new Error("the store does not respond");
    };
    return await Promise.race([polling, silence()]);
  }

  async #poll({ database, cache, namespaces, onChangesLost }: CacheInvalidatorOptions): Promise<void> {
    const lastBefore = this.#lastChange;
    const { newest, history } = await findChangePosition(database);
    this.#respondedAtMs = performance.now();
    const last = this.#lastChange;
    const count = newest.number - last.number;
    // A standby that may lack changes has become the primary. Processes that purge notice that themselves.
    const isOtherHistory = history !== this.#history;
    // The server went back to an earlier state, and the state of purges with it. Or two standbys were promoted
    // without knowing of each other: their histories have the same name.
    const isLost =
      !isOtherHistory &&
      (newest.number < lastBefore.number ||
        isOtherChange(newest, last) ||
        (last.number > 0 && count > 0 && count < keptChanges && !(await hasChange(database, last))));
    const isOtherLog = isOtherHistory || isLost;
    if (isLost) await onChangesLost();
    // Otherwise, some changes may have already been deleted from its log.
    if (isOtherLog || count >= keptChanges) cache.clear();
    // None, or a later poll on another connection has overtaken this one.
    else if (count <= 0) return;
    else {
      for (const change of await listChanges(database, last.number, newest.number)) {
        for (const namespace of namespaces.get(change.noun) ?? []) {
          if (change.noun === "personalization") await cache.invalidateMatching(namespace, change.fingerprints);
          else if (change.key === undefined) await cache.invalidateMatching(namespace, undefined);
          else cache.invalidate(namespace, change.key);
        }
      }
    }
    // Set last, so that a failed poll applies the same changes again.
    this.#lastChange = newest;
    this.#history = history;
  }

  #setStoreProblem({ storeLimiter, log }: CacheInvalidatorOptions, problem: Error | undefined): void {
    this.#isStoreUnreachable = problem !== undefined;
    if (problem === undefined) {
      storeLimiter.open();
      log.info("the store is reachable again");
    } else {
      storeLimiter.close();
      log.warn({ cause: problem.message }, "the store is unreachable: only cached responses are served");
    }
  }
}

/** Whether the same number was given to different changes. */
const isOtherChange = (a: ChangePosition, b: ChangePosition) => a.number === b.number && a.recordedAt !== b.recordedAt;
