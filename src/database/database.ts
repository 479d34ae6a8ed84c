import type { SQL } from "bun";
import type { Dialect } from "./dialect.ts";

/** An open store. Queries take it as their first argument. */
export interface Database {
  readonly sql: SQL;
  readonly dialect: Dialect;
}

/** The database's clock: ISO 8601 in UTC with milliseconds. */
export async function readNow({ sql, dialect }: Database): Promise<string> {
  const [row] = await sql<{ now: string }[]>`SELECT ${sql.unsafe(dialect.now)} AS now`;
  return row?.now ?? "";
}

/** Runs `work` in one transaction that may write: all of it happens, or nothing. */
export function writing<T>({ sql, dialect }: Database, work: (transaction: SQL) => Promise<T>): Promise<T> {
  return sql.begin(dialect.write, work) as Promise<T>;
}
