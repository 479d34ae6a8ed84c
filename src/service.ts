import type { Config } from "./config.ts";
import type { Database } from "./database/database.ts";
import { closeDatabase, openDatabase } from "./database/index.ts";
import { findProduct } from "./database/product.ts";
import { ServiceError } from "./errors.ts";
import { adminRoutes } from "./http/admin.ts";
import { databaseCheck, freshnessCheck, getReadiness } from "./http/health.ts";
import { Lookup } from "./http/lookup.ts";
import { getMetrics } from "./http/metrics.ts";
import type { FindProduct } from "./http/product.ts";
import { publicRoutes } from "./http/public.ts";
import { type Listener, listen } from "./http/server.ts";
import { listJobs, type PlannedJob } from "./jobs/index.ts";
import { Monitors } from "./jobs/monitors.ts";
import { runNewJobs, runOnSchedule } from "./jobs/scheduler.ts";
import { listJobStatus } from "./jobs/status.ts";
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
 * Opens the store, brings in what has never been brought in, listens, and runs the jobs on their schedules.
 * @param told aborts when the service is to stop, which may be while it still waits for its first data
 */
export async function startService(config: Config, log: Log, told: AbortSignal): Promise<Service> {
  const database = await openDatabase(config.databaseUrl);
  const jobs = listJobs(config, log);
  const listeners: Listener[] = [];
  const stopping = new AbortController();
  // For the runs it is one and the same how the service was told to stop.
  const stopJobs = () => stopping.abort(new ServiceError("unavailable", "the service was stopped"));
  told.addEventListener("abort", stopJobs, { once: true });
  if (told.aborted) stopJobs();
  const scheduler = await startScheduler(config, jobs, log, stopping.signal);

  const stop = async () => {
    stopJobs();
    await Promise.all([...listeners.map((listener) => listener.stop(graceMs)), scheduler.stopped]);
    await closeDatabase(database);
  };

  let firstData: "loading" | "loaded" = "loading";
  void scheduler.firstRuns.then(() => {
    firstData = "loaded";
  });
  await Promise.race([scheduler.firstRuns, Bun.sleep(firstDataMs)]);

  try {
    const jobStatus = () => listJobStatus(database, jobs);
    const readiness = getReadiness(
      {
        database: databaseCheck(database),
        data: () => (firstData === "loading" ? "the first imports are still running" : undefined),
      },
      { jobs: freshnessCheck(jobStatus) },
      config.staleData,
    );
    const { shopDomain: shop, brand } = config;
    const find = productFinder(config, database, log);
    const isPublic = publicRoutes({ database, shop, brand, log, findProduct: find, readiness });
    listeners.push(listen(isPublic, config.host, config.port, log));
    const isAdmin = adminRoutes({ log, readiness, metrics: getMetrics(jobStatus), token: config.adminToken });
    listeners.push(listen(isAdmin, config.adminHost, config.adminPort, log));
  } catch (error) {
    await stop();
    throw error;
  }
  const [publicUrl, adminUrl] = listeners.map((listener) => listener.url) as [string, string];
  log.info({ publicUrl, adminUrl }, "listening");
  return { publicUrl, adminUrl, stop };
}

interface Scheduler {
  /** Settles when the jobs that had never succeeded have had their first run. */
  readonly firstRuns: Promise<void>;
  /** Settles when the signal has said so and every run has ended. */
  readonly stopped: Promise<void>;
}

async function startScheduler(
  config: Config,
  jobs: readonly PlannedJob[],
  log: Log,
  signal: AbortSignal,
): Promise<Scheduler> {
  const nothing = Promise.resolve();
  if (config.scheduler === "off" || jobs.length === 0) return { firstRuns: nothing, stopped: nothing };
  // A store of its own: what it writes waits for its turn without anybody else who waits for an answer.
  const database = await openDatabase(config.databaseUrl, true);
  const monitors = new Monitors(log);
  const scheduling = { database, log, monitors, leaseSeconds: config.leaseSeconds, signal };
  const firstRuns = runNewJobs(jobs, scheduling).catch((error) => log.error({ err: error }, "the first runs failed"));
  const stopped = firstRuns
    .then(() => runOnSchedule(jobs, scheduling))
    .then(() => monitors.settled())
    .then(() => closeDatabase(database));
  return { firstRuns, stopped };
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
