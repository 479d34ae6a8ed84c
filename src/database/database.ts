import type { SQL } from "bun";
import type { Dialect } from "./dialect.ts";

/** An open store. Queries take it as their first argument. */
export interface Database {
  readonly sql: SQL;
  readonly dialect: Dialect;
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
  return inTurn(dialect, async () => (await sql.begin(dialect.write, work)) as T);
}

/** How long something is tried again and again whose turn it is not, and how often. */
const patienceMs = 30_000;
const busyPauseMs = 10;

/** Tries again what fails only since others have the store at the moment. */
export async function inTurn<T>(dialect: Dialect, work: () => Promise<T>): Promise<T> {
  for (const begunAt = performance.now(); ; await Bun.sleep(busyPauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!dialect.isBusy(error) || performance.now() - begunAt > patienceMs) throw error;
    }
  }
}
