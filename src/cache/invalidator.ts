import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import { findLastChange, keptChanges, listChanges } from "../database/change.ts";
import type { Database } from "../database/database.ts";
import type { Log } from "../log.ts";
import type { ResponseCache } from "./response-cache.ts";

/** How often it looks, and how long it waits for an answer before the store counts as lost. */
const pauseMs = 200;
const patienceMs = 1000;
/** Answers of the store that may be outstanding when it hangs. */
const mostOutstanding = 2;

export interface CacheInvalidatorOptions {
  readonly database: Database;
  readonly memory: ResponseCache;
  /** Shut while the store is lost. */
  readonly gate: ConcurrencyLimiter;
  readonly log: Log;
}

/** Looks again and again what has changed in the store, whoever changed it, and has the memory forget it. */
export class CacheInvalidator {
  #verifiedAtMs = performance.now();
  #isLost = false;
  #seen = 0;
  #outstanding = 0;

  /** For how long nobody could tell whether something has changed, beyond the time between two looks; 0 while it can be told. */
  unverifiedMs(nowMs: number): number {
    const ms = nowMs - this.#verifiedAtMs;
    return ms > patienceMs + pauseMs ? ms : 0;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Notes where the store is, before anything of it is kept, and from then on looks until the signal says to stop.
   * @returns what settles when it has stopped
   */
  async start(context: CacheInvalidatorOptions, signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#seen = await findLastChange(context.database);
    return { stopped: this.#run(context, signal) };
  }

  async #run(context: CacheInvalidatorOptions, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const begunMs = performance.now();
      const problem = await this.#lookInTime(context);
      if (signal.aborted) return;
      if (problem === undefined) this.#verifiedAtMs = begunMs;
      if (this.#isLost !== (problem !== undefined)) this.#tell(context, problem);
      await Bun.sleep(pauseMs);
    }
  }

  /** @returns what stands in the way of knowing */
  async #lookInTime(context: CacheInvalidatorOptions): Promise<Error | undefined> {
    if (this.#outstanding >= mostOutstanding) return new Error("the store does not answer");
    this.#outstanding++;
    const looking = this.#look(context)
      .then(() => undefined)
      .catch((error: Error) => error)
      .finally(() => this.#outstanding--);
    return await Promise.race([looking, Bun.sleep(patienceMs).then(() => new Error("the store does not answer"))]);
  }

  async #look({ database, memory }: CacheInvalidatorOptions): Promise<void> {
    const last = await findLastChange(database);
    const seen = this.#seen;
    if (last === seen) return;
    // A store that was put back to an earlier state, or one that has moved on too far to tell what it has changed.
    if (last < seen || last - seen >= keptChanges) memory.clear();
    else {
      for (const change of await listChanges(database, seen, last)) {
        if (change.noun === "product") memory.drop("product", change.id);
        else await memory.dropChanged("personalization", change.fingerprints);
      }
    }
    // Only now: what is not dropped yet has not been seen.
    this.#seen = last;
  }

  #tell({ gate, log }: CacheInvalidatorOptions, problem: Error | undefined): void {
    this.#isLost = problem !== undefined;
    if (problem === undefined) {
      gate.open();
      log.info("the store is back");
    } else {
      gate.shut();
      log.warn(
        { cause: problem.message },
        "the store is lost: what is in memory is answered, everything else is refused",
      );
    }
  }
}
