import { type Config, readConfig } from "../config/index.ts";
import { settings } from "../config/settings.ts";
import type { Database } from "../database/database.ts";
import { ServiceError } from "../errors.ts";
import type { Log } from "../log.ts";

/** The parsed options of a command. */
export type Values = Readonly<Record<string, unknown>>;

/** The signal that stopped the command; undefined if none did. */
export let stoppedBy: NodeJS.Signals | undefined;

/** Exit status after SIGINT, by convention. */
export const interrupted = 130;
/** The terminal signals the whole group, and npm signals again, so that one Ctrl+C is two signals. */
const sameKeyMs = 1000;

/**
 * Waits for SIGTERM, or for SIGINT from a person at the terminal. A SIGINT at least a second after
 * the first signal ends the process at once.
 */
export function onSignal(): { received: Promise<NodeJS.Signals>; signal: AbortSignal } {
  const controller = new AbortController();
  const received = new Promise<NodeJS.Signals>((resolve) => {
    let stoppingSince: number | undefined;
    const receive = (name: NodeJS.Signals) => {
      const now = performance.now();
      stoppingSince ??= now;
      if (name === "SIGINT" && now - stoppingSince >= sameKeyMs) process.exit(interrupted);
      resolve(name);
    };
    process.on("SIGTERM", receive);
    process.on("SIGINT", receive);
  });
  received.then((name) => {
    stoppedBy = name;
    controller.abort(new ServiceError("unavailable", `stopped by ${name}`));
  });
  return { received, signal: controller.signal };
}

export async function openLog({ logLevel }: Config): Promise<Log> {
  const { createLog } = await import("../log.ts");
  return await createLog(logLevel);
}

type StoreWork<T> = (database: Database, config: Config) => Promise<T>;

/**
 * Works with the store that is there, and neither creates nor upgrades one.
 * @param access a command that changes data needs the tables of this version; one that only reads
 *   may find what it needs in an older store
 * @throws ServiceError `unavailable` without a store, or with one that is too old
 */
export function withStore<T>(work: StoreWork<T>, access: "read" | "write" = "read"): Promise<T> {
  return withStoreIfAny((database, config) => {
    if (database !== undefined) return work(database, config);
    throw new ServiceError(
      "unavailable",
      `DATABASE_URL: ${storeUrlOf(config)} does not exist yet; "pds serve" and the imports create it`,
    );
  }, access);
}

/** Like {@link withStore}, for work that can do without a store. */
export async function withStoreIfAny<T>(
  work: (database: Database | undefined, config: Config) => Promise<T>,
  access: "read" | "write" = "read",
): Promise<T> {
  const config = readConfig(process.env);
  const { isDatabaseError, openStored } = await import("../database/index.ts");
  const store = await openStored(storeUrlOf(config));
  if (store === undefined) return await work(undefined, config);
  const { database, state } = store;
  const isOlder = state === "older";
  const refuse = (cause?: unknown): never => {
    const message = `DATABASE_URL: an older version made ${database.name}; "pds serve" and the imports upgrade it`;
    throw new ServiceError("unavailable", message, { cause });
  };
  return await closeAfter(database, async () => {
    if (isOlder && access === "write") refuse();
    return await work(database, config).catch((error) => {
      if (isOlder && isDatabaseError(error)) refuse(error);
      throw error;
    });
  });
}

/** Reads the settings, opens the store or creates it, and closes it after the work. */
export async function withDatabase<T>(work: StoreWork<T>, config = readConfig(process.env)): Promise<T> {
  const { openDatabase } = await import("../database/index.ts");
  const database = await openDatabase(storeUrlOf(config));
  return await closeAfter(database, () => work(database, config));
}

/** Commands hold transactions, so they connect to the server itself. */
const storeUrlOf = ({ databaseDirectUrl, databaseUrl }: Config) => databaseDirectUrl || databaseUrl;

async function closeAfter<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const { closeDatabase, explainStoreError } = await import("../database/index.ts");
  try {
    return await work();
  } catch (error) {
    throw explainStoreError(database, error);
  } finally {
    await closeDatabase(database);
  }
}

/**
 * Returns the brand of the option `--brand`, or the configured brand.
 * @throws ServiceError `bad_request`
 */
export function brandOf(config: Config, { brand }: Values): string {
  if (typeof brand !== "string") return config.brand;
  try {
    return settings.brand.parse(brand);
  } catch (cause) {
    throw new ServiceError("bad_request", `--brand: ${(cause as Error).message}`, { cause });
  }
}
