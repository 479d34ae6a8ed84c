import type { Config } from "./config.ts";
import type { Database } from "./database/database.ts";
import { closeDatabase, openDatabase } from "./database/index.ts";
import { findProduct } from "./database/product.ts";
import { hasSucceeded } from "./database/run.ts";
import { adminRoutes } from "./http/admin.ts";
import { Lookup } from "./http/lookup.ts";
import type { FindProduct } from "./http/product.ts";
import { publicRoutes } from "./http/public.ts";
import { type Listener, listen } from "./http/server.ts";
import { type Job, listJobs } from "./jobs/index.ts";
import type { Log } from "./log.ts";
import { connectPlatform } from "./shopify/connection.ts";
import { readProduct } from "./shopify/read.ts";

export interface Service {
  readonly publicUrl: string;
  readonly adminUrl: string;
  stop(): Promise<void>;
}

/** How long the first start waits for the first data before it listens all the same. */
const firstDataMs = 10_000;
/** How long answers under way may take once the service is told to stop. */
const graceMs = 10_000;

/**
 * Opens the store, brings in what has never been brought in, and listens.
 * @param runJob runs a job in a process of its own until it ends or the signal says so
 * @param told aborts when the service is to stop, which may be while it still waits for its first data
 */
export async function startService(
  config: Config,
  log: Log,
  runJob: (job: string, signal: AbortSignal) => Promise<void>,
  told: AbortSignal,
): Promise<Service> {
  const database = await openDatabase(config.databaseUrl);
  const stopping = new AbortController();
  const listeners: Listener[] = [];
  let firstData: "loading" | "loaded" = "loading";

  const stop = async () => {
    stopping.abort();
    await Promise.all(listeners.map((listener) => listener.stop(graceMs)));
    await firstRuns;
    await closeDatabase(database);
  };

  const signal = AbortSignal.any([stopping.signal, told]);
  const firstRuns = runNewJobs(config, database, log, signal, (job) => runJob(job, signal)).then(() => {
    firstData = "loaded";
  });
  await Promise.race([firstRuns, Bun.sleep(firstDataMs)]);

  try {
    const dataCheck = () => (firstData === "loading" ? "the first imports are still running" : undefined);
    const { shopDomain: shop, brand } = config;
    const find = productFinder(config, database, log);
    const isPublic = publicRoutes({ database, shop, brand, log, findProduct: find, dataCheck });
    listeners.push(listen(isPublic, config.host, config.port, log));
    const isAdmin = adminRoutes({ database, log, dataCheck, token: config.adminToken });
    listeners.push(listen(isAdmin, config.adminHost, config.adminPort, log));
  } catch (error) {
    await stop();
    throw error;
  }
  const [publicUrl, adminUrl] = listeners.map((listener) => listener.url) as [string, string];
  log.info({ publicUrl, adminUrl }, "listening");
  return { publicUrl, adminUrl, stop };
}

/** Where products are looked up: in the store, and behind it at the platform when there is one. */
function productFinder(config: Config, database: Database, log: Log): FindProduct {
  const request = connectPlatform(config, log);
  if (request === undefined) return (id) => findProduct(database, id);
  const lookup = new Lookup({
    database,
    read: (id, signal) => readProduct(request, id, { priority: "live", signal }),
    log,
    perMinute: config.lookupsPerMinute,
    maxAgeS: config.productMaxAge,
  });
  return (id) => lookup.find(id);
}

/** Runs, one after the other, the configured jobs that have never succeeded. */
async function runNewJobs(
  config: Config,
  database: Database,
  log: Log,
  signal: AbortSignal,
  run: (job: string) => Promise<void>,
): Promise<void> {
  for (const { name } of await newJobs(config, database, log)) {
    if (signal.aborted) return;
    log.info({ job: name }, "first run");
    await run(name).catch((error) => log.error({ job: name, err: error }, "the first run failed"));
  }
}

async function newJobs(config: Config, database: Database, log: Log): Promise<Job[]> {
  const jobs = listJobs(config, log);
  const done = await Promise.all(jobs.map(({ name }) => hasSucceeded(database, name, config.brand)));
  return jobs.filter((_, index) => !done[index]);
}
