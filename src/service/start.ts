import { type Check, freshnessCheck, getReadiness } from "../admin/health.ts";
import { countsOf, getMetrics, measureProcess, type ProcessMeters, type ProcessMetrics } from "../admin/metrics.ts";
import { adminResources } from "../admin/routes.ts";
import { CacheInvalidator } from "../cache/invalidator.ts";
import { ResponseCache } from "../cache/response-cache.ts";
import { Lookup } from "../catalog/lookup.ts";
import { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { Config } from "../config/index.ts";
import { maxRemovedShareOf } from "../config/jobs.ts";
import { errorPage } from "../console/error-page.tsx";
import { consolePages } from "../console/index.tsx";
import type { Database } from "../database/database.ts";
import { listCurrentGenerations } from "../database/generation.ts";
import { closeDatabase, openDatabase } from "../database/index.ts";
import { findPersonalization } from "../database/personalization.ts";
import { findProduct, listFirstProducts } from "../database/product.ts";
import { checkShop } from "../database/shop.ts";
import { ServiceError } from "../errors.ts";
import { examplePages, examplePath } from "../example/index.tsx";
import type { Serving } from "../http/endpoint.ts";
import { FailureLog } from "../http/failure-log.ts";
import { RateLimiter } from "../http/rate-limiter.ts";
import { RequestCounter } from "../http/request-counter.ts";
import { type Listener, listen } from "../http/server.ts";
import type { PlannedJob } from "../jobs/job.ts";
import { Monitors } from "../jobs/monitors.ts";
import { type Scheduler, startScheduler } from "../jobs/scheduler.ts";
import { listJobHealth, listJobStatus } from "../jobs/status.ts";
import type { Log } from "../log.ts";
import type { ProductSource } from "../operations/products/operation.ts";
import { GenerationComparer } from "../personalization/comparison.ts";
import { connectPlatform } from "../platforms/shopify/connection.ts";
import { readProduct } from "../platforms/shopify/read.ts";
import { isSampleShop } from "../sample.ts";
import { widgetPath } from "../widget.ts";
import { listJobs } from "./jobs.ts";
import { type PublicContext, publicResources } from "./public.ts";
import { reportToSupervisor, Workers } from "./workers.ts";

export interface Service {
  readonly publicUrl: string;
  /** A product page to look at, where the shop is the sample brand's. */
  readonly exampleUrl: string | undefined;
  /** Undefined for a worker. */
  readonly adminUrl: string | undefined;
  /** @param isUrgent whether a person waits for it: then nobody is given time to go elsewhere */
  stop(isUrgent: boolean): Promise<void>;
}

/** What of the service a process is: all of it, one of several that serve, or the one that starts those. */
export type Role = { readonly is: "all" | "worker" } | { readonly is: "supervisor"; readonly workers: number };

/** How long the first start waits for the first data before it listens all the same. */
const firstDataMs = 10_000;
/** How long answers under way may take once the service is told to stop. */
const graceMs = 10_000;
/** How many may wait for the store, and for the platform. */
const waitingForStore = 1000;
const waitingForPlatform = 100;
/** How many may ask the platform at once; the throttle decides how fast. */
const askingPlatform = 8;

/**
 * Opens the store, brings in what has never been brought in, listens, and runs the jobs on their schedules.
 * @param told aborts when the service is to stop, which may be while it still waits for its first data
 */
export async function startService(config: Config, log: Log, told: AbortSignal, part: Role): Promise<Service> {
  const database = await openDatabase(config.databaseUrl);
  // Another connection: what it writes waits for its turn without anybody else who waits for an answer.
  const writer = await openDatabase(config.databaseUrl, "yielding");
  // One more for what people and monitors ask, which a worker does not answer.
  const backgroundConnection = part.is === "worker" ? database : await openDatabase(config.databaseUrl, "looking");
  const jobs = listJobs(config, log);
  if (part.is !== "worker" && isLookedUpOnly(config)) {
    log.info(
      "a shop is connected, but neither [jobs.catalog-sync] nor [jobs.catalog-reconcile] is configured: products are read only when they are requested",
    );
  }
  const stopping = new AbortController();
  // For the runs it is one and the same how the service was told to stop.
  const stopJobs = () => stopping.abort(new ServiceError("unavailable", "the service was stopped"));
  told.addEventListener("abort", stopJobs, { once: true });
  if (told.aborted) stopJobs();
  const isScheduling = part.is !== "worker" && config.scheduler === "on";
  const scheduler = startJobs(isScheduling ? jobs : [], writer, config, log, stopping.signal);

  const serving = await startServing(config, database, writer, log, stopping.signal);
  const listeners: Listener[] = [];
  let workers: Workers | undefined;

  const stop = async (isUrgent: boolean) => {
    serving.life.isDraining = true;
    stopJobs();
    // By now it says that it is not ready, and whoever sends requests has time to notice.
    const drainMs = isUrgent ? 0 : config.drainSeconds * 1000;
    await Promise.all([
      workers?.stop(isUrgent ? "SIGINT" : "SIGTERM", drainMs),
      Bun.sleep(drainMs).then(() => stopAll(listeners)),
      scheduler.stopped,
    ]);
    await serving.stopped;
    await Promise.all([...new Set([database, writer, backgroundConnection])].map(closeDatabase));
  };

  await Promise.race([scheduler.firstRuns, Bun.sleep(firstDataMs)]);
  const firstData = () => describeStarting(scheduler.starting);
  if (firstData() !== undefined) log.warn(`listening before the first data is complete: ${firstData()}`);

  try {
    const jobStatus = async () => {
      // Probes come often and expect an answer at once.
      if (serving.meters.isStoreLost()) throw new ServiceError("unavailable", "the store is lost");
      return await inTime(listJobStatus(backgroundConnection, jobs));
    };
    const freshness = { data: firstData, jobs: freshnessCheck(jobStatus) };
    const required: Record<string, Check> = {
      service: () => (serving.life.isDraining ? "is about to stop" : undefined),
      ...(part.is === "supervisor" && { workers: () => workers?.problem() }),
      ...(config.staleData === "fail" && freshness),
    };
    const advisory: Record<string, Check> = {
      // All replicas share the store. To take them out would lose what each can still serve from its cache.
      database: () =>
        serving.meters.isStoreLost() ? "cannot be reached; only cached responses are served" : undefined,
      ...(config.staleData === "warn" && freshness),
    };
    const readiness = getReadiness(required, advisory);
    const measure = () => measureProcess({ ...serving.meters, isServing: part.is !== "supervisor" });
    const at = { isShared: config.reusePort === "on" || part.is === "worker", idleSeconds: config.idleSeconds };

    let publicUrl: string;
    if (part.is === "supervisor") {
      workers = new Workers({ ...sharedOut(config, part.workers), log });
      publicUrl = await workers.start();
    } else {
      const pages = isSampleShop(config.shopDomain) ? openExample(serving.sources) : {};
      const listener = listen(publicResources({ ...serving.sources, readiness, pages }), serving.of("public"), {
        ...at,
        host: config.host,
        port: config.port,
      });
      listeners.push(listener);
      publicUrl = listener.url;
    }
    const exampleUrl = isSampleShop(config.shopDomain) ? publicUrl + examplePath : undefined;
    if (part.is === "worker") {
      reportToSupervisor(publicUrl, measure);
      return { publicUrl, exampleUrl, adminUrl: undefined, stop };
    }
    const processes = async () => {
      const own = await measure();
      if (workers === undefined) return [own];
      const { running, ended } = await workers.ask<ProcessMetrics>();
      return [own, ...running, ...ended.map(countsOf)];
    };
    const metrics = getMetrics(
      { jobStatus, generations: () => inTime(listCurrentGenerations(backgroundConnection)) },
      processes,
    );
    const console = openConsole(config, backgroundConnection, jobs, publicUrl);
    const admin = listen(
      adminResources({ console, readiness, metrics, token: config.adminToken }),
      serving.of("admin"),
      {
        ...at,
        host: config.adminHost,
        port: config.adminPort,
      },
    );
    listeners.push(admin);
    log.info({ publicUrl, adminUrl: admin.url }, "listening");
    return { publicUrl, exampleUrl, adminUrl: admin.url, stop };
  } catch (error) {
    await stop(true);
    throw error;
  }
}

/** Whether a shop's products come in by look-ups alone, which may be meant or forgotten. */
function isLookedUpOnly({ shopifyAccessToken, shopifyClientId, jobs }: Config): boolean {
  const isConnected = shopifyAccessToken !== "" || shopifyClientId !== "";
  return isConnected && jobs["catalog-sync"] === undefined && jobs["catalog-reconcile"] === undefined;
}

/** The pages for people, with what they need of the jobs. */
function openConsole(
  { brand, shopDomain }: Config,
  database: Database,
  jobs: readonly PlannedJob[],
  publicUrl: string,
) {
  const comparisons = new GenerationComparer(database);
  const pages = consolePages({
    database,
    brand,
    jobs: () => listJobHealth(database, jobs),
    compare: (from, to) => comparisons.find(from, to),
    publicUrl,
    widgetPath,
    ...(isSampleShop(shopDomain) && { examplePath, drawsSampleImages: true }),
  });
  return { pages, toFailure: errorPage };
}

/** The demo shop, which reads through the same concurrency limit as the operations. */
function openExample({ personalization: { database, gate, brand }, product }: ServingParts["sources"]) {
  return examplePages({
    brand,
    widgetPath,
    listProducts: (limit) => gate.run(() => listFirstProducts(database, limit)),
    findProduct: product.find,
    findPersonalization: (sku) => gate.run(() => findPersonalization(database, brand, sku)),
  });
}

/** What is told about the service must not hang with the store. */
const inTime = <T>(asking: Promise<T>): Promise<T> =>
  Promise.race([asking, Bun.sleep(500).then(() => Promise.reject(new Error("the store does not answer")))]);

const stopAll = (listeners: readonly Listener[]) => Promise.all(listeners.map((listener) => listener.stop(graceMs)));

/** What several workers are told: together they ask the platform no more than one process would. */
function sharedOut({ port, lookupsPerMinute }: Config, count: number) {
  const lookups = Math.ceil(lookupsPerMinute / count);
  return { count, port, environment: { SCHEDULER: "off", LOOKUPS_PER_MINUTE: `${lookups}` } };
}

interface ServingParts {
  readonly life: { isDraining: boolean };
  readonly meters: Omit<ProcessMeters, "isServing">;
  readonly sources: Omit<PublicContext, "readiness" | "pages">;
  /** What the endpoints of a listener share. */
  of(listener: "public" | "admin"): Serving;
  /** Settles when the signal has said so and nothing of the store is asked any more. */
  readonly stopped: Promise<void>;
}

/** The way of an answer: store or platform, the gate before it, memory, and what watches that this is still true. */
async function startServing(
  config: Config,
  database: Database,
  writer: Database,
  log: Log,
  signal: AbortSignal,
): Promise<ServingParts> {
  const watch = new CacheInvalidator();
  const memory = new ResponseCache(config.memoryMegabytes * 2 ** 20, (nowMs) => watch.unverifiedMs(nowMs));
  const storeLimiter = new ConcurrencyLimiter({
    name: "store",
    inside: database.dialect.readers,
    waiting: waitingForStore,
    patienceMs: 5000,
    refusal: "The data cannot be reached at the moment.",
  });
  const platformLimiter = new ConcurrencyLimiter({
    name: "platform",
    inside: askingPlatform,
    waiting: waitingForPlatform,
    patienceMs: 10_000,
    refusal: "The product is not stored, and the platform cannot be asked at the moment.",
  });
  const { stopped } = await watch.start({ database: writer, memory, gate: storeLimiter, log }, signal);

  const life = { isDraining: false };
  const requests = new RequestCounter();
  const limiter = config.rateLimit === 0 ? undefined : new RateLimiter(config.rateLimit, config.trustedProxies);
  const failures = new FailureLog(log);
  const { brand, shopDomain: shop } = config;
  const findStored = (id: bigint) => storeLimiter.run(() => findProduct(database, id));
  const find = visibleOnly(config.visible, productFinder(config, findStored, writer, platformLimiter, log));
  return {
    life,
    stopped,
    meters: { requests, memory, gates: [storeLimiter, platformLimiter], isStoreLost: () => watch.isLost },
    sources: {
      memory,
      personalization: { database, gate: storeLimiter, brand, policy: config.cachePersonalization },
      product: { find, shop, maxAgeS: config.productMaxAge, policy: config.cacheProducts },
      histories: { database, gate: storeLimiter, policy: config.cacheHistories },
    },
    of: (listener) => ({
      log: failures,
      requests,
      life,
      limiter: listener === "public" ? limiter : undefined,
      isPrivate: listener === "admin",
      tellsTiming: config.serverTiming === "on",
      notFound: config.cacheNotFound,
    }),
  };
}

/** What is still missing, for people. */
function describeStarting(starting: ReadonlySet<PlannedJob>): string | undefined {
  if (starting.size === 0) return undefined;
  return `the first run has not ended: ${[...starting].map(({ name, brand }) => `${name} for ${brand}`).join(", ")}`;
}

function startJobs(
  jobs: readonly PlannedJob[],
  database: Database,
  { leaseSeconds }: Config,
  log: Log,
  signal: AbortSignal,
): Scheduler {
  if (jobs.length === 0) return { starting: new Set(), firstRuns: Promise.resolve(), stopped: Promise.resolve() };
  const monitors = new Monitors(log);
  const running = startScheduler(jobs, { database, log, monitors, leaseSeconds, signal });
  return { ...running, stopped: running.stopped.then(() => monitors.settled()) };
}

/** Where products are looked up: in the store, and behind it at the platform when there is one. */
function productFinder(
  config: Config,
  find: (id: bigint) => ReturnType<typeof findProduct>,
  writer: Database,
  gate: ConcurrencyLimiter,
  log: Log,
): ProductSource["find"] {
  const request = connectPlatform(config, log);
  if (request === undefined) return find;
  const lookup = new Lookup({
    find,
    writer,
    gate,
    read: async (id, signal) => {
      const { shopId, found } = await readProduct(request, id, { priority: "live", signal });
      await checkShop(writer, shopId);
      return found;
    },
    log,
    perMinute: config.lookupsPerMinute,
    maxAgeS: config.productMaxAge,
    maxRemovedShare: maxRemovedShareOf(config),
  });
  return (id) => lookup.find(id);
}

/** Hides the products that shoppers may not see, unless the settings say to serve all. */
function visibleOnly(visible: Config["visible"], find: ProductSource["find"]): ProductSource["find"] {
  if (visible === "all") return find;
  return async (id) => {
    const product = await find(id);
    const from = product?.visibleFrom ?? null;
    return from !== null && from <= new Date().toISOString() ? product : undefined;
  };
}
