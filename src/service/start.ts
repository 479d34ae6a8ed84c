import type { Config } from "../config/index.ts";
import { personalizationImportName } from "../config/jobs.ts";
import { listSecrets } from "../config/printing.ts";
import { listTokens } from "../config/tokens.ts";
import { removeUnfinishedGenerations } from "../database/generation-removal.ts";
import { hasSucceeded } from "../database/run.ts";
import { ServiceError } from "../errors.ts";
import type { PlannedJob } from "../jobs/job.ts";
import { ManualRuns } from "../jobs/manual-runs.ts";
import { Monitors } from "../jobs/monitors.ts";
import { startScheduler } from "../jobs/scheduler.ts";
import type { Log } from "../log.ts";
import { createFetch } from "../outgoing.ts";
import { createPlatform } from "../platforms/index.ts";
import type { Platform } from "../platforms/platform.ts";
import { removeOrphanedFolders } from "../temporary-folder.ts";
import { type Connections, closeConnections, openConnections, watchWrites } from "./connections.ts";
import type { Role, ServiceContext, ServiceScheduler } from "./context.ts";
import { exampleUrlOf } from "./example.ts";
import { listJobs } from "./jobs.ts";
import { type Listeners, startListeners } from "./listeners.ts";
import { sharedPoints } from "./points.ts";
import { describeStarting } from "./readiness.ts";
import { reloadConfig } from "./reload.ts";
import { reportReplica } from "./replica.ts";
import { startRequestHandling } from "./requests.ts";

export interface Service {
  /** URL of the public listener on this machine. */
  readonly publicUrl: string;
  /** URL at which others reach it. */
  readonly linkUrl: string;
  /** A product page of the example; undefined unless the shop is the sample brand's. */
  readonly exampleUrl: string | undefined;
  /** Undefined for a worker. */
  readonly adminUrl: string | undefined;
  /** Reads the settings again, and applies those that need no restart. */
  reload(): void;
  /** Replaces the workers, if there are any, one after the other. */
  replaceWorkers(): void;
  /** @param isUrgent whether to skip the time that load balancers get to send requests elsewhere */
  stop(isUrgent: boolean): Promise<void>;
}

/** How long the service waits for first runs before it listens anyway. */
const firstRunsMs = 10_000;

/**
 * Opens the store, runs the jobs that have never succeeded, listens, and runs the jobs on their
 * schedules.
 * @param signal aborts when the service must stop, perhaps while it waits for first runs
 */
export async function startService(config: Config, log: Log, signal: AbortSignal, role: Role): Promise<Service> {
  const connections = await openConnections(config, role.kind === "worker", log);
  // One for everything in this process, so that it shares a token, its points, and what is refused.
  const platform = await createPlatform(config, log, sharedPoints(connections.scheduling));
  const jobs = listJobs(config, log, platform);
  if (role.kind !== "worker") noteMissingSync(platform, config, log);

  const stopping = new AbortController();
  const abort = () => stopping.abort(new ServiceError("unavailable", "the service was stopped"));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();

  const isNewStore = !(await hasSucceeded(connections.scheduling));
  const replica = crypto.randomUUID();
  const supervised = new Set<number>();
  const startSchedules = createJobStarter(role, connections, config, log, supervised, stopping.signal);
  const scheduler = startSchedules(config, jobs);
  // Until everything else has stopped: it gives up connections that would never respond.
  const polling = new AbortController();
  const watching = watchWrites(connections, polling.signal);
  const requests = await startRequestHandling(config, connections, platform, log, polling.signal);
  const pushContext = { replica, config, connections, requests, log, signal: stopping.signal };
  const push = platform?.receiver && (await import("./push.ts")).startPush(platform, role, pushContext);
  const isPurging = config.purge !== undefined && role.kind !== "worker";
  const purging = isPurging ? (await import("./purge.ts")).createPurging(config, config.purge) : undefined;
  let purged: Promise<unknown> | undefined;
  let reported: Promise<unknown> | undefined;
  const context: ServiceContext = {
    replica,
    config,
    log,
    role,
    connections,
    tokens: listTokens(config),
    jobs,
    scheduler,
    requests,
    push,
    purging,
    isNewStore,
  };
  const stop = async (listeners: Listeners | undefined, isUrgent: boolean) => {
    requests.state.isDraining = true;
    abort();
    await Promise.all([listeners?.stop(isUrgent), context.scheduler.stopped, push?.stopped, purged, reported]);
    polling.abort();
    await Promise.all([requests.stopped, watching]);
    await closeConnections(connections);
  };

  await Promise.race([scheduler.firstRuns, Bun.sleep(firstRunsMs)]);
  const starting = describeStarting(scheduler.starting);
  if (starting !== undefined) log.warn(`listening before all data is available: ${starting}`);
  try {
    const listeners = await startListeners(context);
    const { publicUrl, adminUrl, replaceWorkers } = listeners;
    const { cache } = requests.meters;
    const { signal } = stopping;
    const { scheduling: database } = connections;
    purged = purging?.start({ database, holder: replica, cache, originUrl: publicUrl, log, signal });
    if (role.kind !== "worker") reported = reportReplica(context, listeners.workers, supervised, signal);
    const linkUrl = config.publicUrl || publicUrl;
    const exampleUrl = exampleUrlOf(config.shopDomain, linkUrl);
    const reload = () => {
      const reloaded = reloadConfig(context, log);
      if (reloaded !== undefined) {
        context.tokens = listTokens(reloaded);
        context.jobs = listJobs(reloaded, log, platform);
        context.scheduler = startSchedules(reloaded, context.jobs);
      }
      listeners.reload();
    };
    return {
      publicUrl,
      linkUrl,
      exampleUrl,
      adminUrl,
      reload,
      replaceWorkers,
      stop: (isUrgent) => stop(listeners, isUrgent),
    };
  } catch (error) {
    await stop(undefined, true);
    throw error;
  }
}

const refuseRun = async () => {
  throw new ServiceError(
    "conflict",
    "SCHEDULER is off in this replica, so it runs no jobs. Use another one, or pds run.",
  );
};

const noScheduler: ServiceScheduler = {
  startRun: refuseRun,
  dryRun: refuseRun,
  suspension: () => undefined,
  starting: new Set(),
  firstRuns: Promise.resolve(),
  stopped: Promise.resolve(),
};

/** Starts the schedules of jobs. Each call ends those of the one before, whose runs finish. */
function createJobStarter(
  { kind }: Role,
  { scheduling, writer }: Connections,
  given: Config,
  log: Log,
  supervised: Set<number>,
  signal: AbortSignal,
) {
  const monitors = new Monitors(log, listSecrets(given), createFetch(given));
  const runs = new ManualRuns(log);
  let retire = new AbortController();
  let previous: Promise<unknown> = Promise.resolve();
  return (config: Config, jobs: readonly PlannedJob[]): ServiceScheduler => {
    if (kind === "worker") return noScheduler;
    retire.abort();
    retire = new AbortController();
    // Also cleans up after lost runs, even if there are no jobs.
    const context = { database: scheduling, log, monitors, config, supervised, signal };
    const isOn = config.scheduler === "on";
    const scheduler = startScheduler(isOn ? jobs : [], {
      ...context,
      retired: retire.signal,
      removeLeftovers: async () => {
        await removeOrphanedFolders();
        await removeUnfinishedGenerations(writer, personalizationImportName);
      },
    });
    previous = Promise.all([previous, scheduler.stopped]);
    return {
      ...scheduler,
      startRun: (job, isForced) => (isOn ? runs.start(job, isForced, context) : refuseRun()),
      dryRun: (job) => (isOn ? runs.dryRun(job, context) : refuseRun()),
      stopped: previous.then(() => runs.settled()).then(() => monitors.settled(signal)),
    };
  };
}

/** A shop without these jobs may be intended or an oversight. */
function noteMissingSync(platform: Platform | undefined, { jobs }: Config, log: Log): void {
  if (platform === undefined || jobs["catalog-sync"] !== undefined || jobs["catalog-reconcile"] !== undefined) return;
  log.info(
    "a shop is connected, but neither [jobs.catalog-sync] nor [jobs.catalog-reconcile] is configured: products are only looked up on request",
  );
}
