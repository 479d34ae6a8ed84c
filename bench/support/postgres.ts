import { SQL } from "bun";
import { createPostgres } from "../../test/support/postgres.ts";
import { withFolder } from "./folder.ts";

/** Provides a temporary folder and a PostgreSQL server with the given settings during the work. */
export function withPostgres(
  settings: readonly string[],
  work: (folder: string, serverUrl: string) => Promise<void>,
): Promise<void> {
  return withFolder(async (folder) => {
    const postgres = await createPostgres([...settings]);
    try {
      await work(folder, postgres.url);
    } finally {
      await postgres.remove();
    }
  });
}

/** Creates a database. @returns its URL */
export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  await using sql = new SQL(serverUrl, { max: 1 });
  await sql.unsafe(`CREATE DATABASE ${name}`);
  return serverUrl.replace(/[^/]+$/, name);
}
