import { existsSync, readdirSync } from "node:fs";
import { constants, hostname, setPriority, userInfo } from "node:os";
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
 * Waits for SIGTERM, or for SIGINT from a person at the terminal. A second SIGINT, at least a second
 * later, ends the process at once.
 */
export function onSignal(): { received: Promise<NodeJS.Signals>; signal: AbortSignal } {
  const controller = new AbortController();
  const received = new Promise<NodeJS.Signals>((resolve) => {
    let interruptedAt: number | undefined;
    process.on("SIGTERM", resolve);
    process.on("SIGINT", (name) => {
      const now = performance.now();
      interruptedAt ??= now;
      if (now - interruptedAt >= sameKeyMs) process.exit(interrupted);
      resolve(name);
    });
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

/**
 * Works with the store that is there, and does not create one.
 * @throws ServiceError `unavailable` without one
 */
export async function withStore<T>(work: (database: Database, config: Config) => Promise<T>): Promise<T> {
  const { databaseUrl } = readConfig(process.env);
  await requireStore(databaseUrl);
  return await withDatabase(work);
}

/** @throws ServiceError `unavailable` if the store of the settings has not been created */
export async function requireStore(databaseUrl: string): Promise<void> {
  const { databaseExists } = await import("../database/index.ts");
  if (databaseExists(databaseUrl)) return;
  throw new ServiceError(
    "unavailable",
    `DATABASE_URL: ${databaseUrl} does not exist yet; "pds serve" and the imports create it`,
  );
}

/** Reads the settings, opens the store or creates it, and closes it after the work. */
export async function withDatabase<T>(work: (database: Database, config: Config) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  const [{ closeDatabase, openDatabase }, { explainDiskFull }] = await Promise.all([
    import("../database/index.ts"),
    import("../database/disk.ts"),
  ]);
  const database = await openDatabase(config.databaseDirectUrl || config.databaseUrl, "job");
  try {
    return await work(database, config);
  } catch (error) {
    throw explainDiskFull(database, error);
  } finally {
    await closeDatabase(database);
  }
}

/** Lowers this process's priority below that of a service on the same machine. */
export function lowerPriority(): void {
  // On Linux each thread has its own priority, including those of the garbage collector, which have
  // already started.
  const threads = existsSync("/proc/self/task") ? readdirSync("/proc/self/task") : ["0"];
  for (const thread of threads) {
    try {
      setPriority(Number(thread), constants.priority.PRIORITY_LOW);
    } catch {
      // The thread has ended meanwhile, or the system forbids it; the command works without.
    }
  }
}

const maxRunId = 2 ** 31 - 1;

/** @throws ServiceError `bad_request` */
export function parseRunId(command: string, text: string): number {
  const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0;
  if (id >= 1 && id <= maxRunId) return id;
  throw new ServiceError("bad_request", `${command}: expected the number of a run, as "pds history" prints it`);
}

/** Who runs this command, for display. */
export function describeOperator(): string {
  return `${userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return `user ${process.getuid?.()}`;
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
