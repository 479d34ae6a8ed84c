import { prepareResponse } from "../cache/response.ts";
import { type Handler, noStore } from "../http/endpoint.ts";
import type { JobStatus } from "../model/job.ts";

/** `GET /livez`: the process responds. Checks nothing else. */
export const getLiveness: Handler = () => alive;

const alive = prepareResponse({ type: "application/json", body: '{"status":"ok"}', headers: noStore });

/** A readiness condition. @returns the problem, or undefined if there is none */
export type Check = () => string | undefined | Promise<string | undefined>;
type Checks = Readonly<Record<string, Check>>;

/**
 * `GET /readyz`: whether a load balancer should send requests here, and the result of each check.
 * @param required a problem takes the process out of rotation
 * @param advisory a problem is only a warning, because other replicas share it
 */
export function getReadiness(required: Checks, advisory: Checks): Handler {
  return async () => {
    const [problems, warnings] = await Promise.all([run(required), run(advisory)]);
    const isReady = problems.every(([, problem]) => problem === undefined);
    const isDegraded = warnings.some(([, warning]) => warning !== undefined);
    const checks: Record<string, string> = {};
    for (const [name, problem] of [...problems, ...warnings]) {
      // A check of both kinds shows the problem of the first one that has any.
      if (checks[name] === undefined || checks[name] === "ok") checks[name] = problem ?? "ok";
    }
    const status = !isReady ? "not ready" : isDegraded ? "degraded" : "ready";
    const body = JSON.stringify({ status, checks });
    return prepareResponse({ status: isReady ? 200 : 503, type: "application/json", body, headers: noStore });
  };
}

function run(checks: Checks): Promise<[string, string | undefined][]> {
  return Promise.all(
    Object.entries(checks).map(async ([name, check]): Promise<[string, string | undefined]> => [name, await check()]),
  );
}

/**
 * Whether the last success of every job is recent enough.
 * @param countsNew whether a job that has never succeeded counts
 */
export function freshnessCheck(jobStatus: () => Promise<JobStatus[]>, countsNew: boolean): Check {
  return async () => {
    // Any failure counts as ok, because the database check reports an unreachable store.
    const statuses = await jobStatus().catch(() => []);
    const stale = statuses.filter(({ isStale, age }) => isStale && (countsNew || age !== null));
    return stale.length === 0 ? undefined : stale.map(describeAge).join("; ");
  };
}

function describeAge({ job, brand, age }: JobStatus): string {
  return `${job} for ${brand} ${age === null ? "has never succeeded" : `last succeeded ${Math.round(age)} s ago`}`;
}

/** Whether the newest run of every job is in the past by the database's clock. */
export function clockCheck(jobStatus: () => Promise<JobStatus[]>): Check {
  return async () => {
    const statuses = await jobStatus().catch(() => []);
    const ahead = statuses.filter(({ isAhead }) => isAhead);
    if (ahead.length === 0) return undefined;
    const runs = ahead.map(({ job, brand, last }) => `${job} for ${brand} last ran at ${last?.finishedAt}`);
    return `${runs.join("; ")}, which is in the future: the clock of the database was set back`;
  };
}
