import { ServiceError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { createFetch } from "../base/outgoing.ts";
import { Slots } from "../base/slots.ts";
import { removeOrphanedFolders } from "../base/temporary-folder.ts";
import { withTimeout } from "../base/time.ts";
import { sharedPoints } from "../catalog/points.ts";
import type { Config } from "../config/index.ts";
import { listSecrets } from "../config/printing.ts";
import type { PlannedJob } from "../jobs/job.ts";
import { ManualRuns } from "../jobs/manual-runs.ts";
import { Monitors } from "../jobs/monitors.ts";
import { hasSucceeded } from "../jobs/runs.ts";
import { startScheduler } from "../jobs/scheduler.ts";
import { removeUnfinishedGenerations } from "../personalization/generation-removal.ts";
import { personalizationImportName } from "../personalization/options.ts";
import { createPlatform } from "../platforms/index.ts";
import type { Platform } from "../platforms/platform.ts";
import { type Connections, checkWrites, openConnections, watchWrites } from "./connections.ts";
import type { ServiceScheduler } from "./context.ts";
import { listJobs } from "./jobs.ts";
import { probeListeners, startListeners } from "./listeners.ts";
import { type Part, Parts } from "./parts.ts";
import { describeStarting } from "./readiness.ts";
import { startRequestHandling } from "./requests.ts";
import { exampleUrlOf, sampleFolderOf } from "./sample.ts";

export interface Service {
  /** On this machine. */
  readonly publicUrl: string;
  /** For other machines. */
  readonly linkUrl: string;
  /** A product page of the example; undefined unless the shop is the sample brand's. */
  readonly exampleUrl: string | undefined;
  readonly adminUrl: string;
  /** @param isUrgent whether to skip the time for load balancers to stop sending requests */
  stop(isUrgent: boolean): Promise<void>;
}

/** Wait for first runs before listening anyway. */
const firstRunsMs = 10_000;

/**
 * Runs jobs that have never succeeded before it listens.
 * @param signal aborts when the service must stop, perhaps while it waits for first runs
 */
export async function startService(config: Config, log: Log, signal: AbortSignal): Promise<Service> {
  const parts = new Parts();
  // All background work begins to stop at once; the parts then wait for it in order.
  const stopping = new AbortController();
  const abort = () => stopping.abort(new ServiceError("unavailable", "the service was stopped"));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  const stop = async (isUrgent: boolean) => {
    abort();
    await parts.stop(isUrgent);
  };
  try {
    return { ...(await startParts(parts, config, log, stopping.signal)), stop };
  } catch (error) {
    await stop(true).catch(() => {});
    throw error;
  }
}

async function startParts(parts: Parts, config: Config, log: Log, signal: AbortSignal): Promise<Omit<Service, "stop">> {
  await probeListeners(config);
  const connections = parts.add(await openConnections(config, log));
  // Shared by the whole process, because it holds a token, points, and refused addresses.
  const platform = await createPlatform(config, log, sharedPoints(connections.scheduling));
  const jobs = listJobs(config, log, platform);
  noteMissingSync(platform, config, log);
  const isNewStore = !(await hasSucceeded(connections.scheduling));
  const sampleFolder = sampleFolderOf(config);
  if (isNewStore && config.scheduler === "on" && sampleFolder !== undefined) {
    const { runPastWeek } = await import("./past-week.ts");
    await runPastWeek(config, sampleFolder, log, signal);
  }
  const holder = crypto.randomUUID();
  // Stopped late, because it drops connections that would never respond.
  parts.add(watchWrites(connections));
  const requests = parts.add(await startRequestHandling(config, connections, platform, log, signal));
  const writes = parts.add(checkWrites(connections, log, requests.findDamage));
  const scheduler = parts.add(startJobs(jobs, connections, config, log, signal));
  const deliveryContext = { holder, config, connections, requests, log, signal };
  const receiver = platform?.receiver;
  const push = receiver && parts.add((await import("./push.ts")).startDeliveries(platform, receiver, deliveryContext));
  const purging = config.purge && (await import("./cdn.ts")).createPurging(config, config.purge);
  const context = { config, log, connections, writes, jobs, scheduler, requests, push, purging, isNewStore };

  await withTimeout(scheduler.firstRuns, firstRunsMs, () => {});
  const starting = describeStarting(scheduler.starting);
  if (starting !== undefined) log.warn(`listening before all data is available: ${starting}`);
  const listeners = await startListeners(context);
  const { publicUrl, adminUrl } = listeners;
  const { cache } = requests.meters;
  const { scheduling: database } = connections;
  const purges = purging?.start({ database, holder, cache, originUrl: publicUrl, log, signal });
  // Together, because requests in progress must not wait for a CDN's response.
  parts.add({ stop: (isUrgent) => Promise.all([listeners.stop(isUrgent), purges?.stop(isUrgent)]) });
  const linkUrl = config.publicUrl || publicUrl;
  return { publicUrl, linkUrl, exampleUrl: exampleUrlOf(config.shopDomain, linkUrl), adminUrl };
}

const refuseRun = async () => {
  throw new ServiceError(
    "conflict",
    "SCHEDULER is off in this replica, so it runs no jobs. Use another one, or pds run.",
  );
};

function startJobs(
  jobs: readonly PlannedJob[],
  { scheduling, writer }: Connections,
  config: Config,
  log: Log,
  signal: AbortSignal,
): ServiceScheduler & Part {
  const monitors = new Monitors(log, listSecrets(config), createFetch(config));
  const slots = new Slots(config.maxRuns);
  const runs = new ManualRuns(log, slots);
  const context = { database: scheduling, log, monitors, config, signal };
  const isOn = config.scheduler === "on";
  // Cleans up after lost runs, even without jobs.
  const scheduler = startScheduler(isOn ? jobs : [], {
    ...context,
    slots,
    removeLeftovers: async () => {
      await removeOrphanedFolders();
      await removeUnfinishedGenerations(writer, personalizationImportName);
    },
  });
  const stopped = scheduler.stopped.then(() => runs.settled()).then(() => monitors.settled(signal));
  return {
    ...scheduler,
    startRun: (job, isForced) => (isOn ? runs.start(job, isForced, context) : refuseRun()),
    dryRun: (job) => (isOn ? runs.dryRun(job, context) : refuseRun()),
    stop: () => stopped,
  };
}

/** This may be intended or an oversight. */
function noteMissingSync(platform: Platform | undefined, { jobs }: Config, log: Log): void {
  if (platform === undefined || jobs["catalog-sync"] !== undefined || jobs["catalog-reconcile"] !== undefined) return;
  log.info(
    "a shop is connected, but neither [jobs.catalog-sync] nor [jobs.catalog-reconcile] is configured: products are only looked up on request",
  );
}
