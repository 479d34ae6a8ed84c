import { existsSync, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { constants, hostname, setPriority, userInfo } from "node:os";
import { ServiceError } from "../base/errors.ts";
import { parseId } from "../base/id.ts";
import type { Log } from "../base/log.ts";
import { failed } from "../base/program.ts";
import { type Config, readConfig } from "../config/index.ts";
import { settings } from "../config/settings.ts";
import type { Database } from "../database/database.ts";

/** The parsed options of a command. */
export type Values = Readonly<Record<string, unknown>>;

/** Exit status after SIGINT, by convention. */
const interrupted = 130;
/**
 * Within this time, signals count as one Ctrl+C: the terminal signals the whole group, and npm
 * again.
 */
const sameKeyMs = 1000;

/**
 * Waits for SIGTERM or SIGINT, and sets the exit status of a command that is then stopped. A SIGINT
 * at least a second after the first signal ends the process at once.
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
    process.exitCode = name === "SIGINT" ? interrupted : failed;
    controller.abort(new ServiceError("unavailable", `stopped by ${name}`));
  });
  return { received, signal: controller.signal };
}

export async function openLog({ logLevel }: Config): Promise<Log> {
  const { createLog } = await import("../base/log.ts");
  return await createLog(logLevel);
}

type StoreWork<T> = (database: Database, config: Config) => Promise<T>;

/**
 * Works with an existing store.
 * @throws ServiceError `unavailable` without a store
 */
export function withStore<T>(work: StoreWork<T>): Promise<T> {
  return withStoreIfAny((database, config) => {
    if (database !== undefined) return work(database, config);
    throw new ServiceError(
      "unavailable",
      `DATABASE_URL: ${storeUrlOf(config)} does not exist yet; "pds serve" and the imports create it`,
    );
  });
}

/** Like {@link withStore}, but passes undefined without a store. */
export async function withStoreIfAny<T>(
  work: (database: Database | undefined, config: Config) => Promise<T>,
): Promise<T> {
  const config = readConfig(process.env);
  const { openStored } = await import("../database/index.ts");
  const database = await openStored(storeUrlOf(config));
  if (database === undefined) return await work(undefined, config);
  return await closeAfter(database, () => work(database, config));
}

/** Creates the store if it does not exist. */
export async function withDatabase<T>(work: StoreWork<T>, config = readConfig(process.env)): Promise<T> {
  const { openDatabase } = await import("../database/index.ts");
  const database = await openDatabase(storeUrlOf(config));
  return await closeAfter(database, () => work(database, config));
}

/** Commands hold long transactions, so they bypass a pooler. */
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

/** So that a service on the same machine takes precedence. */
export function lowerPriority(): void {
  // On Linux, each thread has its own priority, even those of the garbage collector.
  const threads = existsSync("/proc/self/task") ? readdirSync("/proc/self/task") : ["0"];
  for (const thread of threads) {
    try {
      setPriority(Number(thread), constants.priority.PRIORITY_LOW);
    } catch {
      // The thread has ended meanwhile, or the system forbids it; the command works without.
    }
  }
}

/**
 * @returns undefined if nothing has the path
 * @throws ServiceError `bad_request` for a path that cannot be followed
 */
export function findPath(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw new ServiceError("bad_request", `${path}: ${(cause as Error).message}`, { cause });
  }
}

/** @throws ServiceError `bad_request` */
export function parseRunId(command: string, text: string): number {
  const id = parseId(text);
  if (id !== undefined) return id;
  throw new ServiceError("bad_request", `${command}: expected the number of a run, as "pds history" prints it`);
}

/** The person who runs this command, for display. */
export const describeOperator = () => `${userName()}@${hostname()}`;

/** The name in the user table: the runtime returns the variable `USER`. */
function userName(): string {
  const { uid, username } = userInfo();
  if (uid < 0) return username;
  const users = existsSync("/etc/passwd") ? readFileSync("/etc/passwd", "utf8") : "";
  const [, name] = users.match(new RegExp(`^([^:\\n]+):[^:\\n]*:${uid}:`, "m")) ?? [];
  // A container's user may have no name, and other systems keep their users elsewhere.
  return name ?? (username === "unknown" ? `user ${uid}` : username);
}

/**
 * The option `--brand`, or the configured brand.
 * @throws ServiceError `bad_request`
 */
export function brandOf(config: Config, { brand }: Values): string {
  return typeof brand === "string" ? parseGiven("--brand", brand, settings.brand.parse) : config.brand;
}

/** @throws ServiceError `bad_request`, with the name of the option or argument, if `parse` throws */
export function parseGiven<Value>(name: string, text: string, parse: (text: string) => Value): Value {
  try {
    return parse(text);
  } catch (cause) {
    throw new ServiceError("bad_request", `${name}: ${(cause as Error).message}`, { cause });
  }
}
