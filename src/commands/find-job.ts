import { ServiceError } from "../base/errors.ts";
import { suggest } from "../base/suggest.ts";
import type { Config } from "../config/index.ts";
import type { PlannedJob } from "../jobs/job.ts";
import { createPlatform } from "../platforms/index.ts";
import { listJobs } from "../service/jobs.ts";
import { openLog, type Values } from "./common.ts";

export async function listConfiguredJobs(config: Config): Promise<PlannedJob[]> {
  const log = await openLog(config);
  return listJobs(config, log, await createPlatform(config, log));
}

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
