import { type Config, readConfig } from "../config/index.ts";
import { settings } from "../config/settings.ts";
import type { Database } from "../database/database.ts";
import { ServiceError } from "../errors.ts";
import type { Log } from "../log.ts";

/** Told to stop: by the system, or by a person at the terminal. */
export function onSignal(): { told: Promise<NodeJS.Signals>; signal: AbortSignal } {
  const controller = new AbortController();
  const told = new Promise<NodeJS.Signals>((resolve) => {
    // For good: a terminal tells the whole group and npm tells once more, and the second must not cut the stop short.
    for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, resolve);
  });
  told.then((name) => controller.abort(new ServiceError("unavailable", `stopped by ${name}`)));
  return { told, signal: controller.signal };
}

export async function openLog({ logLevel }: Config): Promise<Log> {
  const { createLog } = await import("../log.ts");
  return await createLog(logLevel);
}

export async function withDatabase<T>(work: (database: Database, config: Config) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  const [{ closeDatabase, openDatabase }, { explainFull }] = await Promise.all([
    import("../database/index.ts"),
    import("../database/database.ts"),
  ]);
  const database = await openDatabase(config.databaseUrl);
  try {
    return await work(database, config);
  } catch (error) {
    throw explainFull(database, error);
  } finally {
    await closeDatabase(database);
  }
}

/** The brand that the option names, checked like the setting. */
export function brandOf(config: Config, { brand }: Record<string, unknown>): string {
  if (typeof brand !== "string") return config.brand;
  try {
    return settings.brand.parse(brand);
  } catch (cause) {
    throw new ServiceError("bad_request", `--brand: ${(cause as Error).message}`, { cause });
  }
}
