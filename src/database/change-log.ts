import type { ConcurrencyLimiter } from "../base/concurrency-limiter.ts";
import type { Log } from "../base/log.ts";
import { keptChanges, listChanges, type NumberedChange, StandbyError } from "./change.ts";
import type { Database, Queryable } from "./database.ts";

export interface Position {
  /** 0 before the first change. */
  readonly number: number;
  /** Changes at a failover: the new primary may lack changes, and reuse their numbers. */
  readonly history: string;
  /**
   * Distinguishes equal numbers in the logs of two stores. Undefined before the first change, and
   * in positions that are stored with the log.
   */
  readonly recordedAt?: string | undefined;
}

/** The newest change, and when the one at an earlier position was recorded, if it is known. */
export type LogState = Position & { readonly earlierAt?: string | undefined };

/** What happened to the log since an earlier position. */
export type LogEvent =
  | { readonly kind: "advanced"; readonly changes: readonly NumberedChange[] }
  /** Changes were dropped, or lost in a failover. Stored positions show it, too. */
  | { readonly kind: "skipped" }
  /** A backup was restored, or two standbys were promoted. Stored positions do not show it. */
  | { readonly kind: "replaced" };

/** @param kept minimum number of changes in the log */
export function classify(before: Position, now: LogState, kept = keptChanges): LogEvent["kind"] | "none" {
  if (now.history !== before.history) return "skipped";
  const count = now.number - before.number;
  if (count < 0) return "replaced";
  if (count >= kept) return "skipped";
  if (now.earlierAt !== before.recordedAt) return "replaced";
  return count === 0 ? "none" : "advanced";
}

/**
 * The newest change of the primary.
 * @throws StandbyError when the server is a standby, whose changes may be behind
 */
export async function findPosition({ read, engine }: Queryable, earlier?: Position): Promise<LogState> {
  type Row = { number: number | null; recordedAt: string | null; earlierAt: string | null; history: string | null };
  const [row] = await read<Row>(
    `SELECT newest.*, (SELECT recorded_at FROM change WHERE id = $1) AS "earlierAt", ${engine.history} AS history
    FROM (SELECT 1) AS one
    LEFT JOIN (
      SELECT id AS "number", recorded_at AS "recordedAt" FROM change ORDER BY id DESC LIMIT 1
    ) AS newest ON TRUE`,
    [earlier?.number ?? 0],
  );
  if (row === undefined || row.history === null) throw new StandbyError();
  const { number, recordedAt, earlierAt, history } = row;
  return { number: number ?? 0, history, recordedAt: recordedAt ?? undefined, earlierAt: earlierAt ?? undefined };
}

const pollIntervalMs = 200;
/** Without a response for this long, the store counts as unreachable. A failover takes a second. */
const answerTimeoutMs = 3000;
/** Without a response for this long, connections are dropped, as requests time out by then. */
const silenceMs = 5000;
/** Pause after dropping connections to a standby. */
const reconnectMs = 1000;
/** Limits the queries that pile up when the store hangs. */
const maxPendingPolls = 2;

export interface ChangeLogOptions {
  readonly database: Database;
  /** Limits reads of the store; closed while the store is unreachable. */
  readonly storeLimiter: ConcurrencyLimiter;
  readonly log: Log;
  /** Called again after a failure, and twice with some changes when polls overlap. */
  readonly onEvent: (event: LogEvent) => Promise<void>;
  /** Called when connections have not responded for long, or lead to a standby. */
  readonly onLost: () => void;
}

/** Every process polls the log, so that it also sees the changes of the others. */
export class ChangeLog {
  #verifiedAtMs = performance.now();
  #isStoreUnreachable = false;
  /** The last change whose event was handled. */
  #position: Position = { number: 0, history: "" };
  #pendingPolls = 0;
  #respondedAtMs = performance.now();

  /** By `performance.now()`: when the last successful poll began, or, before the first, when this object was created. */
  get verifiedAtMs(): number {
    return this.#verifiedAtMs;
  }

  get isStoreUnreachable(): boolean {
    return this.#isStoreUnreachable;
  }

  /**
   * Polls until the signal aborts. Call it before anything is cached.
   * @returns a promise that settles when polling has stopped
   */
  async start(options: ChangeLogOptions, signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#position = await findPosition(options.database);
    return { stopped: this.#run(options, signal) };
  }

  async #run(options: ChangeLogOptions, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedMs = performance.now();
      const problem = await this.#pollWithTimeout(options);
      if (signal.aborted) return;
      if (problem === undefined) this.#verifiedAtMs = startedMs;
      // One closed connection, or a restart, is no loss yet: other requests may succeed.
      const isLost = problem !== undefined && performance.now() - this.#verifiedAtMs >= answerTimeoutMs;
      if (problem === undefined ? this.#isStoreUnreachable : isLost && !this.#isStoreUnreachable)
        this.#setStoreProblem(options, problem);
      const isStandby = problem instanceof StandbyError;
      if (isStandby) options.onLost();
      if (this.#pendingPolls > 0 && performance.now() - this.#respondedAtMs > silenceMs) {
        this.#respondedAtMs = performance.now();
        options.onLost();
      }
      await Bun.sleep(isStandby ? reconnectMs : pollIntervalMs);
    }
  }

  async #pollWithTimeout(options: ChangeLogOptions): Promise<Error | undefined> {
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

  async #poll(options: ChangeLogOptions): Promise<void> {
    const { database, onEvent } = options;
    // A later poll on another connection may overtake this one: then changes are handled twice.
    const before = this.#position;
    const now = await findPosition(database, before);
    this.#respondedAtMs = performance.now();
    const kind = classify(before, now);
    if (kind === "none") return;
    // First, because requests for data that the event removes from the cache need the store.
    if (this.#isStoreUnreachable) this.#setStoreProblem(options, undefined);
    await onEvent(
      kind === "advanced" ? { kind, changes: await listChanges(database, before.number, now.number) } : { kind },
    );
    // Set last, so that a failed poll yields the same event again.
    this.#position = now;
  }

  #setStoreProblem({ storeLimiter, log }: ChangeLogOptions, problem: Error | undefined): void {
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
