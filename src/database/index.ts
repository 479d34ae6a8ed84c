import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { SQL } from "bun";
import { withoutPassword } from "../config.ts";
import { ServiceError } from "../errors.ts";
import { type Dialect, dialectOf } from "./dialect.ts";
import { migrate } from "./migrations.ts";

/** An open store. Queries take it as their first argument. */
export interface Database {
  readonly sql: SQL;
  readonly dialect: Dialect;
}

/**
 * Opens the store and brings its tables up to date.
 * @param url `sqlite:PATH` (made when absent, with its folder) or `postgres://…`
 * @throws ServiceError `unavailable` when it cannot be reached.
 */
export async function openDatabase(url: string): Promise<Database> {
  const dialect = dialectOf(url);
  const sql = url.startsWith("sqlite:")
    ? await openFile(url.slice("sqlite:".length))
    : new SQL(url, { connectionTimeout: 5 });
  const database = { sql, dialect };
  try {
    for (const statement of dialect.setup) await sql.unsafe(statement);
    await migrate(database);
    return database;
  } catch (cause) {
    await sql.close({ timeout: 0 });
    throw new ServiceError(
      "unavailable",
      `DATABASE_URL: cannot open ${withoutPassword(url)}: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

async function openFile(path: string): Promise<SQL> {
  try {
    await mkdir(dirname(path), { recursive: true });
    return new SQL({ adapter: "sqlite", filename: path });
  } catch (cause) {
    throw new ServiceError("unavailable", `DATABASE_URL: cannot open ${path}: ${(cause as Error).message}`, { cause });
  }
}

export async function closeDatabase({ sql }: Database): Promise<void> {
  await sql.close({ timeout: 5 });
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
