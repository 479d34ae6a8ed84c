import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { SQL } from "bun";
import { withoutPassword } from "../config.ts";
import { ServiceError } from "../errors.ts";
import type { Database } from "./database.ts";
import { dialectOf } from "./dialect.ts";
import { migrate } from "./migrations.ts";

/**
 * Opens the store and brings its tables up to date.
 * @param url `sqlite:PATH` (made when absent, with its folder) or `postgres://…`
 * @param isYielding whether its process must go on while others write: everything that it writes then goes through `writing`
 * @throws ServiceError `unavailable` when it cannot be reached.
 */
export async function openDatabase(url: string, isYielding = false): Promise<Database> {
  const dialect = dialectOf(url);
  const sql = url.startsWith("sqlite:")
    ? await openFile(url.slice("sqlite:".length))
    : // All of a pool's connections are opened at once, and a server counts those of every replica and every run.
      new SQL(url, { connectionTimeout: 5, max: isYielding ? 2 : 5 });
  const database = { sql, dialect };
  try {
    for (const statement of dialect.setup) await sql.unsafe(statement);
    await migrate(database);
    if (isYielding) for (const statement of dialect.yielding) await sql.unsafe(statement);
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

export async function closeDatabase({ sql }: Database): Promise<void> {
  await sql.close({ timeout: 5 });
}
