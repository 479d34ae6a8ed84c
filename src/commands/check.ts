import { otherSchema } from "../base/program.ts";
import { timeZones } from "../base/time-zone.ts";
import { searchProducts } from "../catalog/search.ts";
import { type Config, readConfig } from "../config/index.ts";
import { listSettingsWithoutEffect } from "../config/without-effect.ts";
import type { Database } from "../database/database.ts";
import type { ConnectOptions } from "../database/engines/engine.ts";
import { closeDatabase, inspectStore, isOtherSchema, openStored } from "../database/index.ts";
import type { PlannedJob } from "../jobs/job.ts";
import { findPause, type JobPause } from "../jobs/job-pause.ts";
import { findLastSuccess } from "../jobs/runs.ts";
import { listJobStatus } from "../jobs/status.ts";
import { findCurrent, findLast, generations, presentations } from "../personalization/versions.ts";
import { pooledOptions } from "../service/connections.ts";
import type { Values } from "./common.ts";
import { listConfiguredJobs } from "./find-job.ts";
import { printMessage, printSafeJson, printTable } from "./output.ts";

/** Seconds to wait for a source. */
const maxSeconds = 20;
const shownTimes = 5;

interface Problem {
  readonly message: string;
  readonly isOtherSchema?: boolean;
}

interface Check {
  /** "store", "time zones", or the job and brand of a source. */
  readonly checked: string;
  readonly at: string;
  /** Undefined if it is fine. */
  readonly problem: Problem | undefined;
}

/**
 * Checks the systems that the settings name. Invalid settings end the command earlier.
 * @returns whether everything is fine, or the exit status for a store of another version
 */
export async function check(values: Values): Promise<boolean | number> {
  const config = readConfig(process.env);
  const jobs = await listConfiguredJobs(config);
  const checks = await Promise.all([...checkStores(config), checkTimeZones(), ...jobs.map(checkSource)]);
  const { pauses, warnings: stored } = await readStored(config, jobs);
  const schedules = jobs.flatMap((job) => listTimes(job, pauses.get(job)));
  const unused = listSettingsWithoutEffect(config);
  const warnings = [...stored, ...(await listWarnings(config))];
  if (values.json === true) {
    const results = checks.map(({ problem, ...rest }) => ({ ...rest, problem: problem?.message ?? null }));
    printSafeJson({ checks: results, schedules, settings_without_effect: unused, warnings });
  } else {
    printTable(checks.map(({ problem, ...rest }) => ({ ...rest, result: problem?.message ?? "ok" })));
    if (schedules.length > 0) printTable(schedules.map(toTimesRow));
    for (const sentence of [...unused, ...warnings]) printMessage(sentence);
  }
  if (checks.some(({ problem }) => problem?.isOtherSchema)) return otherSchema;
  return checks.every(({ problem }) => problem === undefined);
}

/** Working settings that lose something. */
async function listWarnings({ reusePort }: Config): Promise<string[]> {
  if (reusePort === "off" || process.platform !== "linux") return [];
  // Missing before Linux 5.14.
  const migrates = await Bun.file("/proc/sys/net/ipv4/tcp_migrate_req")
    .text()
    .catch(() => "");
  return migrates.trim() === "1"
    ? []
    : [
        "REUSE_PORT: a process that stops resets the connections that it has not accepted; set the sysctl net.ipv4.tcp_migrate_req to 1",
      ];
}

function checkTimeZones(): Check {
  const { version, folder = "packaged" } = timeZones();
  return { checked: "time zones", at: `${version} (${folder})`, problem: undefined };
}

/** With a pooler, also checks the server directly. */
function checkStores(config: Config): Promise<Check>[] {
  const { databaseUrl, databaseDirectUrl } = config;
  const pooled = pooledOptions(config);
  const direct = pooled.isPooled
    ? [checkStore("store, without the pooler", databaseDirectUrl, "DATABASE_DIRECT_URL", {})]
    : [];
  return [checkStore("store", databaseUrl, "DATABASE_URL", pooled), ...direct];
}

async function checkStore(checked: string, url: string, setting: string, options: ConnectOptions): Promise<Check> {
  let note = "";
  const problem = await findProblem(async () => {
    const state = await inspectStore(url, setting, options);
    if (state === "absent") note = " (not created yet)";
  });
  return { checked, at: `${url}${note}`, problem };
}

async function checkSource({ name, brand, source, checkSource: checkJob }: PlannedJob): Promise<Check> {
  const signal = AbortSignal.timeout(maxSeconds * 1000);
  const problem = checkJob && (await findProblem(() => checkJob(signal), signal));
  return { checked: `${name} of ${brand}`, at: source, problem };
}

/** @param timeout stops the work, which may then throw any error */
async function findProblem(work: () => Promise<unknown>, timeout?: AbortSignal): Promise<Problem | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (timeout?.aborted) return { message: `no answer within ${maxSeconds} s` };
    return { message: (error as Error).message.replace(/\s+/g, " "), isOtherSchema: isOtherSchema(error) };
  }
}

/**
 * Reads the paused jobs, and lists missing data and runs that take too long. Ignores a store that is
 * absent or unreadable: its check reports that.
 */
async function readStored({ databaseUrl, databaseDirectUrl, brand }: Config, jobs: readonly PlannedJob[]) {
  const pauses = new Map<PlannedJob, JobPause>();
  const warnings: string[] = [];
  const read = async (database: Database) => {
    for (const job of jobs) {
      const pause = await findPause(database, job.name, job.brand);
      if (pause?.resumedAt === null) pauses.set(job, pause);
      const success = await findLastSuccess(database, job.name, job.brand);
      if (success === undefined) warnings.push(`${job.name} of ${job.brand} has never succeeded`);
    }
    for (const { job, brand, isSlow, runningSince } of await listJobStatus(database, jobs)) {
      if (isSlow) warnings.push(`${job} of ${brand} has been running since ${runningSince}, far longer than usual`);
    }
    if ((await searchProducts(database, {}, 1)).length === 0) warnings.push("the store has no products");
    for (const each of new Set([brand, ...jobs.map((job) => job.brand)])) {
      const generation = await findLast(database, generations, each);
      if (generation === undefined) warnings.push(`the store has no personalization of ${each}`);
      const presentation = await findCurrent(database, presentations, each);
      if (presentation === undefined) warnings.push(`the store has no presentation of ${each}`);
    }
  };
  try {
    const store = await openStored(databaseDirectUrl || databaseUrl);
    if (store !== undefined) await read(store).finally(() => closeDatabase(store));
  } catch {}
  return { pauses, warnings };
}

function toTimesRow({ job, brand, schedule, time_zone, times, ...rest }: ReturnType<typeof listTimes>[number]) {
  const { paused_since, paused_by } = rest;
  const shown = times.map((time) => time.replace(".000Z", "Z")).join(", ");
  const next = paused_since === null ? shown : `paused since ${paused_since} by ${paused_by}`;
  return { job, brand, schedule: `${schedule} ${time_zone}`, next };
}

/** A paused job has no next run. */
function listTimes({ name, brand, plan: { schedule } }: PlannedJob, pause: JobPause | undefined) {
  if (schedule === undefined) return [];
  const times: string[] = [];
  for (let at = Date.now(); times.length < shownTimes; ) {
    at = schedule.next(at);
    times.push(new Date(at).toISOString());
  }
  const { pausedAt = null, pausedBy = null } = pause ?? {};
  const { expression, timeZone } = schedule;
  const next = pause === undefined ? (times[0] ?? null) : null;
  const paused = { paused_since: pausedAt, paused_by: pausedBy };
  return [{ job: name, brand, schedule: expression, time_zone: timeZone, next, times, ...paused }];
}
