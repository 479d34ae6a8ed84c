import { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { MaybePromise } from "../maybe-promise.ts";
import { type ChangePosition, findNewestChange, newestChangeQuery } from "./change.ts";
import type { Database, Queryable } from "./database.ts";
import type { Value } from "./engines/engine.ts";

/** A read that takes longer is repeated at the primary. */
const readTimeoutMs = 500;
const maxQueued = 1000;
/** A standby that takes longer to say what it shows gets new connections. */
const checkTimeoutMs = 2000;

/** Why a standby is not read at the moment. */
export type Unusable = "unreachable" | "slow" | "behind" | "unconfirmed" | "another store";

/** How a standby does, as one process sees it. */
export interface StandbyState {
  /** Its URL without credentials. */
  readonly name: string;
  /** Undefined while it can be read. */
  readonly problem: Unusable | undefined;
  /** How many changes it lacked at the last check, of those that this process had seen. */
  readonly behind: number;
  /** How long ago the first of them was made, in seconds. */
  readonly behindS: number;
}

/** Rows that a standby has, and the newest change that they are at least as new as. */
export interface ShownRows<Row> {
  readonly rows: Row[];
  readonly newest: ChangePosition;
}

/** Facts about the primary that decide whether a standby is one of this store. */
export interface StandbyCheck {
  /** The newest change that this process has seen at the primary. */
  readonly verified: ChangePosition;
  /** Whether the primary has a change; undefined if it does not answer. */
  readonly isKnown: (change: ChangePosition) => MaybePromise<boolean | undefined>;
  /** How long ago the primary made the first change after one, in seconds; undefined likewise. */
  readonly findAgeS: (change: ChangePosition) => Promise<number | undefined>;
}

/** A server that replays the log of the primary, and may be behind, gone, or one of another store. */
export class Standby implements StandbyState {
  readonly #database: Database;
  readonly #limiter: ConcurrencyLimiter;
  /** At the last check; undefined if it has no changes, or did not answer. */
  #shown: ChangePosition | undefined;
  #behind = 0;
  #behindS = 0;
  #problem: Unusable | undefined = "unconfirmed";

  constructor(database: Database) {
    this.#database = database;
    this.#limiter = new ConcurrencyLimiter({
      name: "standby",
      maxActive: database.engine.maxConcurrentReads,
      maxQueued,
      maxWaitMs: readTimeoutMs,
      timeoutMs: readTimeoutMs,
      rejection: `no answer within ${readTimeoutMs} ms`,
    });
  }

  get name(): string {
    return this.#database.name;
  }

  get problem(): Unusable | undefined {
    return this.#problem;
  }

  get behind(): number {
    return this.#behind;
  }

  get behindS(): number {
    return this.#behindS;
  }

  /** As {@link readWithNewest} does, within a time limit. */
  async read<Row>(statement: string, values: Value[]): Promise<ShownRows<Row> | undefined> {
    try {
      return await this.#limiter.run(() => readWithNewest<Row>(this.#database, statement, values));
    } catch (error) {
      // Any other error is one of the statement, such as a conflict with the replay.
      const isLost = this.#database.engine.isConnectionLost(error) || !this.#database.engine.isStoreError(error);
      if (isLost) this.#problem = "unreachable";
      throw error;
    }
  }

  /** Finds out whether it can be read. @throws Error when it does not answer */
  async check({ verified, isKnown, findAgeS }: StandbyCheck): Promise<void> {
    const before = this.#shown;
    const startedMs = performance.now();
    try {
      const { promise: timeout, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new Error(`no answer within ${checkTimeoutMs} ms`)), checkTimeoutMs);
      const shown = await Promise.race([findNewestChange(this.#database), timeout]).finally(() => clearTimeout(timer));
      const tookMs = performance.now() - startedMs;
      this.#shown = shown;
      this.#behind = Math.max(0, verified.number - shown.number);
      this.#behindS = this.#behind === 0 ? 0 : ((await findAgeS(shown)) ?? this.#behindS);
      // Each read would first wait in vain.
      if (tookMs > readTimeoutMs) this.#problem = "slow";
      else if (shown.number < verified.number) this.#problem = "behind";
      else if (shown.number > verified.number) this.#problem = await this.#confirm(before, isKnown);
      else this.#problem = shown.recordedAt === verified.recordedAt ? undefined : "another store";
    } catch (error) {
      this.#shown = undefined;
      this.#problem = "unreachable";
      // Reads that wait on a silent connection fail now.
      this.#database.reconnect();
      throw error;
    }
  }

  /**
   * A standby may show a change before the primary does, so the one of the last check is looked up.
   */
  async #confirm(before: ChangePosition | undefined, isKnown: StandbyCheck["isKnown"]): Promise<Unusable | undefined> {
    if (before === undefined || before.number === 0) return this.#problem ?? "unconfirmed";
    const isIn = await isKnown(before);
    if (isIn === undefined) return this.#problem;
    return isIn ? undefined : "another store";
  }

  /** Why it lacks changes; undefined if that is not known. */
  async explainLag(): Promise<string | undefined> {
    const { engine, sql } = this.#database;
    return await inTime(engine.explainLag(sql).catch(() => undefined));
  }

  close(): Promise<void> {
    return this.#database.close(0);
  }
}

/** Does not wait for long. */
export const inTime = <T>(work: Promise<T>) => Promise.race([work, Bun.sleep(readTimeoutMs).then(() => undefined)]);

interface ChangeColumns {
  readonly shownChange: number;
  readonly shownChangeAt: string | null;
  readonly isFound: boolean | null;
}

/**
 * Runs a query, and reads the newest change in the same statement, so from the same state.
 * @returns undefined if there are no changes at all
 */
export async function readWithNewest<Row>(
  { read }: Queryable,
  statement: string,
  values: Value[],
): Promise<ShownRows<Row> | undefined> {
  const rows = await read<Row & ChangeColumns>(withNewest(statement), values);
  const [first] = rows;
  if (first === undefined) return undefined;
  const newest = { number: first.shownChange, recordedAt: first.shownChangeAt };
  return { rows: first.isFound === null ? [] : rows, newest };
}

/** The join has no condition, so it is a nested loop, which keeps the order of the rows. */
const withNewest = (
  statement: string,
) => `SELECT newest.number AS "shownChange", newest."recordedAt" AS "shownChangeAt",
  found.* FROM (${newestChangeQuery}) AS newest
  LEFT JOIN (SELECT TRUE AS "isFound", given.* FROM (${statement}) AS given) AS found ON TRUE`;
