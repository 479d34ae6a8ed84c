import { existsSync, readdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { type Config, readConfig } from "../config/index.ts";
import { hideCredentials } from "../credentials.ts";
import type { Database } from "../database/database.ts";
import { databaseExists } from "../database/index.ts";
import { claimRun, findRun, findRunUnderWay } from "../database/run.ts";
import { ServiceError } from "../errors.ts";
import type { Job, PlannedJob } from "../jobs/job.ts";
import { Monitors } from "../jobs/monitors.ts";
import { AbandonedError, dryRunJob, type RunOptions, type RunResult, runJob } from "../jobs/run.ts";
import { supervise } from "../jobs/supervisor.ts";
import type { Log } from "../log.ts";
import type { Run } from "../model/job.ts";
import { listJobs } from "../service/jobs.ts";
import { isTerminal } from "../terminal.ts";
import { brandOf, onSignal, openLog, withDatabase } from "./common.ts";
import { print, printMessage, printSafeJson } from "./output.ts";
import { progressLine } from "./progress.ts";
import { describePersonalization, describeProblems } from "./report.ts";

type Values = Readonly<Record<string, unknown>>;

/** Imports what a person names, in this very process. */
export async function importNow(jobOf: (config: Config, brand: string) => Job, values: Values): Promise<boolean> {
  const config = readConfig(process.env);
  const brand = brandOf(config, values);
  const job = jobOf(config, brand);
  if (values["dry-run"] !== true) {
    return await withDatabase(async (database) => {
      const id = await claim(database, job, config.leaseSeconds);
      return report(await runShown((options) => runJob(database, job, id, config.leaseSeconds, options)), values);
    });
  }
  const rehearse = async (database?: Database) =>
    report(await runShown((options) => dryRunJob(database, job, options)), values);
  return databaseExists(config.databaseUrl) ? await withDatabase(rehearse) : await rehearse();
}

/** Runs a configured job in a process of its own, as the service does it. */
export function runSupervised(name: string, values: Values): Promise<boolean> {
  return withDatabase(async (database, config) => {
    const log = await openLog(config);
    const job = findJob(name, values, config, log);
    const id = await claim(database, job, config.leaseSeconds);
    const monitors = new Monitors(log);
    const run = await supervise(
      job,
      id,
      { database, monitors, leaseSeconds: config.leaseSeconds, signal: onSignal().signal },
      {
        arguments: values.json === true ? ["--json"] : [],
        stdout: "inherit",
        stderr: isTerminal() ? "inherit" : "pipe",
      },
    );
    await monitors.settled();
    return run?.outcome === "succeeded";
  });
}

/** Does the work of a run for the process that has claimed it, and is told to stop when that one is gone. */
export function runClaimed(name: string, values: Values): Promise<boolean> {
  return withDatabase(async (database, config) => {
    const job = findJob(name, values, config, await openLog(config));
    const id = Number(values.claimed);
    const run = Number.isSafeInteger(id) ? await findRun(database, id) : undefined;
    if (run === undefined || run.job !== name || run.brand !== job.brand || run.finishedAt !== null) {
      throw new ServiceError("bad_request", `run: no run ${values.claimed} of ${name} for ${job.brand} is under way`);
    }
    const orphaned = new AbortController();
    void supervisorGone().then(() => {
      orphaned.abort(new AbandonedError("its parent process exited"));
      // Work that does not stop would keep its lease for good, and nobody is there to end it.
      setTimeout(() => process.exit(1), orphanGraceMs).unref();
    });
    return report(
      await runShown(({ signal, ...options }) =>
        runJob(database, job, id, config.leaseSeconds, {
          ...options,
          signal: AbortSignal.any([signal, orphaned.signal]),
        }),
      ),
      values,
    );
  });
}

const orphanGraceMs = 10_000;

/** It holds the other end of the standard input. */
async function supervisorGone(): Promise<void> {
  for await (const _ of Bun.stdin.stream());
}

function findJob(name: string, { brand }: Values, config: Config, log: Log): PlannedJob {
  const jobs = listJobs(config, log);
  const named = jobs.filter((job) => job.name === name);
  const [job, ...others] = named.filter((job) => brand === undefined || job.brand === brand);
  if (named.length === 0) {
    const known = [...new Set(jobs.map((candidate) => candidate.name))].join(", ") || "none";
    throw new ServiceError("bad_request", `run: no job ${JSON.stringify(name)} is configured; configured: ${known}`);
  }
  if (job !== undefined && others.length === 0) return job;
  const brands = named.map((candidate) => JSON.stringify(candidate.brand)).join(", ");
  throw new ServiceError("bad_request", `run: --brand: ${name} is configured for ${brands}: name one of them`);
}

/** How often a run is looked at that is to show whether it is still there. */
const lookMs = 250;

/**
 * Claims a run that a person or an outside scheduler wants. Where there is one under way its next sign of life is waited for, for
 * as long as its lease lasts: without one it is abandoned, and not in the way.
 * @throws ServiceError `unavailable` when the job is running already.
 */
async function claim(database: Database, { name, brand }: Job, leaseSeconds: number): Promise<number> {
  let seen: Run | undefined;
  for (;;) {
    const id = await claimRun(database, { job: name, brand }, leaseSeconds);
    if (id !== undefined) return id;
    const underWay = await findRunUnderWay(database, name, brand);
    if (underWay !== undefined) {
      const since = `${name} is running for ${brand} already, since ${underWay.startedAt}`;
      if (seen === undefined) printMessage(`${since}: waiting for its sign of life, ${leaseSeconds} s at most`);
      else if (seen.id === underWay.id && seen.leaseUntil !== underWay.leaseUntil) {
        throw new ServiceError("unavailable", `${since}: try again when that has ended`);
      }
      seen = underWay;
    }
    await Bun.sleep(lookMs);
  }
}

/** Lets whoever serves on the same machine go first. */
function stepBack(): void {
  // On Linux each thread has a priority of its own, also those of the collector, which are there already.
  const threads = existsSync("/proc/self/task") ? readdirSync("/proc/self/task") : ["0"];
  for (const thread of threads) setPriority(Number(thread), constants.priority.PRIORITY_LOW);
}

/** Runs a job, and shows on a terminal how far it is. */
async function runShown(run: (options: RunOptions) => Promise<RunResult>): Promise<RunResult> {
  stepBack();
  const progress = progressLine();
  const result = await run({ signal: onSignal().signal, onProgress: progress.show });
  progress.end();
  return result;
}

function report({ error, report, ...run }: RunResult, values: Values): boolean {
  for (const line of describeProblems(report)) printMessage(line);
  const { personalization } = report;
  if (values.json === true) printSafeJson({ ...run, ...(error && { reason: error.message }), ...report });
  // Of an import that failed nothing came: what its feed held is a part of the message.
  else
    for (const line of personalization ? describePersonalization(personalization) : [])
      (error ? printMessage : print)(hideCredentials(line));
  if (error === undefined && values.json !== true) print(sentenceOf(run, values["dry-run"] === true));
  if (error !== undefined) printMessage(`pds: ${run.job}: ${error.message}`);
  return error === undefined;
}

function sentenceOf({ job, brand, counts }: Omit<RunResult, "report">, isDryRun: boolean): string {
  if (job === "history-retention") return `${job}: ${counts} runs removed`;
  return `${job}: ${counts} ${isDryRun ? "would be imported" : "imported"} for ${brand}`;
}
