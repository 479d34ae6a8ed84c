import { listRuns } from "../database/run.ts";
import { ServiceError } from "../errors.ts";
import { durationInWords, formatDuration } from "../format.ts";
import type { PlannedJob } from "../jobs/job.ts";
import { listJobStatus } from "../jobs/status.ts";
import { parseOrder, toHistories } from "../model/history.ts";
import type { JobStatus, Run } from "../model/job.ts";
import { listJobs } from "../service/jobs.ts";
import { openLog, type Values, withDatabase } from "./common.ts";
import { printMessage, printSafeJson, printTable } from "./output.ts";

const neverRun = "never run";

export function printJobs(values: Values): Promise<boolean> {
  return withDatabase(async (database, config) => {
    const jobs = listJobs(config, await openLog(config));
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

function toJobJson({ job: { source, plan }, status: { job, brand, last, ...status } }: JobWithStatus) {
  return {
    job,
    brand,
    schedule: plan.schedule?.expression ?? null,
    ...status,
    outcome: last?.outcome ?? neverRun,
    finished: last?.finishedAt ?? "",
    counts: last?.counts ?? 0,
    reason: last?.reason ?? null,
    source,
  };
}

function toJobRow({ job: { source, plan }, status }: JobWithStatus) {
  const { job, brand, next, runningSince, last, age, isStale, isAhead } = status;
  return {
    job,
    brand,
    schedule: plan.schedule?.expression ?? "",
    next: next === null ? "" : next.slice(0, -".000Z".length).concat("Z"),
    outcome: runningSince === null ? (last?.outcome ?? neverRun) : "running",
    finished: last?.finishedAt ?? "",
    success: `${age === null ? "never" : `${durationInWords(age)} ago`}${isStale ? " (stale)" : ""}${isAhead ? " (in the future)" : ""}`,
    counts: last?.counts ?? 0,
    source,
  };
}

export async function printHistory(text: string, values: Values): Promise<boolean> {
  const order = parseOrder(text);
  if (order === undefined) throw new ServiceError("bad_request", "history: expected the order asc or desc");
  return await withDatabase(async (database) => {
    const runs = await listRuns(database);
    const { histories } = toHistories(runs, order);
    const details = runs.map(toDetails);
    if (order === "asc") details.reverse();
    const records = histories.map((record, index) => ({ ...record, ...(details[index] as (typeof details)[number]) }));
    if (values.json === true) printSafeJson({ histories: records });
    else if (records.length === 0) printMessage("no job has finished yet");
    else {
      printTable(
        records.map(({ created_at, job, brand, outcome, seconds, counts, reason }) => ({
          created_at,
          job,
          brand,
          outcome: outcome ?? "",
          duration: formatDuration(seconds),
          counts,
          reason: reason?.replace(/\s+/g, " ") ?? "",
        })),
      );
    }
    return true;
  });
}

function toDetails({ job, outcome, startedAt, finishedAt, scheduledAt, attempt, reason, log }: Run) {
  const seconds = (Date.parse(finishedAt ?? startedAt) - Date.parse(startedAt)) / 1000;
  return { job, outcome, seconds, scheduled_at: scheduledAt, attempt, reason, log };
}
