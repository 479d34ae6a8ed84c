import { hideCredentials } from "../credentials.ts";
import { ServiceError } from "../errors.ts";
import { Database } from "./database.ts";
import { explainDiskFull } from "./disk.ts";
import type { Connections, Purpose } from "./engines/engine.ts";
import { engineOf, engines } from "./engines/index.ts";
import { retryWhileBusy } from "./engines/retry-while-busy.ts";
import { migrate, NewerStoreError } from "./migrate.ts";

/**
 * Opens the store and brings its schema up to date.
 * @param url of a scheme that one of the engines has; an embedded store is created when absent
 * @param isPooled whether a connection pooler is in between
 * @throws ServiceError `unavailable` when the store cannot be reached, or another version made it
 */
export async function openDatabase(url: string, purpose: Purpose = "job", isPooled = false): Promise<Database> {
  const engine = engineOf(url);
  const name = hideCredentials(url);
  let connections: Connections | undefined;
  try {
    connections = await engine.open(url, purpose, isPooled);
    const database = new Database(engine, name, connections);
    await retryWhileBusy(engine, () => migrate(database));
    return database;
  } catch (error) {
    await connections?.close(0);
    const cause = explainDiskFull({ engine, name }, error) as Error;
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError("unavailable", `DATABASE_URL: cannot open ${name}: ${cause.message}`, { cause });
  }
}

export const closeDatabase = (database: Database) => database.close(5);

/** Whether opening the store failed because this program is too old for it. */
export const isTooOld = (error: unknown) => (error as Error).cause instanceof NewerStoreError;

/** Whether the store failed. Its statements are fixed and tested, so it cannot be reached. */
export const isDatabaseError = (error: unknown) => engines.some(({ isStoreError }) => isStoreError(error));

/** Whether there is a store to open. An embedded one may not have been created yet. */
export const databaseExists = (url: string) => engineOf(url).exists(url);
