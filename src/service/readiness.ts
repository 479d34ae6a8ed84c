import { type Check, clockCheck, freshnessCheck, getReadiness } from "../admin/health.ts";
import type { StoreMeters } from "../admin/metrics.ts";
import { listCurrentGenerations } from "../database/generation.ts";
import { readCatalogTruth } from "../database/product-truth.ts";
import { readPushState } from "../database/push-state.ts";
import { ServiceError } from "../errors.ts";
import type { Handler } from "../http/endpoint.ts";
import type { PlannedJob } from "../jobs/job.ts";
import { listJobStatus } from "../jobs/status.ts";
import type { ServiceContext } from "./context.ts";
import type { Workers } from "./workers.ts";

/** Balancers wait a second for a probe, of which a busy machine may need most. */
const statusTimeoutMs = 200;

/**
 * Reads the store for probes and metrics, which must respond quickly even if the store does not.
 */
export function createStatusReader(context: ServiceContext): StoreMeters {
  const { connections, requests, push, purging } = context;
  const withTimeout = <T>(reading: Promise<T>): Promise<T> =>
    Promise.race([
      reading,
      Bun.sleep(statusTimeoutMs).then(() => Promise.reject(new Error("the store does not respond in time"))),
    ]);
  return {
    jobStatus: async () => {
      if (requests.meters.isStoreUnreachable()) throw new ServiceError("unavailable", "the store is unreachable");
      return await withTimeout(listJobStatus(connections.background, context.jobs));
    },
    generations: () => withTimeout(listCurrentGenerations(connections.background)),
    push: push && (() => withTimeout(readPushState(connections.background, []))),
    purge: purging && (() => withTimeout(purging.readStatus(connections.background))),
    catalogTruth: () => withTimeout(readCatalogTruth(connections.background)),
  };
}

/**
 * Creates the handler of `/readyz`.
 * @param workers undefined unless this process supervises some
 */
export function createReadiness(context: ServiceContext, status: StoreMeters, workers: Workers | undefined): Handler {
  const { config, requests, isNewStore } = context;
  const data = () => describeStarting(context.scheduler.starting);
  const required: Record<string, Check> = {
    service: () => (requests.state.isDraining ? "is about to stop" : undefined),
    ...(workers !== undefined && { workers: () => (workers.serving === 0 ? workers.problem() : undefined) }),
    database: () => {
      if (!requests.meters.isStoreUnreachable()) return undefined;
      if (config.readiness === "strict") return "cannot be reached";
      const servesCache = workers === undefined ? requests.servesWithoutStore() : workers.servesWithoutStore();
      return servesCache ? undefined : "cannot be reached, and nothing is cached";
    },
    // A new job must not take the replicas of a store with data out of rotation.
    ...(config.staleData === "fail" && {
      ...(isNewStore && { data }),
      jobs: freshnessCheck(status.jobStatus, isNewStore),
    }),
  };
  const advisory: Record<string, Check> = {
    // The others serve while one is restarted.
    ...(workers !== undefined && { workers: () => workers.problem() }),
    // All replicas share the store. Without them even the responses in their caches would be
    // unavailable.
    database: () =>
      requests.meters.isStoreUnreachable() ? "cannot be reached; only cached responses are served" : undefined,
    data,
    jobs: freshnessCheck(status.jobStatus, true),
    clock: clockCheck(status.jobStatus),
    scheduler: () => {
      const reason = context.scheduler.suspension();
      return reason === undefined ? undefined : `no further runs are started here: ${reason}`;
    },
  };
  return getReadiness(required, advisory);
}

/** Names the jobs whose first run has not finished; undefined if there are none. */
export function describeStarting(starting: ReadonlySet<PlannedJob>): string | undefined {
  if (starting.size === 0) return undefined;
  return `the first run has not finished: ${[...starting].map(({ name, brand }) => `${name} for ${brand}`).join(", ")}`;
}
