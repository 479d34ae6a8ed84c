import { ServiceError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { PlannedJob } from "../jobs/job.ts";
import type { Values } from "./common.ts";

/** @throws ServiceError `bad_request` unless exactly one configured job matches */
export function findJob(command: string, name: string, { brand }: Values, jobs: readonly PlannedJob[]): PlannedJob {
  const candidates = jobs.filter((job) => job.name === name);
  if (candidates.length === 0) {
    const known = [...new Set(jobs.map((other) => other.name))];
    const hint = known.length === 0 ? "no jobs are configured" : suggest(name, known, "configured jobs");
    throw new ServiceError("bad_request", `${command}: no job ${JSON.stringify(name)} is configured; ${hint}`);
  }
  const [job, ...others] = candidates.filter((each) => brand === undefined || each.brand === brand);
  if (job !== undefined && others.length === 0) return job;
  const brands = candidates.map((each) => JSON.stringify(each.brand)).join(", ");
  throw new ServiceError("bad_request", `${command}: ${name} is configured for ${brands}; choose one with --brand`);
}
