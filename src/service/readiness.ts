import { withTimeout } from "../base/time.ts";
import { readCatalogTruth } from "../catalog/product-truth.ts";
import { readPushState } from "../catalog/push/state.ts";
import type { Handler } from "../http/endpoint.ts";
import { getReadiness } from "../http/health.ts";
import { findClockProblem } from "../jobs/clock.ts";
import type { PlannedJob } from "../jobs/job.ts";
import type { JobStatus } from "../jobs/run.ts";
import { listJobStatus } from "../jobs/status.ts";
import { listCurrentGenerations } from "../personalization/generation.ts";
import type { ServiceContext } from "./context.ts";

/** Load balancers wait one second for a probe; a busy machine may need half of that itself. */
const readingLimitMs = 500;

export type StoreReader = ReturnType<typeof createStoreReader>;

type StoreReading<T> =
  | { readonly value: T; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string };

type JobReading = StoreReading<readonly JobStatus[]>;

/** Probes and metrics must respond quickly even if the store does not. */
export function createStoreReader(context: ServiceContext) {
  const { connections, requests, push, purging } = context;
  const { background } = connections;
  const jobStatus = () => listJobStatus(background, context.jobs);
  /** One time limit for everything that one probe or scrape reads. */
  const begin = () => {
    const lateAtMs = performance.now() + readingLimitMs;
    return async <T>(query: () => Promise<T>): Promise<StoreReading<T>> => {
      if (requests.meters.isStoreUnreachable()) return { problem: "the store cannot be reached" };
      const reading = query().then(
        (value) => ({ value }),
        () => ({ problem: "the store could not be read" }),
      );
      const late = () => ({ problem: "the store did not respond in time" });
      return await withTimeout(reading, lateAtMs - performance.now(), late);
    };
  };
  return {
    readHealth: () => {
      const read = begin();
      return Promise.all([read(jobStatus), read(() => findClockProblem(background))]);
    },
    readAll: async () => {
      const read = begin();
      const [jobs, generations, pushState, purge] = await Promise.all([
        read(jobStatus),
        read(() => listCurrentGenerations(background)),
        push && read(() => readPushState(background, [])),
        purging && read(() => purging.readStatus(background)),
      ]);
      // Last, because it reads all products, and the others may wait for the same connection.
      const catalogTruth = await read(() => readCatalogTruth(background));
      return { jobs, generations, catalogTruth, push: pushState, purge };
    },
  };
}

export function createReadiness(context: ServiceContext, store: StoreReader): Handler {
  const { config, requests, isNewStore } = context;
  const findUnreachable = () => {
    if (!requests.meters.isStoreUnreachable()) return undefined;
    if (config.readiness === "strict") return "cannot be reached";
    return requests.servesWithoutStore() ? undefined : "cannot be reached, and nothing is cached";
  };
  return getReadiness(async () => {
    const [jobs, clock] = await store.readHealth();
    const data = describeStarting(context.scheduler.starting);
    const suspension = context.scheduler.suspension();
    return {
      required: {
        service: requests.state.isDraining ? "is about to stop" : undefined,
        database: findUnreachable(),
        // A new job must not take the replicas of a store with data out of rotation.
        ...(config.staleData === "fail" && {
          ...(isNewStore && { data }),
          // Neither must an unknown status: all replicas read the same store.
          jobs: describeStale(jobs, isNewStore),
        }),
      },
      advisory: {
        // All replicas share the store. Out of rotation, even cached responses would be unavailable.
        database: requests.meters.isStoreUnreachable()
          ? "cannot be reached; only cached responses are served"
          : undefined,
        // Responses are still as current as before.
        writes: context.writes.problem(),
        data,
        jobs: jobs.problem ?? describeStale(jobs, true),
        clock: jobs.problem ?? describeAhead(jobs) ?? clock.value,
        scheduler: suspension && `no further runs are started here: ${suspension}`,
      },
    };
  });
}

/**
 * Names the jobs whose last success is too old. An unknown status counts as fresh.
 * @param countsNew whether a job that has never succeeded counts
 */
function describeStale({ value = [] }: JobReading, countsNew: boolean): string | undefined {
  const stale = value.filter(({ isStale, age }) => isStale && (countsNew || age !== null));
  return stale.length === 0 ? undefined : stale.map(describeAge).join("; ");
}

function describeAge({ job, brand, age }: JobStatus): string {
  return `${job} for ${brand} ${age === null ? "has never succeeded" : `last succeeded ${Math.round(age)} s ago`}`;
}

/** Names the jobs whose newest run is in the future by the database's clock. */
function describeAhead({ value = [] }: JobReading): string | undefined {
  const ahead = value.filter(({ isAhead }) => isAhead);
  if (ahead.length === 0) return undefined;
  const runs = ahead.map(({ job, brand, last }) => `${job} for ${brand} last ran at ${last?.finishedAt}`);
  return `${runs.join("; ")}, which is in the future: the clock of the database was set back`;
}

/** Names the jobs whose first run has not finished; undefined if there are none. */
export function describeStarting(starting: ReadonlySet<PlannedJob>): string | undefined {
  if (starting.size === 0) return undefined;
  return `the first run has not finished: ${[...starting].map(({ name, brand }) => `${name} for ${brand}`).join(", ")}`;
}
