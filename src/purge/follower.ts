import { setTimeout as sleep } from "node:timers/promises";
import { listChanges } from "../database/change.ts";
import type { Database } from "../database/database.ts";
import { findPurgePosition, type PurgePosition, type PurgeState, savePurgeState } from "../database/purge.ts";
import type { Log } from "../log.ts";
import type { Fetch } from "../outgoing.ts";
import type { PurgeCounter } from "./counter.ts";
import { leaseS, PurgeLease } from "./lease.ts";
import { findRange, type PurgePlan, type PurgeRange, planPurge } from "./plan.ts";
import { PurgeError, sendPurge } from "./send.ts";
import { kinds } from "./tags.ts";
import type { PurgeTarget } from "./target.ts";

const pollMs = 100;
/** After another process has the right to purge, or the store fails. */
const refusedMs = 500;
/**
 * How long a change waits for its first purge. By then every replica that is not held up has noticed
 * it, so that the CDN doesn't fetch the old response again right after the purge.
 */
const gatherMs = 250;
const maxRetryS = 60;

export interface FollowerOptions {
  readonly database: Database;
  readonly targets: readonly PurgeTarget[];
  /** Identifies everything besides the data that responses depend on; another one purges everything. */
  readonly form: string;
  readonly counter: PurgeCounter;
  readonly log: Log;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  /** Called with the tags that were purged for the second time. */
  readonly onSettled: (tags: readonly string[]) => void;
}

/** Purges what the change log says, until the signal aborts, while no other process does. */
export async function followChanges({ targets, ...options }: FollowerOptions): Promise<void> {
  const lease = new PurgeLease(options.database);
  await Promise.all(targets.map((target) => new Follower(target, lease, options).run()));
  await lease.release().catch(() => {});
}

type Options = Omit<FollowerOptions, "targets">;

/** Follows the changes for one cache. Its state is in the store, so any process can continue. */
class Follower {
  readonly #target: PurgeTarget;
  readonly #lease: PurgeLease;
  readonly #options: Options;
  /** The newest changes at the last polls, oldest first. */
  #seen: { readonly atMs: number; readonly newest: number }[] = [];
  #hasStoreFailed = false;
  /** Two versions that run side by side must not purge everything in turn. */
  #isFormKnown = false;

  constructor(target: PurgeTarget, lease: PurgeLease, options: Options) {
    this.#target = target;
    this.#lease = lease;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { log, signal } = this.#options;
    while (!signal.aborted) {
      let waitMs = refusedMs;
      try {
        waitMs = await this.#step();
        this.#hasStoreFailed = false;
      } catch (error) {
        if (signal.aborted) return;
        if (!this.#hasStoreFailed) log.warn({ err: error }, "cannot follow the changes to purge; retrying");
        this.#hasStoreFailed = true;
      }
      await sleep(waitMs, undefined, { signal }).catch(() => {});
    }
  }

  /** @returns how long to wait before the next step */
  async #step(): Promise<number> {
    const { database } = this.#options;
    const position = await findPurgePosition(database, this.#target.name);
    this.#isFormKnown ||= position.state?.form === this.#options.form;
    const form = (this.#isFormKnown ? position.state?.form : undefined) ?? this.#options.form;
    const upTo = this.#settledChange(position.newest);
    if (findRange(position, upTo, form) === undefined || mustWait(position)) return pollMs;
    const wasHeld = this.#lease.isHeld;
    if (!(await this.#lease.hold())) return refusedMs;
    // Another process may have purged in the meantime.
    const current = wasHeld ? position : await findPurgePosition(database, this.#target.name);
    const range = findRange(current, upTo, form);
    if (range === undefined || mustWait(current)) return pollMs;
    const plan = planPurge(current, range, await this.#loadChanges(range, current), this.#target, form);
    if (plan === undefined) return pollMs;
    return (await this.#execute(plan, range, current)) ? pollMs : refusedMs;
  }

  /** The newest change that was seen long enough ago. */
  #settledChange(newest: number): number {
    const atMs = performance.now();
    if (this.#seen.at(-1)?.newest !== newest) this.#seen.push({ atMs, newest });
    const settled = this.#seen.findLastIndex((seen) => atMs - seen.atMs >= gatherMs);
    this.#seen = this.#seen.slice(Math.max(0, settled));
    return settled < 0 ? 0 : (this.#seen[0]?.newest ?? 0);
  }

  async #loadChanges({ first, due }: PurgeRange, { state }: PurgePosition) {
    const { database } = this.#options;
    const [after, upTo] = first;
    const second = state?.second ?? 0;
    return {
      first: upTo > after ? await listChanges(database, after, upTo) : [],
      due: due !== undefined && !due.isEverything ? await listChanges(database, second, due.upTo) : [],
    };
  }

  /** @returns false if another process has taken over */
  async #execute({ requests, reserved, next }: PurgePlan, range: PurgeRange, { now }: PurgePosition): Promise<boolean> {
    const { counter, fetch, log, signal, onSettled } = this.#options;
    const { name, budget } = this.#target;
    // Before they are sent, so that a process that takes over keeps to the budget too.
    if (budget !== undefined && !(await this.#save(reserved))) return false;
    try {
      for (const { tags, isSoft } of requests) {
        if (!(await this.#lease.hold())) return false;
        await this.#lease.keep(() => sendPurge(this.#target, tags, isSoft, signal, fetch));
        counter.sent++;
        counter.tags += tags.length;
        counter.kinds += kinds.filter((kind) => tags.includes(kind)).length;
      }
    } catch (error) {
      if (!(error instanceof PurgeError)) throw error;
      counter.failed++;
      const failed = fail(reserved, error, now, Math.random());
      if (reserved.failure === undefined) log.warn({ target: name, cause: error.message }, "cannot purge; retrying");
      return await this.#save(failed);
    }
    if (reserved.failure !== undefined)
      log.info({ target: name, failures: reserved.failure.count }, "purging works again");
    if (!(await this.#save(next))) return false;
    if (range.due !== undefined && next.second > reserved.second) onSettled(requests.flatMap(({ tags }) => tags));
    return true;
  }

  #save(state: PurgeState): Promise<boolean> {
    const save = (transaction: Parameters<typeof savePurgeState>[0]) =>
      savePurgeState(transaction, this.#target.name, state, this.#lease.holder, leaseS);
    return this.#options.database.inTransaction(save);
  }
}

/** Whether the provider is not to be asked yet. A wait beyond any that is set is of a wrong clock. */
function mustWait({ state, now }: PurgePosition): boolean {
  if (state?.failure === undefined) return false;
  const leftS = (Date.parse(state.failure.retryAt) - Date.parse(now)) / 1000;
  return leftS > 0 && leftS <= 2 * 3600;
}

/** @param random from 0 to 1 */
export function fail(state: PurgeState, error: PurgeError, now: string, random: number): PurgeState {
  const count = (state.failure?.count ?? 0) + 1;
  const backoffS = Math.min(maxRetryS, 2 ** (count - 1)) * (0.5 + random / 2);
  const waitS = Math.max(error.retryAfterS ?? 0, backoffS);
  const retryAt = new Date(Date.parse(now) + waitS * 1000).toISOString();
  const tokens = error.isThrottled && state.tokens !== undefined ? { left: 0, at: now } : state.tokens;
  return { ...state, tokens, failure: { count, since: state.failure?.since ?? now, retryAt, reason: error.message } };
}
