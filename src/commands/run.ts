import { existsSync, readdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { type Config, readConfig } from "../config/index.ts";
import { hideCredentials } from "../credentials.ts";
import type { Database } from "../database/database.ts";
import { databaseExists } from "../database/index.ts";
import { abandonRuns, claimRun } from "../database/lease.ts";
import { findRun, findRunUnderWay } from "../database/run.ts";
import { ServiceError } from "../errors.ts";
import { pluralize } from "../format.ts";
import type { Job, PlannedJob } from "../jobs/job.ts";
import { Monitors } from "../jobs/monitors.ts";
import { AbandonedError, dryRunJob, type RunOptions, type RunResult, runJob } from "../jobs/run.ts";
import { supervise } from "../jobs/supervisor.ts";
import type { Log } from "../log.ts";
import type { Run } from "../model/job.ts";
import { createPlatform } from "../platforms/index.ts";
import { listJobs } from "../service/jobs.ts";
import { sharedPoints } from "../service/points.ts";
import { isTerminal } from "../terminal.ts";
import { brandOf, onSignal, openLog, type Values, withDatabase } from "./common.ts";
import { print, printMessage, printSafeJson } from "./output.ts";
import { createProgressLine } from "./progress.ts";
import { describePersonalization, describeProblems } from "./report.ts";

/** Runs an import from the command line in this process. */
export async function importNow(createJob: (config: Config, brand: string) => Job, values: Values): Promise<boolean> {
  const config = readConfig(process.env);
  const brand = brandOf(config, values);
  const job = createJob(config, brand);
  if (values["dry-run"] !== true) {
    return await withDatabase(async (database) => {
      const id = await claim(database, job, config.leaseSeconds);
      const result = await runWithProgress((options) => runJob(database, job, id, config.leaseSeconds, options));
      return printResult(result, values);
    });
  }
  const dryRun = async (database?: Database) =>
    printResult(await runWithProgress((options) => dryRunJob(database, job, options)), values);
  return databaseExists(config.databaseUrl) ? await withDatabase(dryRun) : await dryRun();
}

/** Runs a configured job in a child process, as the service does. */
export function runSupervised(name: string, values: Values): Promise<boolean> {
  return withDatabase(async (database, config) => {
    const log = await openLog(config);
    const job = findJob(name, values, config, log);
    const id = await claim(database, job, config.leaseSeconds);
    const monitors = new Monitors(log);
    const { signal } = onSignal();
    const context = { database, monitors, leaseSeconds: config.leaseSeconds, signal };
    const run = await supervise(job, id, context, {
      arguments: values.json === true ? ["--json"] : [],
      stdout: "inherit",
      stderr: isTerminal() ? "inherit" : "pipe",
    });
    await monitors.settled(signal);
    if (run === "released")
      throw new ServiceError("unavailable", `${name}: the store or this program was upgraded; try again`);
    return run?.outcome === "succeeded";
  });
}

/** Does the work of a run that the parent process has claimed. Stops if the parent exits. */
export function runClaimed(name: string, values: Values): Promise<boolean> {
  return withDatabase(async (database, config) => {
    const job = findJob(name, values, config, await openLog(config), database);
    const id = Number(values.claimed);
    const run = Number.isSafeInteger(id) ? await findRun(database, id) : undefined;
    if (run === undefined || run.job !== name || run.brand !== job.brand || run.finishedAt !== null) {
      throw new ServiceError("bad_request", `run: ${values.claimed} is not a current run of ${name} for ${job.brand}`);
    }
    const orphaned = new AbortController();
    void parentExit().then(() => {
      orphaned.abort(new AbandonedError("its parent process exited"));
      // Work that ignores the signal would renew its lease forever, and no parent is left to kill
      // it.
      setTimeout(() => process.exit(1), orphanGraceMs).unref();
    });
    const result = await runWithProgress(({ signal, onProgress }) =>
      runJob(database, job, id, config.leaseSeconds, {
        onProgress,
        signal: AbortSignal.any([signal, orphaned.signal]),
      }),
    );
    return printResult(result, values);
  });
}

const orphanGraceMs = 10_000;

/** Settles when the parent process, which holds the other end of standard input, has exited. */
async function parentExit(): Promise<void> {
  for await (const _ of Bun.stdin.stream());
}

/** @param database for a job that this process does itself */
function findJob(name: string, { brand }: Values, config: Config, log: Log, database?: Database): PlannedJob {
  const jobs = listJobs(config, log, createPlatform(config, log, database && sharedPoints(database)));
  const candidates = jobs.filter((job) => job.name === name);
  const [job, ...others] = candidates.filter((job) => brand === undefined || job.brand === brand);
  if (candidates.length === 0) {
    const known = [...new Set(jobs.map((other) => other.name))].join(", ") || "none";
    throw new ServiceError("bad_request", `run: no job ${JSON.stringify(name)} is configured; configured: ${known}`);
  }
  if (job !== undefined && others.length === 0) return job;
  const brands = candidates.map((candidate) => JSON.stringify(candidate.brand)).join(", ");
  throw new ServiceError("bad_request", `run: ${name} is configured for ${brands}; choose one with --brand`);
}

const heartbeatPollMs = 250;

/**
 * Claims a run for a person or an external scheduler. If another run seems to be in progress, waits
 * for its heartbeat. Without one its lease expires, and the claim is granted.
 * @throws ServiceError `unavailable` if the other run is alive
 */
async function claim(database: Database, { name, brand }: Job, leaseSeconds: number): Promise<number> {
  let seen: Run | undefined;
  for (;;) {
    // The locks of any lost run may hold up this one.
    const { problems } = await abandonRuns(database);
    if (seen === undefined) for (const problem of problems) printMessage(problem);
    const id = await claimRun(database, { job: name, brand }, leaseSeconds);
    if (id !== undefined) return id;
    const other = await findRunUnderWay(database, name, brand);
    if (other !== undefined) {
      const problem = `${name} is already running for ${brand} since ${other.startedAt}`;
      if (seen === undefined) printMessage(`${problem}; waiting up to ${leaseSeconds} s for its heartbeat`);
      // A lease is shortened, not renewed, after the clock was set back.
      else if (seen.id === other.id && seen.leaseUntil < other.leaseUntil) {
        throw new ServiceError("unavailable", `${problem}; try again when it has finished`);
      }
      seen = other;
    }
    await Bun.sleep(heartbeatPollMs);
  }
}

/** Lowers this process's priority below that of a service on the same machine. */
function lowerPriority(): void {
  // On Linux each thread has its own priority, including those of the garbage collector, which have
  // already started.
  const threads = existsSync("/proc/self/task") ? readdirSync("/proc/self/task") : ["0"];
  for (const thread of threads) {
    try {
      setPriority(Number(thread), constants.priority.PRIORITY_LOW);
    } catch {
      // The thread has ended meanwhile, or the system forbids it; the run works without.
    }
  }
}

/** Runs a job and shows its progress on a terminal. */
async function runWithProgress(run: (options: RunOptions) => Promise<RunResult>): Promise<RunResult> {
  lowerPriority();
  const progress = createProgressLine();
  const result = await run({ signal: onSignal().signal, onProgress: progress.show });
  progress.end();
  return result;
}

/** @returns whether the run succeeded */
function printResult({ error, report, ...run }: RunResult, values: Values): boolean {
  const isJson = values.json === true;
  for (const line of describeProblems(report)) printMessage(line);
  if (isJson) printSafeJson({ ...run, ...(error && { reason: error.message }), ...report });
  else if (report.personalization !== undefined) {
    // A failed import has no result, so the description of its feed is a message.
    const write = error === undefined ? print : printMessage;
    for (const line of describePersonalization(report.personalization)) write(hideCredentials(line));
  }
  if (error === undefined && !isJson) print(summarize(run, values["dry-run"] === true));
  if (error !== undefined) printMessage(`pds: ${run.job}: ${error.message}`);
  return error === undefined;
}

function summarize({ job, brand, counts }: Omit<RunResult, "report">, isDryRun: boolean): string {
  if (job === "history-retention") return `${job}: ${pluralize(counts, "run")} removed`;
  return `${job}: ${counts} ${isDryRun ? "would be imported" : "imported"} for ${brand}`;
}
