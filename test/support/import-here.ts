import { expect } from "bun:test";
import { parseArgs } from "node:util";
import pino from "pino";
import { toJson } from "../../src/base/json.ts";
import { sharedPoints } from "../../src/catalog/points.ts";
import { toSnakeCase } from "../../src/commands/output.ts";
import { describeProblems } from "../../src/commands/report.ts";
import { type Config, readConfig } from "../../src/config/index.ts";
import { maxRemovedShareOf } from "../../src/config/jobs.ts";
import { manualImportOptions, manualPresentationOptions } from "../../src/config/manual-options.ts";
import type { Product } from "../../src/contract/product.ts";
import type { Database } from "../../src/database/database.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { abandonRuns, claimRun } from "../../src/jobs/claim.ts";
import type { ImportReport } from "../../src/jobs/import-report.ts";
import type { Job } from "../../src/jobs/job.ts";
import { dryRunJob, type RunResult, runJob } from "../../src/jobs/run-job.ts";
import { createPlatform } from "../../src/platforms/index.ts";
import { catalogImportJob, listJobs, personalizationImportJob, presentationImportJob } from "../../src/service/jobs.ts";
import { writeFeed } from "./feed.ts";
import { type Environment, type Finished, temporaryFolder, writeFiles } from "./pds.ts";

/**
 * Does the work of `pds run JOB`, `pds import products FILE…`, `pds import personalization
 * SOURCE`, or `pds import presentation FILE` in the process of the test, which takes a tenth of the CPU of starting one or two. Where
 * the process, its text for people, or its log matters, a test runs `pds`.
 * @returns as standard output only the report of `--json`
 */
export async function importHere(args: readonly string[], environment: Environment): Promise<Finished> {
  const config = readConfig({ PDS_CONFIG: "/dev/null", ...environment });
  const database = await openDatabase(config.databaseDirectUrl || config.databaseUrl, "job");
  try {
    const { job, isDryRun, isJson } = await findJob(args, config, database);
    const { error, report, ...run } = await execute(database, job, config, isDryRun);
    const messages = [...describeProblems(report), ...(error ? [`pds: ${job.name}: ${error.message}`] : [])];
    return {
      code: error === undefined ? 0 : 1,
      stdout: isJson ? JSON.stringify(toSnakeCase({ ...run, ...(error && { reason: error.message }), ...report })) : "",
      stderr: messages.map((message) => `${message}\n`).join(""),
    };
  } finally {
    await closeDatabase(database);
  }
}

/** Imports products, and the files of a feed, into a store. */
export async function fillStore(
  environment: Environment,
  products: readonly Product[],
  feed?: Readonly<Record<string, string>>,
): Promise<void> {
  const folder = await temporaryFolder();
  const [file = ""] = await writeFiles(folder, { "products.ndjson": products.map(toJson).join("\n") });
  const commands = [["import", "products", file]];
  if (feed !== undefined) commands.push(["import", "personalization", await writeFeed(folder, "feed", feed)]);
  for (const command of commands) expect(await importHere(command, environment)).toMatchObject({ code: 0 });
}

interface Command {
  readonly job: Job;
  readonly isDryRun: boolean;
  readonly isJson: boolean;
}

async function execute(database: Database, job: Job, { leaseSeconds }: Config, isDryRun: boolean): Promise<RunResult> {
  const { signal } = new AbortController();
  if (isDryRun) return await dryRunJob(database, job, { signal });
  await abandonRuns(database);
  const id = await claimRun(database, { job: job.name, brand: job.brand }, leaseSeconds);
  if (id === undefined) throw new Error(`${job.name} is already running for ${job.brand}`);
  return await runJob(database, job, id, leaseSeconds, { signal });
}

async function findJob(args: readonly string[], config: Config, database: Database): Promise<Command> {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      brand: { type: "string" },
      "dry-run": { type: "boolean" },
      force: { type: "boolean" },
      json: { type: "boolean" },
    },
  });
  const [command, noun = "", ...sources] = positionals;
  const { brand = config.brand, force: isForced = false, "dry-run": isDryRun = false, json: isJson = false } = values;
  if (command === "run") {
    const log = pino({ level: "silent" });
    const jobs = listJobs(config, log, await createPlatform(config, log, sharedPoints(database)));
    const job = jobs.find(({ name, brand: of }) => name === noun && of === brand);
    if (job === undefined) throw new Error(`${noun} is not configured for ${brand}`);
    return { job, isDryRun, isJson };
  }
  if (`${command} ${noun}` === "import products") {
    const maxRemovedShare = maxRemovedShareOf(config, "catalog-import");
    const { visible, maxFileMegabytes } = config;
    const options = { visible, maxFileMegabytes, maxRemovedShare, isForced };
    return { job: catalogImportJob(sources, options, brand), isDryRun, isJson };
  }
  if (`${command} ${noun}` === "import presentation") {
    const options = manualPresentationOptions(config, `${sources[0]}`, brand);
    return { job: presentationImportJob(options, config, brand, { isManual: true, isForced }), isDryRun, isJson };
  }
  if (`${command} ${noun}` !== "import personalization") throw new Error(`${args.join(" ")}: run it with pds`);
  const options = manualImportOptions(config, `${sources[0]}`, brand);
  return { job: personalizationImportJob(options, config, brand, { isManual: true, isForced }), isDryRun, isJson };
}

/** The reason as it is stored with the run of a printed report: after the first rejected row, if that is why. */
export function storedReason({ reason = null, rejections: [first] }: PrintedReport): string | null {
  const [example] = first?.examples ?? [];
  if (!reason?.includes(" rejected") || first === undefined || example === undefined) return reason;
  const field = first.field === undefined ? "" : `${first.field}: `;
  return `${example.file}:${example.line}: ${field}${first.reason}; ${reason}`;
}

type PrintedReport = Pick<ImportReport, "rejections"> & { readonly reason?: string | null };
