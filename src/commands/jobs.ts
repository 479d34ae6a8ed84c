import { durationInWords } from "../base/format.ts";
import type { PlannedJob } from "../jobs/job.ts";
import type { JobStatus } from "../jobs/run.ts";
import { listJobStatus } from "../jobs/status.ts";
import { type Values, withStore } from "./common.ts";
import { listConfiguredJobs } from "./find-job.ts";
import { printMessage, printSafeJson, printTable, toSnakeCase } from "./output.ts";

const neverRun = "never run";

export function printJobs(values: Values): Promise<boolean> {
  return withStore(async (database, config) => {
    const jobs = await listConfiguredJobs(config);
    const statuses = await listJobStatus(database, jobs);
    const rows = <T>(toRow: (job: PlannedJob, status: JobStatus) => T) =>
      jobs.map((job, index) => toRow(job, statuses[index] as JobStatus));
    if (values.json === true) printSafeJson(rows(toJobJson));
    else if (jobs.length === 0) printMessage("no jobs are configured; add tables [jobs.NAME] to pds.toml");
    else printTable(rows(toJobRow));
    return true;
  });
}

function toJobJson({ source, plan }: PlannedJob, { job, brand, last, lastSuccess, ...status }: JobStatus) {
  return toSnakeCase({
    job,
    brand,
    schedule: plan.schedule?.expression ?? null,
    timeZone: plan.schedule?.timeZone ?? null,
    ...status,
    lastSuccessAt: lastSuccess,
    outcome: last?.outcome ?? neverRun,
    finishedAt: last?.finishedAt ?? "",
    counts: last?.counts ?? 0,
    reason: last?.reason ?? null,
    source,
  });
}

function toJobRow({ source, plan }: PlannedJob, status: JobStatus) {
  const { job, brand, next, runningSince, last, age, isStale, isAhead, pausedSince } = status;
  return {
    job,
    brand,
    schedule: plan.schedule?.expression ?? "",
    next: pausedSince !== null ? "paused" : next === null ? "" : next.slice(0, -".000Z".length).concat("Z"),
    outcome: runningSince === null ? (last?.outcome ?? neverRun) : "running",
    finished_at: last?.finishedAt ?? "",
    success: `${age === null ? "never" : `${durationInWords(age)} ago`}${isStale ? " (stale)" : ""}${isAhead ? " (in the future)" : ""}`,
    counts: last?.counts ?? 0,
    source,
  };
}
