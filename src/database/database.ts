import { statfs } from "node:fs/promises";
import type { SQL } from "bun";
import { ServiceError } from "../errors.ts";
import type { Dialect } from "./dialect.ts";

/** An open store. Queries take it as their first argument. */
export interface Database {
  readonly sql: SQL;
  readonly dialect: Dialect;
  /** Where it is, as messages may say it. */
  readonly name: string;
  /** The folder of an embedded store; undefined for one that looks after its own disk. */
  readonly folder: string | undefined;
  /** Asks what is asked over and over, by a statement that stays prepared; its values are `$1`, `$2` … in this order. */
  readonly read: <Row>(text: string, values: Value[]) => Promise<Row[]>;
  readonly closeReader: () => void;
}

export type Value = string | number | bigint;

/** The database's clock: ISO 8601 in UTC with milliseconds. */
export async function readNow({ sql, dialect }: Database): Promise<string> {
  const [row] = await sql<{ now: string }[]>`SELECT ${sql.unsafe(dialect.now)} AS now`;
  return row?.now ?? "";
}

/** Runs `work` in one transaction that may write: all of it happens, or nothing. It waits for its turn. */
export function writing<T>({ sql, dialect }: Database, work: (transaction: SQL) => Promise<T>): Promise<T> {
  return retryWhileBusy(dialect, async () => (await sql.begin(dialect.write, work)) as T);
}

/** How long something is tried again and again whose turn it is not, and how often. */
const patienceMs = 30_000;
const busyPauseMs = 10;

/** Tries again what fails only since others have the store at the moment. */
export async function retryWhileBusy<T>(dialect: Dialect, work: () => Promise<T>): Promise<T> {
  for (const begunAt = performance.now(); ; await Bun.sleep(busyPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!dialect.isBusy(error) || performance.now() - begunAt > patienceMs) throw error;
    }
  }
}

const triesWhenFull = 3;
const fullPauseMs = 100;

/** Does what must be done even when the store's disk is full: a little room comes from its log. */
export async function inFullStore<T>({ sql, dialect }: Database, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!dialect.isFull(error) || attempt === triesWhenFull) throw error;
      await Bun.sleep(fullPauseMs);
      // It may be too full even for that.
      await sql.unsafe(dialect.shrinkLog).catch(() => {});
    }
  }
}

/** An error of the store, put so that a person knows what to do when it is full; any other error as it is. */
export function explainFull({ dialect, name }: Pick<Database, "dialect" | "name">, error: unknown): unknown {
  if (error instanceof ServiceError || !dialect.isFull(error)) return error;
  const { message } = error as Error;
  return new ServiceError(
    "unavailable",
    `DATABASE_URL: ${name} cannot grow: its disk is full, or a limit is reached (${message}); free some space there`,
    { cause: error },
  );
}

/** What a transaction of an import and the removal of a whole generation need, with some to spare. */
const roomBytes = 16 * 2 ** 20;

/**
 * Makes sure that there is room for more rows, and afterwards for their removal: an embedded store cannot even delete on a disk
 * that is full to the last byte, nor record that a run has failed.
 * @throws ServiceError `unavailable` when there is too little.
 */
export async function checkRoom({ name, folder }: Database): Promise<void> {
  if (folder === undefined) return;
  // Not every system tells: then the store itself will.
  const disk = await statfs(folder).catch(() => undefined);
  const free = disk === undefined ? Number.POSITIVE_INFINITY : disk.bavail * disk.bsize;
  if (free >= roomBytes) return;
  const megabytes = (bytes: number) => Math.floor(bytes / 2 ** 20);
  throw new ServiceError(
    "unavailable",
    `DATABASE_URL: the disk of ${name} is full: ${megabytes(free)} MB are left, and an import needs ${megabytes(roomBytes)} MB ` +
      "to be able to clean up behind itself; free some space there",
  );
}
