import { hideCredentials } from "../base/credentials.ts";
import { ServiceError } from "../base/errors.ts";
import { requirePrimary } from "./change.ts";
import { Database } from "./database.ts";
import { checkFreeSpace, explainDiskFull } from "./disk.ts";
import type { ConnectOptions, EngineConnections, Purpose, Read, StoreFailure } from "./engines/engine.ts";
import { engineOf, engines } from "./engines/index.ts";
import { retryWhileBusy } from "./engines/retry-while-busy.ts";
import { createTables, OtherSchemaError, readSchemaState, readTables, type SchemaState } from "./migrate.ts";

/**
 * Creates the tables if the store is empty.
 * @throws ServiceError `unavailable` if it is unreachable, or has tables of another version
 */
export function openDatabase(url: string, purpose: Purpose = "job", options: ConnectOptions = {}): Promise<Database> {
  return open(url, purpose, options, async (database) => {
    await retryWhileBusy(database.engine, () => createTables(database));
    return database;
  });
}

/**
 * Opens the store without changing it.
 * @returns undefined if there is none yet
 * @throws ServiceError as {@link openDatabase} does
 */
export async function openStored(url: string): Promise<Database | undefined> {
  const ifCurrent = async (database: Database) => {
    const state = await retryWhileBusy(database.engine, () => readSchemaState(database));
    if (state === "current") return database;
    await closeDatabase(database);
    return undefined;
  };
  return await open(url, "job", {}, ifCurrent, () => undefined);
}

/**
 * Opens the store without changing it, and closes it again.
 * @param setting name of the setting with the URL
 * @throws ServiceError as {@link openDatabase} does, also for a standby, or if a right is missing
 */
export async function inspectStore(url: string, setting: string, options: ConnectOptions): Promise<SchemaState> {
  const inspect = async (database: Database) => {
    await requirePrimary(database, setting);
    const state = await retryWhileBusy(database.engine, () => readSchemaState(database));
    database.engine.file?.requireWritable(url);
    database.engine.file?.requireWhole(url);
    await checkFreeSpace(database);
    const missing = await database.engine.server?.findMissingRight(database.sql);
    if (missing !== undefined) throw new Error(missing);
    await closeDatabase(database);
    return state;
  };
  return await open<SchemaState>(url, "job", { ...options, setting }, inspect, () => {
    engineOf(url).file?.requireWritable(url);
    return "absent";
  });
}

/** @param ifAbsent handles an embedded store without our tables, which may be another program's */
async function open<T>(
  url: string,
  purpose: Purpose,
  options: ConnectOptions,
  prepare: (database: Database) => Promise<T>,
  ifAbsent?: () => T,
): Promise<T> {
  const engine = engineOf(url);
  let connections: EngineConnections | undefined;
  try {
    // First, so that a store that is refused or damaged stays unchanged.
    const look = (read: Read) => readTables(engine, read);
    const state = await retryWhileBusy(engine, async () => engine.file?.lookAt(url, look));
    if (state === "absent" && ifAbsent !== undefined) return ifAbsent();
    connections = await engine.open(url, purpose, options);
    return await prepare(new Database(engine, hideCredentials(url), connections));
  } catch (error) {
    await connections?.close(0);
    throw explainOpening(error, url, options);
  }
}

const hints: Partial<Record<StoreFailure, string>> = {
  damaged: "; if it is the right file, restore a backup",
  unprepared: "; set DATABASE_PREPARE=off",
  refused: "; behind a pooler, set DATABASE_DIRECT_URL to the server",
};

function explainOpening(error: unknown, url: string, { setting = "DATABASE_URL" }: ConnectOptions): ServiceError {
  const engine = engineOf(url);
  const name = hideCredentials(url);
  const cause = explainDiskFull({ engine, name }, error) as Error;
  if (cause instanceof ServiceError) return cause;
  const failure = engine.classify(error);
  const hint = (failure && hints[failure]) ?? "";
  return new ServiceError("unavailable", `${setting}: cannot open ${name}: ${cause.message}${hint}`, { cause });
}

export const closeDatabase = (database: Database) => database.close(5);

/** Whether opening the store failed because another version made its tables. */
export const isOtherSchema = (error: unknown) => (error as Error).cause instanceof OtherSchemaError;

/** Whether the store failed. Our statements are tested, so it must be unreachable. */
export const isDatabaseError = (error: unknown) => engines.some(({ classify }) => classify(error) !== undefined);

export const isDamage = (error: unknown) => engines.some(({ classify }) => classify(error) === "damaged");

/** @returns an error that says what to do if the cause is known; any other error unchanged */
export function explainStoreError(database: Database, error: unknown): unknown {
  const explained = explainDiskFull(database, error);
  const { engine, name } = database;
  const failure = engine.classify(explained);
  if (failure === "busy") return fail("another process has locked it; try again later");
  if (failure === "damaged") return fail(`it is damaged: ${(error as Error).message}; restore a backup`);
  if (failure === "read-only") return fail(`it accepts no writes: ${(error as Error).message}`);
  if (failure === "lost") return fail(`the connection was lost: ${(error as Error).message}`);
  return explained;

  function fail(reason: string) {
    return new ServiceError("unavailable", `DATABASE_URL: ${name}: ${reason}`, { cause: error });
  }
}
