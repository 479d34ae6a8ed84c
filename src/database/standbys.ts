import { setTimeout as sleep } from "node:timers/promises";
import type { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import { hideCredentials } from "../credentials.ts";
import { ServiceError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { MaybePromise } from "../maybe-promise.ts";
import {
  type ChangePosition,
  findNewestChange,
  findOldestChangeS,
  hasChange,
  keptChanges,
  noChange,
} from "./change.ts";
import { Database } from "./database.ts";
import type { ConnectOptions, Read, Value } from "./engines/engine.ts";
import { engineOf } from "./engines/index.ts";
import { inTime, readWithNewest, Standby, type Unusable } from "./standby.ts";

/** How often each standby is checked. One of another store is found at the second check. */
const checkIntervalMs = 250;
/** A standby that has been unusable for so long is worth a line in the log. */
const warnAfterMs = 5000;
/** How often statements that fail at a standby are worth a line. */
const failureIntervalMs = 60_000;
/** How long all reads of a process go to the same standby. */
const turnMs = 1000;
/** A change that the primary does not show for so long is lost, or was one of another store. */
const lostAfterMs = 5000;

/** Where reads were answered, and why not by a standby. */
export interface StandbyCounts {
  standby: number;
  /** At the primary: a standby lacked changes that this process had seen. */
  behind: number;
  /** At the primary: a standby showed a change that the primary did not have, or not yet. */
  unconfirmed: number;
  /** At the primary: a standby failed, or none could be asked. */
  failed: number;
}

export interface StandbysOptions {
  /** Opened by the same settings. */
  readonly primary: Database;
  readonly urls: readonly string[];
  readonly connect: ConnectOptions;
  /** Limits the reads that the primary gets instead of standbys. */
  readonly limiter: ConcurrencyLimiter;
  /** Whether this process was in touch with the primary lately enough. */
  readonly isCurrent: () => boolean;
  /**
   * Called when data of another store may have been served, and must be forgotten; again while it
   * fails.
   */
  readonly onForeign: () => Promise<void>;
  readonly log: Log;
}

/** Connects to the standbys when they are first checked: none needs to be there. */
export async function openStandbys(options: StandbysOptions): Promise<Standbys> {
  const databases = await Promise.all(options.urls.map((url) => openStandby(url, options.connect)));
  return new Standbys(
    databases.map((database) => new Standby(database)),
    options,
  );
}

/** Nothing is migrated: a standby refuses that. */
async function openUnchecked(url: string, connect: ConnectOptions): Promise<Database> {
  const engine = engineOf(url);
  return new Database(engine, hideCredentials(url), await engine.open(url, "serving", connect));
}

/** @throws ServiceError `unavailable` when the driver refuses a parameter of the URL */
const openStandby = (url: string, connect: ConnectOptions) =>
  openUnchecked(url, connect).catch((cause: Error) => {
    const message = `DATABASE_READ_URLS: cannot open ${hideCredentials(url)}: ${cause.message}`;
    throw new ServiceError("unavailable", message, { cause });
  });

/** How many changes a standby lacks, and why, if that is known. */
export interface StandbyLag {
  readonly behind: number;
  readonly cause: string | undefined;
}

/**
 * Finds out whether a URL leads to a standby of a store.
 * @throws Error when it cannot be read, or is none
 */
export async function inspectStandby(url: string, primaryUrl: string, connect: ConnectOptions): Promise<StandbyLag> {
  const [standby, primary] = [await openStandby(url, connect), await openUnchecked(primaryUrl, connect)];
  try {
    const shown = await findNewestChange(standby);
    const unreadable = await standby.engine.findUnreadable(standby.sql);
    if (unreadable !== undefined) throw new Error(`DATABASE_READ_URLS: ${unreadable}`);
    const newest = await findNewestChange(primary);
    // The log no longer has the changes of a standby that is far behind.
    const isComparable = shown.number !== noChange.number && newest.number - shown.number < keptChanges;
    if (isComparable && !(await hasChange(primary, shown))) {
      throw new Error(
        `DATABASE_READ_URLS: ${standby.name} has changes that DATABASE_URL does not have; is it a standby?`,
      );
    }
    const behind = Math.max(0, newest.number - shown.number);
    return { behind, cause: behind === 0 ? undefined : await standby.engine.explainLag(standby.sql) };
  } finally {
    await Promise.all([standby.close(0), primary.close(0)]);
  }
}

/**
 * Reads from the standbys of a store. The result of a read is at least as new as all that this
 * process had seen when the read began: at the primary, in its own commits, and at other standbys.
 * The newest change that it shows is one of the primary's, so it is not from another store. If a
 * standby cannot give that, the primary is read.
 */
export class Standbys {
  readonly counts: StandbyCounts = { standby: 0, behind: 0, unconfirmed: 0, failed: 0 };
  /** For metrics. */
  readonly list: readonly Standby[];
  readonly #options: StandbysOptions;
  /** The newest change that was seen at the primary. */
  #verified = noChange;
  /** The newest one that was seen anywhere. */
  #seen = noChange;
  #seenAtMs = 0;
  /** Changes that are being looked up at the primary: all reads that show one wait for the same lookup. */
  readonly #lookups = new Map<string, Promise<boolean | undefined>>();
  /** Standbys that were believed while the primary did not answer. */
  readonly #believed = new Set<Standby>();
  /** When a statement that failed at a standby was last logged, by `performance.now()`. */
  readonly #loggedAtMs = new Map<Standby, number>();

  constructor(standbys: readonly Standby[], options: StandbysOptions) {
    this.list = standbys;
    this.#options = options;
  }

  get isUsable(): boolean {
    return this.list.some(({ problem }) => problem === undefined);
  }

  /**
   * Notes a change that the primary has.
   * @param isOtherLog whether the primary's log is another one than before
   */
  note(newest: ChangePosition, isOtherLog = false): void {
    const isLost = newest.number < this.#seen.number && performance.now() - this.#seenAtMs > lostAfterMs;
    if (isOtherLog || isLost) this.#verified = this.#seen = newest;
    else if (newest.number > this.#verified.number) this.#verified = newest;
    this.#noteSeen(this.#verified);
  }

  #noteSeen(newest: ChangePosition): void {
    if (newest.number <= this.#seen.number) return;
    this.#seen = newest;
    this.#seenAtMs = performance.now();
  }

  readonly read: Read = <Row>(statement: string, values: Value[]) => {
    const standby = this.#choose();
    return standby === undefined
      ? this.#readPrimary<Row>(statement, values)
      : this.#read<Row>(standby, statement, values);
  };

  /** In turns, of which each is longer than most requests: the statements of one see the same standby. */
  #choose(): Standby | undefined {
    const { isCurrent } = this.#options;
    const usable = isCurrent() ? this.list.filter(({ problem }) => problem === undefined) : [];
    if (usable.length > 0) return usable[Math.floor(performance.now() / turnMs) % usable.length];
    if (this.list.some(({ problem }) => problem === "behind")) this.counts.behind++;
    else this.counts.failed++;
    return undefined;
  }

  async #read<Row>(standby: Standby, statement: string, values: Value[]): Promise<Row[]> {
    const seen = this.#seen;
    try {
      const shown = await standby.read<Row>(statement, values);
      if (shown === undefined || !isAtLeast(shown.newest, seen)) this.counts.behind++;
      else if (await this.#believes(standby, shown.newest)) {
        this.counts.standby++;
        // Later reads at another standby must not go back.
        this.#noteSeen(shown.newest);
        return shown.rows;
      } else this.counts.unconfirmed++;
    } catch (error) {
      this.counts.failed++;
      this.#logFailure(standby, error as Error);
    }
    return await this.#readPrimary(statement, values);
  }

  /** A standby that answers, but not this statement, such as for want of a right, is checked in vain. */
  #logFailure(standby: Standby, error: Error): void {
    const { log } = this.#options;
    const { name, problem } = standby;
    const nowMs = performance.now();
    const isRecent = nowMs - (this.#loggedAtMs.get(standby) ?? Number.NEGATIVE_INFINITY) < failureIntervalMs;
    if (problem !== undefined || isRecent) {
      log.debug({ standby: name, err: error }, "a standby failed; reading from the primary");
      return;
    }
    this.#loggedAtMs.set(standby, nowMs);
    log.warn({ standby: name, cause: error.message }, "a statement failed at a standby: the primary is read instead");
  }

  /** Without the primary, a standby is believed as long as its last check found nothing wrong. */
  async #believes(standby: Standby, shown: ChangePosition): Promise<boolean> {
    const isKnown = await this.#isKnown(shown);
    if (isKnown === undefined) this.#believed.add(standby);
    return isKnown !== false;
  }

  /** Whether the primary has a change; undefined if it does not answer in time. */
  #isKnown(change: ChangePosition): MaybePromise<boolean | undefined> {
    if (isSame(change, this.#verified)) return true;
    const key = `${change.number} ${change.recordedAt}`;
    const pending = this.#lookups.get(key);
    if (pending !== undefined) return pending;
    // Once it has taken too long, later reads do not wait for it at all.
    const lookup = inTime(this.#lookUp(change).finally(() => this.#lookups.delete(key)));
    this.#lookups.set(key, lookup);
    return lookup;
  }

  async #lookUp(change: ChangePosition): Promise<boolean | undefined> {
    const isKnown = await hasChange(this.#options.primary, change).catch(() => undefined);
    if (isKnown === true && change.number > this.#verified.number) this.#verified = change;
    return isKnown;
  }

  async #readPrimary<Row>(statement: string, values: Value[]): Promise<Row[]> {
    const { limiter, primary } = this.#options;
    const shown = await limiter.run(() => readWithNewest<Row>(primary, statement, values));
    if (shown === undefined) return await limiter.run(async () => await primary.read<Row>(statement, values));
    // The primary may have more than the last poll found. Later reads at a standby must not go back.
    this.#noteSeen(shown.newest);
    return shown.rows;
  }

  /** Checks the standbys until the signal aborts, then closes their connections. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.list.map((standby) => this.#follow(standby, signal)));
  }

  async #follow(standby: Standby, signal: AbortSignal): Promise<void> {
    const { log, onForeign, primary } = this.#options;
    const isKnown = (change: ChangePosition) => this.#isKnown(change);
    const findAgeS = ({ number }: ChangePosition) => inTime(findOldestChangeS(primary, number).catch(() => undefined));
    let usableMs = performance.now();
    let warned: Unusable | undefined;
    while (!signal.aborted) {
      let cause: string | undefined;
      await standby.check({ verified: this.#verified, isKnown, findAgeS }).catch((error: Error) => {
        cause = error.message;
      });
      if (signal.aborted) break;
      const { name, problem } = standby;
      const isForeign = problem === "another store";
      if (isForeign && this.#believed.has(standby)) {
        this.#seen = this.#verified;
        await onForeign().then(
          () => this.#believed.delete(standby),
          (error) => log.debug({ err: error }, "cannot forget the data of another store; retrying"),
        );
      }
      if (problem === undefined) {
        if (warned !== undefined) log.info({ standby: name }, "a standby is read again");
        usableMs = performance.now();
        warned = undefined;
      } else if (
        // The first reason may not be the worst one.
        isForeign ? warned !== problem : warned === undefined && performance.now() - usableMs >= warnAfterMs
      ) {
        if (problem === "behind") cause = await standby.explainLag();
        log.warn({ standby: name, reason: problem, cause }, "a standby is not read: the primary or other standbys are");
        warned = problem;
      }
      await sleep(checkIntervalMs, undefined, { signal }).catch(() => {});
    }
    await standby.close().catch(() => {});
  }
}

/** Whether a standby that shows one change has everything that was seen at another. */
const isAtLeast = (shown: ChangePosition, seen: ChangePosition) => shown.number > seen.number || isSame(shown, seen);

const isSame = (a: ChangePosition, b: ChangePosition) => a.number === b.number && a.recordedAt === b.recordedAt;
