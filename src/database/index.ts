import { Database as EmbeddedStore, SQLiteError } from "bun:sqlite";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { SQL } from "bun";
import { hideCredentials } from "../credentials.ts";
import { ServiceError } from "../errors.ts";
import { type Database, explainFull, retryWhileBusy, type Value } from "./database.ts";
import { dialectOf } from "./dialect.ts";
import { migrate } from "./migrations.ts";

/**
 * What a connection is for. Serving: few statements, over and over. Yielding: its process must go on while others write, and everything
 * that it writes goes through `writing`. Looking: many statements, seldom, whose values decide how they are best answered.
 */
export type Use = "serving" | "yielding" | "looking";

/**
 * Opens the store and brings its tables up to date.
 * @param url `sqlite:PATH` (made when absent, with its folder) or `postgres://…`
 * @throws ServiceError `unavailable` when it cannot be reached.
 */
export async function openDatabase(url: string, use: Use = "serving"): Promise<Database> {
  const dialect = dialectOf(url);
  const sql = url.startsWith("sqlite:")
    ? await openFile(url.slice("sqlite:".length))
    : // All of a pool's connections are opened at once, and a server counts those of every replica and every run.
      // A prepared statement is planned for any value, and looks for the newest run of a job that hardly ever ran among all runs.
      new SQL(url, { connectionTimeout: 5, max: use === "serving" ? dialect.readers : 2, prepare: use !== "looking" });
  const reader = url.startsWith("sqlite:") ? readerOfFile(url.slice("sqlite:".length)) : readerOf(sql);
  const path = url.startsWith("sqlite:") ? url.slice("sqlite:".length) : undefined;
  const place = { name: path ?? hideCredentials(url), folder: path === undefined ? undefined : dirname(path) };
  const database: Database = { sql, dialect, ...place, ...reader };
  try {
    // A new file is given its journal by whoever comes first; for that the engine lets nobody wait.
    for (const statement of dialect.setup) await retryWhileBusy(dialect, () => sql.unsafe(statement));
    await migrate(database);
    if (use === "yielding") for (const statement of dialect.yielding) await sql.unsafe(statement);
    return database;
  } catch (error) {
    await sql.close({ timeout: 0 });
    const cause = explainFull(database, error) as Error;
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError("unavailable", `DATABASE_URL: cannot open ${hideCredentials(url)}: ${cause.message}`, {
      cause,
    });
  }
}

/** Whether it is the store that failed; its statements are fixed and tested, so it cannot be reached. */
export const isDatabaseError = (error: unknown) => error instanceof SQL.SQLError || error instanceof SQLiteError;

/** Whether there is a store to open: one that is embedded may not have been made yet. */
export function databaseExists(url: string): boolean {
  return !url.startsWith("sqlite:") || existsSync(url.slice("sqlite:".length));
}

async function openFile(path: string): Promise<SQL> {
  try {
    await mkdir(dirname(path), { recursive: true });
    return new SQL({ adapter: "sqlite", filename: path });
  } catch (cause) {
    throw new ServiceError("unavailable", `DATABASE_URL: cannot open ${path}: ${(cause as Error).message}`, { cause });
  }
}

type Reader = Pick<Database, "read" | "closeReader">;

/** The driver compiles each statement anew, which takes as long as its answer: so reads have a connection that keeps them. */
function readerOfFile(path: string): Reader {
  let store: EmbeddedStore | undefined;
  return {
    read: async <Row>(text: string, values: Value[]) => {
      store ??= openReader(path);
      return store.query<Row, Value[]>(text).all(...values);
    },
    closeReader: () => store?.close(),
  };
}

function openReader(path: string): EmbeddedStore {
  const store = new EmbeddedStore(path, { readonly: true });
  store.run("PRAGMA busy_timeout = 1000");
  store.run("PRAGMA cache_size = -16384");
  return store;
}

function readerOf(sql: SQL): Reader {
  return {
    read: async <Row>(text: string, values: Value[]) => await sql.unsafe<Row[]>(text, values),
    closeReader: () => {},
  };
}

export async function closeDatabase({ sql, closeReader }: Database): Promise<void> {
  closeReader();
  await sql.close({ timeout: 5 });
}
