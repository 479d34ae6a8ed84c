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
    const rows = jobs.map((job, index) => ({ job, status: statuses[index] as JobStatus }));
    if (values.json === true) printSafeJson(rows.map(toJobJson));
    else if (rows.length === 0) printMessage("no jobs are configured; add tables [jobs.NAME] to pds.toml");
    else printTable(rows.map(toJobRow));
    return true;
  });
}

interface JobWithStatus {
  readonly job: PlannedJob;
  readonly status: JobStatus;
}

function toJobJson({ job: { source, plan }, status: { job, brand, last, lastSuccess, ...status } }: JobWithStatus) {
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

function toJobRow({ job: { source, plan }, status }: JobWithStatus) {
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
