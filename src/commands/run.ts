import { hideCredentials } from "../base/credentials.ts";
import { ServiceError } from "../base/errors.ts";
import { pluralize } from "../base/format.ts";
import { createFetch } from "../base/outgoing.ts";
import { isTerminal } from "../base/terminal.ts";
import { sharedPoints } from "../catalog/points.ts";
import { type Config, readConfig } from "../config/index.ts";
import { listSecrets } from "../config/printing.ts";
import type { Database } from "../database/database.ts";
import { abandonRuns, claimRun } from "../jobs/claim.ts";
import type { DryRun } from "../jobs/dry-run.ts";
import type { Job } from "../jobs/job.ts";
import { findPause } from "../jobs/job-pause.ts";
import { Monitors } from "../jobs/monitors.ts";
import type { Run } from "../jobs/run.ts";
import { AbandonedError, dryRunJob, type RunOptions, type RunResult, runJob } from "../jobs/run-job.ts";
import { findRun, findRunUnderWay } from "../jobs/runs.ts";
import { supervise } from "../jobs/supervisor.ts";
import { createPlatform } from "../platforms/index.ts";
import { listJobs } from "../service/jobs.ts";
import { brandOf, lowerPriority, onSignal, openLog, type Values, withDatabase, withStoreIfAny } from "./common.ts";
import { findJob } from "./find-job.ts";
import { print, printMessage, printSafeJson, toSnakeCase } from "./output.ts";
import { readParent } from "./parent.ts";
import { createProgressLine } from "./progress.ts";
import { describeContent, describeProblems } from "./report.ts";

export async function importNow(createJob: (config: Config, brand: string) => Job, values: Values): Promise<boolean> {
  const config = readConfig(process.env);
  const brand = brandOf(config, values);
  const job = createJob(config, brand);
  if (values.dryRun === true) return await dryRun(job, values);
  return await withDatabase(async (database) => {
    const id = await claim(database, job, config.leaseSeconds);
    const result = await runWithProgress((options) => runJob(database, job, id, config.leaseSeconds, options));
    return printResult(result, values);
  });
}

const dryRun = (job: Job, values: Values) =>
  withStoreIfAny(async (database) =>
    printResult(await runWithProgress((options) => dryRunJob(database, job, options)), values),
  );

/** Runs a configured job in a child process, as the service does. */
export async function runSupervised(name: string, values: Values): Promise<boolean | number> {
  const config = readConfig(process.env);
  const log = await openLog(config);
  // First, so that a mistyped name does not create a store.
  const job = findJob(
    "run",
    name,
    values,
    listJobs(config, log, await createPlatform(config, log), values.force === true),
  );
  requireImport(job, values);
  if (values.dryRun === true) return await dryRun(job, values);
  return await withDatabase(async (database) => {
    const pause = await findPause(database, name, job.brand);
    if (pause?.resumedAt === null) {
      const since = `since ${pause.pausedAt} by ${pause.pausedBy}`;
      printMessage(`${name} for ${job.brand} is paused ${since}; it runs once now, and stays paused`);
    }
    const id = await claim(database, job, config.leaseSeconds);
    const monitors = new Monitors(log, listSecrets(config), createFetch(config));
    const { signal } = onSignal();
    const context = { database, monitors, config, signal };
    let status = 0;
    const run = await supervise(job, id, context, {
      arguments: ["json", "force"].flatMap((option) => (values[option] === true ? [`--${option}`] : [])),
      stdout: "inherit",
      stderr: isTerminal() ? "inherit" : "pipe",
      onExit: (code) => {
        status = code;
      },
    });
    await monitors.settled(signal);
    if (run === "released") throw new ServiceError("unavailable", `${name}: this program was replaced; try again`);
    return run?.outcome === "succeeded" && status;
  });
}

/** @throws ServiceError `bad_request` */
function requireImport({ name, isImport }: Job, values: Values): void {
  const option = values.dryRun === true ? "dry-run" : values.force === true ? "force" : undefined;
  if (option === undefined || isImport === true) return;
  throw new ServiceError("bad_request", `run: --${option} is for imports; ${name} is none`);
}

/** Runs a job whose run the parent has claimed, or its dry run. Stops if the parent exits. */
export async function runClaimed(name: string, values: Values): Promise<boolean> {
  const parent = readParent();
  // The parent's settings, because the file may have changed, or be invalid.
  const config = (await parent.config) ?? readConfig(process.env);
  return await withDatabase(async (database) => {
    const log = await openLog(config);
    const platform = await createPlatform(config, log, sharedPoints(database));
    const job = findJob("run", name, values, listJobs(config, log, platform, values.force === true));
    requireImport(job, values);
    const isDryRun = values.dryRun === true;
    const note = values.note === undefined ? undefined : `${values.note}`;
    const id = Number(values.claimed);
    const run = Number.isSafeInteger(id) ? await findRun(database, id) : undefined;
    if (!isDryRun && (run?.job !== name || run.brand !== job.brand || run.finishedAt !== null)) {
      throw new ServiceError("bad_request", `run: ${values.claimed} is not a current run of ${name} for ${job.brand}`);
    }
    const orphaned = new AbortController();
    void parent.exit.then(() => {
      orphaned.abort(new AbandonedError("its parent process exited"));
      // Work that ignores the signal would renew its lease forever, with no parent to kill it.
      setTimeout(() => process.exit(1), orphanGraceMs).unref();
    });
    const result = await runWithProgress(({ signal, onProgress }) => {
      const options = { onProgress, signal: AbortSignal.any([signal, orphaned.signal]), note };
      return isDryRun ? dryRunJob(database, job, options) : runJob(database, job, id, config.leaseSeconds, options);
    });
    if (!isDryRun) return printResult(result, values);
    // `dryRunInProcess` reads it.
    const { counts, error, report } = result;
    printSafeJson({ counts, reason: error?.message, report } satisfies DryRun);
    return error === undefined;
  }, config);
}

const orphanGraceMs = 10_000;

const heartbeatPollMs = 250;

/**
 * Claims a run. If another one seems to be in progress, waits for its heartbeat: without one, its
 * lease expires, and the claim succeeds.
 * @throws ServiceError `unavailable` if the other run is alive
 */
async function claim(database: Database, { name, brand }: Job, leaseSeconds: number): Promise<number> {
  let seen: Run | undefined;
  for (;;) {
    // A lost run may hold locks that this one needs.
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

async function runWithProgress(run: (options: RunOptions) => Promise<RunResult>): Promise<RunResult> {
  lowerPriority();
  const progress = createProgressLine();
  const result = await run({ signal: onSignal().signal, onProgress: progress.show });
  progress.end();
  return result;
}

function printResult({ error, report, ...run }: RunResult, values: Values): boolean {
  const isJson = values.json === true;
  for (const line of describeProblems(report)) printMessage(line);
  if (isJson) printSafeJson(toSnakeCase({ ...run, ...(error && { reason: error.message }), ...report }));
  else {
    // A failed import has no result, so the description of its feed is a message.
    const write = error === undefined ? print : printMessage;
    for (const line of describeContent(report)) write(hideCredentials(line));
  }
  if (error === undefined && !isJson) print(summarize(run, values.dryRun === true));
  if (error !== undefined) printMessage(`pds: ${run.job}: ${error.message}`);
  return error === undefined;
}

function summarize({ job, brand, counts }: Omit<RunResult, "report">, isDryRun: boolean): string {
  if (job === "history-retention") return `${job}: ${pluralize(counts, "run")} removed`;
  return `${job}: ${counts} ${isDryRun ? "would be imported" : "imported"} for ${brand}`;
}
