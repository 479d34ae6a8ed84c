import type { Config, PersonalizationOptions } from "../config.ts";
import type { Database } from "../database/database.ts";
import { beginRun, finishRun } from "../database/run.ts";
import type { ImportReport, Outcome } from "../job.ts";
import type { Log } from "../log.ts";
import { connectPlatform } from "../shopify/connection.ts";
import { catalogImport } from "./catalog-import.ts";
import { catalogReconcile } from "./catalog-reconcile.ts";
import { catalogSync } from "./catalog-sync.ts";
import { type ImportMode, personalizationImport } from "./personalization-import.ts";
import { type OnProgress, Reporter, type Work } from "./work.ts";

export interface Job {
  readonly name: string;
  /** What it reads, for people. */
  readonly source: string;
  readonly work: Work;
}

export function catalogImportJob(files: readonly string[]): Job {
  return { name: "catalog-import", source: files.join(", "), work: catalogImport(files) };
}

export function personalizationImportJob(options: PersonalizationOptions, config: Config, mode: ImportMode): Job {
  const work = personalizationImport(options, config, mode);
  return { name: "personalization-import", source: options.source, work };
}

const bySchedule: ImportMode = { isByHand: false, isForced: false };

/** The jobs that the settings configure, in the order in which a new store wants them. */
export function listJobs(config: Config, log: Log): Job[] {
  const { "catalog-import": catalog, "personalization-import": personalization, ...ofPlatform } = config.jobs;
  return [
    ...(catalog ? [catalogImportJob(catalog.source)] : []),
    ...listPlatformJobs(ofPlatform, config, log),
    ...(personalization ? [personalizationImportJob(personalization, config, bySchedule)] : []),
  ];
}

function listPlatformJobs(jobs: Config["jobs"], config: Config, log: Log): Job[] {
  const request = connectPlatform(config, log);
  if (request === undefined) return [];
  const source = config.shopifyApiUrl || config.shopDomain;
  const reconcile = jobs["catalog-reconcile"];
  return [
    ...(reconcile
      ? [{ name: "catalog-reconcile", source, work: catalogReconcile(request, reconcile.max_removed_share, log) }]
      : []),
    ...(jobs["catalog-sync"] ? [{ name: "catalog-sync", source, work: catalogSync(request) }] : []),
  ];
}

export interface RunResult {
  readonly job: string;
  readonly brand: string;
  readonly outcome: Outcome;
  readonly counts: number;
  /** What made it fail. */
  readonly error?: Error;
  readonly report: ImportReport;
}

/** Who runs a job, and who wants to know how it goes. */
export interface RunOptions {
  readonly brand: string;
  readonly signal: AbortSignal;
  readonly onProgress?: OnProgress | undefined;
}

/** Runs a job for a brand and records the run. A failure is part of the result; only a lost database throws. */
export async function runJob(database: Database, job: Job, options: RunOptions): Promise<RunResult> {
  const id = await beginRun(database, job.name, options.brand);
  const result = await execute(database, false, job, options);
  const { outcome, counts, report, error } = result;
  await finishRun(database, id, { outcome, counts, report, ...(error && { reason: error.message }) });
  return result;
}

/**
 * Reads and checks what the job would import, and changes nothing.
 * @param database what it would be imported into; undefined when that is not there yet
 */
export function rehearseJob(database: Database | undefined, job: Job, options: RunOptions): Promise<RunResult> {
  return execute(database, true, job, options);
}

async function execute(
  database: Database | undefined,
  isRehearsal: boolean,
  job: Job,
  { brand, signal, onProgress }: RunOptions,
): Promise<RunResult> {
  const reporter = new Reporter();
  const { report } = reporter;
  let error: Error | undefined;
  try {
    await job.work({ database, isRehearsal, brand, reporter, signal, onProgress });
  } catch (thrown) {
    // Whatever the work threw when it was told to stop: who told it is the reason.
    error = (signal.aborted ? signal.reason : thrown) as Error;
  }
  const outcome = error === undefined ? "succeeded" : "failed";
  return { job: job.name, brand, outcome, counts: report.accepted, ...(error && { error }), report };
}
