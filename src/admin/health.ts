import { toAnswer } from "../cache/response.ts";
import { type Handler, noStore } from "../http/endpoint.ts";
import type { JobStatus } from "../model/job.ts";

/** `GET /livez`: the process answers; it asks nothing else. */
export const getLiveness: Handler = () => alive;

const alive = toAnswer({ type: "application/json", body: '{"status":"ok"}', headers: noStore });

/** A named condition. @returns why it is not met, or undefined when it is */
export type Check = () => string | undefined | Promise<string | undefined>;
type Checks = Readonly<Record<string, Check>>;

/**
 * `GET /readyz`: whether requests should be sent here, check by check.
 * @param required one that is not met takes the process out of rotation
 * @param advisory one that is not met is a warning only: no other replica would do better
 */
export function getReadiness(required: Checks, advisory: Checks): Handler {
  return async () => {
    const [problems, warnings] = await Promise.all([ask(required), ask(advisory)]);
    const isReady = problems.every(([, problem]) => problem === undefined);
    const isDegraded = warnings.some(([, warning]) => warning !== undefined);
    const checks = [...problems, ...warnings].map(([name, problem]) => [name, problem ?? "ok"]);
    const status = !isReady ? "not ready" : isDegraded ? "degraded" : "ready";
    const body = JSON.stringify({ status, checks: Object.fromEntries(checks) });
    return toAnswer({ status: isReady ? 200 : 503, type: "application/json", body, headers: noStore });
  };
}

function ask(checks: Checks): Promise<[string, string | undefined][]> {
  return Promise.all(
    Object.entries(checks).map(async ([name, check]): Promise<[string, string | undefined]> => [name, await check()]),
  );
}

/** Whether every job has succeeded lately. */
export function freshnessCheck(jobStatus: () => Promise<JobStatus[]>): Check {
  return async () => {
    // A store that cannot be reached has a check of its own.
    const statuses = await jobStatus().catch(() => []);
    const stale = statuses.filter(({ isStale }) => isStale);
    return stale.length === 0 ? undefined : stale.map(describeAge).join("; ");
  };
}

function describeAge({ job, brand, age }: JobStatus): string {
  return `${job} for ${brand} ${age === null ? "has never succeeded" : `last succeeded ${Math.round(age)} s ago`}`;
}
