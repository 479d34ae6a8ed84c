import { listRuns } from "../database/run.ts";
import { ServiceError } from "../errors.ts";
import { durationInWords, formatDuration } from "../format.ts";
import { listJobStatus } from "../jobs/status.ts";
import { parseOrder, toHistories } from "../model/history.ts";
import type { Run } from "../model/job.ts";
import { listJobs } from "../service/jobs.ts";
import { openLog, withDatabase } from "./common.ts";
import { printMessage, printSafeJson, printTable } from "./output.ts";

type Values = Readonly<Record<string, unknown>>;

export function printJobs(values: Values): Promise<boolean> {
  return withDatabase(async (database, config) => {
    const jobs = listJobs(config, await openLog(config));
    const statuses = await listJobStatus(database, jobs);
    const rows = statuses.map(({ last, ...status }, index) => {
      const { source = "", plan } = jobs[index] ?? {};
      return { ...status, schedule: plan?.schedule?.expression ?? null, last, source };
    });
    if (values.json === true) {
      printSafeJson(
        rows.map(({ job, brand, source, schedule, last, ...status }) => ({
          job,
          brand,
          schedule,
          ...status,
          outcome: last?.outcome ?? "never run",
          finished: last?.finishedAt ?? "",
          counts: last?.counts ?? 0,
          reason: last?.reason ?? null,
          source,
        })),
      );
    } else if (rows.length === 0) {
      printMessage("no jobs are configured: the tables [jobs.NAME] of pds.toml do that");
    } else {
      printTable(
        rows.map(({ job, brand, schedule, next, runningSince, last, age, isStale, source }) => ({
          job,
          brand,
          schedule: schedule ?? "",
          next: next === null ? "" : next.slice(0, -".000Z".length).concat("Z"),
          outcome: runningSince === null ? (last?.outcome ?? "never run") : "running",
          finished: last?.finishedAt ?? "",
          success: `${age === null ? "never" : `${durationInWords(age)} ago`}${isStale ? " (too long)" : ""}`,
          counts: last?.counts ?? 0,
          source,
        })),
      );
    }
    return true;
  });
}

export async function printHistory(text: string, values: Values): Promise<boolean> {
  const order = parseOrder(text);
  if (order === undefined) throw new ServiceError("bad_request", "history: the order is asc or desc");
  return await withDatabase(async (database) => {
    const runs = await listRuns(database);
    const { histories } = toHistories(runs, order);
    const details = runs.map(detailsOf);
    if (order === "asc") details.reverse();
    const rows = histories.map((record, index) => ({ ...record, ...(details[index] as (typeof details)[number]) }));
    if (values.json === true) printSafeJson({ histories: rows });
    else if (rows.length === 0) printMessage("no job has finished yet");
    else {
      printTable(
        rows.map(({ created_at, job, brand, outcome, seconds, counts, reason }) => ({
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

function detailsOf({ job, outcome, startedAt, finishedAt, scheduledAt, attempt, reason, log }: Run) {
  const seconds = (Date.parse(finishedAt ?? startedAt) - Date.parse(startedAt)) / 1000;
  return { job, outcome, seconds, scheduled_at: scheduledAt, attempt, reason, log };
}
