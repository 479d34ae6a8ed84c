import type { Config } from "../config.ts";
import type { Database } from "../database/index.ts";
import { beginRun, finishRun } from "../database/run.ts";
import type { ImportReport, Outcome } from "../job.ts";
import { catalogImport } from "./catalog-import.ts";
import { type Import, ImportReporter } from "./import.ts";
import { personalizationImport } from "./personalization-import.ts";

export interface Job {
  readonly name: string;
  /** What it reads, for people. */
  readonly source: string;
  readonly import: Import;
}

export function catalogImportJob(files: readonly string[]): Job {
  return { name: "catalog-import", source: files.join(", "), import: catalogImport(files) };
}

export function personalizationImportJob(folder: string): Job {
  return { name: "personalization-import", source: folder, import: personalizationImport(folder) };
}

/** The jobs that the settings configure. */
export function listJobs({ jobs }: Config): Job[] {
  const catalog = jobs["catalog-import"];
  const personalization = jobs["personalization-import"];
  return [
    ...(catalog ? [catalogImportJob(catalog.source)] : []),
    ...(personalization ? [personalizationImportJob(personalization.source)] : []),
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

/** Runs a job for a brand and records the run. A failure is part of the result; only a lost database throws. */
export async function runJob(database: Database, job: Job, brand: string): Promise<RunResult> {
  const id = await beginRun(database, job.name, brand);
  const result = await execute(database, job, brand);
  const { outcome, counts, report, error } = result;
  await finishRun(database, id, { outcome, counts, report, ...(error && { reason: error.message }) });
  return result;
}

/** Reads and checks what the job would import, and changes nothing. */
export function rehearseJob(job: Job, brand: string): Promise<RunResult> {
  return execute(undefined, job, brand);
}

async function execute(database: Database | undefined, job: Job, brand: string): Promise<RunResult> {
  const reporter = new ImportReporter();
  const { report } = reporter;
  let error: Error | undefined;
  try {
    await job.import({ database, brand, reporter });
  } catch (thrown) {
    error = thrown as Error;
  }
  const outcome = error === undefined ? "succeeded" : "failed";
  return { job: job.name, brand, outcome, counts: report.accepted, ...(error && { error }), report };
}
