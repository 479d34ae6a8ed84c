import type { Log } from "../base/log.ts";
import type { Fetch } from "../base/outgoing.ts";
import { repeat } from "../base/time.ts";
import { listChanges, type NumberedChange } from "../database/change.ts";
import { classify, type Position } from "../database/change-log.ts";
import type { Database } from "../database/database.ts";
import type { Lease } from "../database/lease.ts";
import { giveBack, hasTokens } from "./budget.ts";
import { fail, mustWait, record } from "./failure.ts";
import type { PurgeCounter } from "./metrics.ts";
import { findRange, type PurgePlan, type PurgeRange, planPurge } from "./plan.ts";
import { findPurgePosition, type PurgePosition, type PurgeState, purgeLease, savePurgeState } from "./position.ts";
import { PurgeError, sendPurge } from "./send.ts";
import { kinds } from "./tags.ts";
import type { PurgeTarget } from "./targets.ts";

/**
 * A change waits this long for its first purge. By then every replica that keeps up has noticed it,
 * so that the CDN does not fetch the old response again right after the purge.
 */
const gatherMs = 250;

const pollMs = 100;
/** While another process has the right to purge, the store fails, or the budget is too low. */
const refusedMs = 250;

export interface FollowerOptions {
  readonly database: Database;
  /** Id of this process among those of the store. */
  readonly holder: string;
  readonly targets: readonly PurgeTarget[];
  /** Identifies everything besides the data that affects responses; a change purges everything. */
  readonly form: string;
  readonly counter: PurgeCounter;
  readonly log: Log;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  /** Called with changes that were purged for the second time. */
  readonly onSettled: (changes: readonly NumberedChange[]) => void;
}

/** Purges what the change log says, until the signal aborts, while no other process does. */
export async function followChanges({ targets, ...options }: FollowerOptions): Promise<void> {
  await Promise.all(targets.map((target) => new Follower(target, options).run()));
}

/** The local time measures long requests. */
type FoundPosition = PurgePosition & { readonly foundMs: number };

/** The database's clock, advanced by the time since it was read. */
const timeAfter = ({ now, foundMs }: FoundPosition) =>
  new Date(Date.parse(now) + performance.now() - foundMs).toISOString();

type Options = Omit<FollowerOptions, "targets">;

/** Follows the changes for one cache. Its state is in the store, so any process can continue. */
class Follower {
  readonly #target: PurgeTarget;
  readonly #lease: Lease;
  readonly #options: Options;
  /** Oldest first. */
  #seen: { readonly newest: Position; readonly atMs: number }[] = [];
  /** Two versions that run side by side must not purge everything in turn. */
  #isFormKnown = false;

  constructor(target: PurgeTarget, options: Options) {
    this.#target = target;
    this.#lease = purgeLease(options.database, target.name, options.holder);
    this.#options = options;
  }

  async run(): Promise<void> {
    const { log, signal } = this.#options;
    const onFailure = (error: unknown) => log.warn({ err: error }, "cannot follow the changes to purge; retrying");
    await repeat(() => this.#step(), { signal, retryMs: refusedMs, onFailure });
    await this.#lease.release().catch(() => {});
  }

  async #step(): Promise<number> {
    const position = await this.#findPosition();
    this.#isFormKnown ||= position.state?.form === this.#options.form;
    // Until the first purge has succeeded, the state has no form, so everything is purged.
    const form = (this.#isFormKnown && position.state?.form) || this.#options.form;
    const settled = this.#settledChange(position);
    if (findRange(position, settled, form) === undefined || this.#mustWait(position)) return pollMs;
    const wasHeld = this.#lease.isHeld;
    if (!(await this.#lease.hold())) return refusedMs;
    // Another process may have purged in the meantime.
    const current = wasHeld ? position : await this.#findPosition();
    const range = findRange(current, settled, form);
    if (range === undefined || this.#mustWait(current)) return pollMs;
    const changes = await this.#loadChanges(range, current);
    const plan = planPurge(current, range, changes, this.#target, form);
    if (plan === undefined) return refusedMs;
    if (!(await this.#execute(plan, current))) return refusedMs;
    const purgedTwice = changes.due.filter(({ number }) => number <= plan.next.second);
    if (purgedTwice.length > 0) this.#options.onSettled(purgedTwice);
    return pollMs;
  }

  async #findPosition(): Promise<FoundPosition> {
    const foundMs = performance.now();
    return { ...(await findPurgePosition(this.#options.database, this.#target.name)), foundMs };
  }

  #mustWait(position: PurgePosition): boolean {
    return mustWait(position) || !hasTokens(position, this.#target);
  }

  /** The newest change that was seen long enough ago. */
  #settledChange({ newest }: PurgePosition): Position | undefined {
    const atMs = performance.now();
    const last = this.#seen.at(-1);
    const kind = last === undefined ? "skipped" : classify(last.newest, newest);
    // Numbers of lost changes are used again.
    if (kind === "skipped" || kind === "replaced") this.#seen = [];
    if (kind !== "none") this.#seen.push({ newest, atMs });
    const settled = this.#seen.findLastIndex((seen) => atMs - seen.atMs >= gatherMs);
    this.#seen = this.#seen.slice(Math.max(0, settled));
    return settled < 0 ? undefined : this.#seen[0]?.newest;
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

  /** @returns whether everything was purged, and saved */
  async #execute({ isEverything, requests, reserved, next }: PurgePlan, position: FoundPosition): Promise<boolean> {
    const { counter, fetch, log, signal } = this.#options;
    const { name, budget } = this.#target;
    // Saved before sending, so that a process that takes over keeps to the budget, too.
    if (budget !== undefined && !(await this.#save(position, reserved))) return false;
    let sent = 0;
    try {
      for (const { tags } of requests) {
        if (!(await this.#lease.renew())) return false;
        sent++;
        await this.#lease.keep(() => sendPurge(this.#target, this.#target.toRequest(tags), signal, fetch));
        counter.sent++;
        counter.tags += tags.length;
        counter.kinds += kinds.filter((kind) => tags.includes(kind)).length;
      }
    } catch (error) {
      if (!(error instanceof PurgeError)) throw error;
      counter.failed++;
      const unsent = giveBack(reserved, requests.slice(sent), this.#target);
      const failed = fail(unsent, error, timeAfter(position), Math.random());
      if (reserved.failure === undefined) log.warn({ target: name, cause: error.message }, "cannot purge; retrying");
      await this.#save(position, failed);
      return false;
    }
    if (reserved.failure !== undefined)
      log.info({ target: name, failures: reserved.failure.count }, "purging works again");
    const tags = requests.reduce((sum, request) => sum + request.tags.length, 0);
    const purge = { at: timeAfter(position), isAll: isEverything, requests: requests.length, tags };
    return await this.#save(position, record(next, position.state, purge));
  }

  #save({ state: from }: PurgePosition, to: PurgeState): Promise<boolean> {
    return this.#options.database.inTransaction((transaction) =>
      savePurgeState(transaction, this.#target.name, { from, to }, this.#lease),
    );
  }
}
