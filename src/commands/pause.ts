import { readConfig } from "../config/index.ts";
import { findPause } from "../jobs/job-pause.ts";
import { findRunUnderWay } from "../jobs/runs.ts";
import { pauseAction, resumeAction } from "../operators/actions/jobs.ts";
import { act } from "./act.ts";
import { type Values, withStore } from "./common.ts";
import { findJob, listConfiguredJobs } from "./find-job.ts";
import { print, printMessage, printSafeJson } from "./output.ts";

export async function pause(name: string, values: Values): Promise<boolean> {
  const job = await findConfigured("pause", name, values);
  return await withStore(async (database) => {
    const { isNew } = await act(database, "pause", pauseAction(database, job));
    const paused = await findPause(database, name, job.brand);
    const run = await findRunUnderWay(database, name, job.brand);
    if (values.json === true) {
      const { pausedAt = null, pausedBy = null } = paused ?? {};
      printSafeJson({ job: name, brand: job.brand, paused_since: pausedAt, paused_by: pausedBy });
    } else if (isNew) print(`${name} for ${job.brand} is paused`);
    else print(`${name} for ${job.brand} has been paused since ${paused?.pausedAt} by ${paused?.pausedBy}`);
    if (run !== undefined)
      printMessage(`run ${run.id} is in progress, and will continue; "pds cancel ${run.id}" ends it`);
    return true;
  });
}

export async function resume(name: string, values: Values): Promise<boolean> {
  const job = await findConfigured("resume", name, values);
  return await withStore(async (database) => {
    const { wasPaused } = await act(database, "resume", resumeAction(database, job));
    const next = job.plan.schedule?.next(Date.now());
    const shown = next === undefined ? null : new Date(next).toISOString();
    if (values.json === true) printSafeJson({ job: name, brand: job.brand, was_paused: wasPaused, next: shown });
    else {
      const text = wasPaused ? "is resumed" : "is not paused";
      print(
        `${name} for ${job.brand} ${text}; ${shown === null ? "it has no schedule" : `its next run is at ${shown}`}`,
      );
    }
    return true;
  });
}

/** Refuses wrong names before the store is opened. */
const findConfigured = async (command: string, name: string, values: Values) =>
  findJob(command, name, values, await listConfiguredJobs(readConfig(process.env)));
