import { prepareResponse } from "../cache/response.ts";
import type { JobStatus } from "../jobs/run.ts";
import { type Handler, noStore } from "./endpoint.ts";

/** `GET /livez`: the process responds, without any checks. */
export const getLiveness: Handler = () => alive;

const alive = prepareResponse({ type: "application/json", body: '{"status":"ok"}', headers: noStore });

export type StoreReading<T> =
  | { readonly value: T; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string };

type JobReading = StoreReading<readonly JobStatus[]>;
type ClockReading = StoreReading<string | undefined>;
export type HealthReadings = readonly [jobs: JobReading, clock: ClockReading];

/**
 * A readiness condition.
 * @param jobs their status at the time of this probe
 * @param clock a problem with the clock
 * @returns the problem, or undefined if there is none
 */
export type Check = (...readings: HealthReadings) => string | undefined;
type Checks = Readonly<Record<string, Check>>;

/**
 * `GET /readyz`: whether a load balancer should send requests here, with the result of each check.
 * @param required a problem takes the process out of rotation
 * @param advisory a problem is only a warning, because other replicas share it
 */
export function getReadiness(required: Checks, advisory: Checks, readHealth: () => Promise<HealthReadings>): Handler {
  return async () => {
    const readings = await readHealth();
    const run = (all: Checks) => Object.entries(all).map(([name, check]) => [name, check(...readings)] as const);
    const [problems, warnings] = [run(required), run(advisory)];
    const isReady = problems.every(([, problem]) => problem === undefined);
    const isDegraded = warnings.some(([, warning]) => warning !== undefined);
    const checks: Record<string, string> = {};
    for (const [name, problem] of [...problems, ...warnings]) {
      // A check of both kinds shows its first problem.
      if (checks[name] === undefined || checks[name] === "ok") checks[name] = problem ?? "ok";
    }
    const status = !isReady ? "not ready" : isDegraded ? "degraded" : "ready";
    const body = JSON.stringify({ status, checks });
    return prepareResponse({
      status: isReady ? 200 : 503,
      type: "application/json",
      body,
      headers: noStore,
      isRead: true,
    });
  };
}

/**
 * Names the jobs whose last success is too old. An unknown status counts as fresh.
 * @param countsNew whether a job that has never succeeded counts
 */
export function describeStale({ value = [] }: JobReading, countsNew: boolean): string | undefined {
  const stale = value.filter(({ isStale, age }) => isStale && (countsNew || age !== null));
  return stale.length === 0 ? undefined : stale.map(describeAge).join("; ");
}

function describeAge({ job, brand, age }: JobStatus): string {
  return `${job} for ${brand} ${age === null ? "has never succeeded" : `last succeeded ${Math.round(age)} s ago`}`;
}

/** Names the jobs whose newest run is in the future by the database's clock. */
export function describeAhead({ value = [] }: JobReading): string | undefined {
  const ahead = value.filter(({ isAhead }) => isAhead);
  if (ahead.length === 0) return undefined;
  const runs = ahead.map(({ job, brand, last }) => `${job} for ${brand} last ran at ${last?.finishedAt}`);
  return `${runs.join("; ")}, which is in the future: the clock of the database was set back`;
}
