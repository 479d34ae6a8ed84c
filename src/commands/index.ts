import { existsSync, readdirSync } from "node:fs";
import { constants, setPriority } from "node:os";
import type { Config } from "../config.ts";
import { environmentName, optionsByHand, readConfig, settingNames, settings, shown } from "../config.ts";
import type { Database } from "../database/database.ts";
import { ServiceError } from "../errors.ts";
import type { Job, RunOptions, RunResult } from "../jobs/index.ts";
import type { Log } from "../log.ts";
import { print, printJson, printTable, tell } from "./output.ts";
import { progressLine } from "./progress.ts";
import { describePersonalization, describeProblems } from "./report.ts";

export interface CommandOption {
  readonly type: "string" | "boolean";
  readonly sentence: string;
}

export interface Command {
  /** What follows the name. */
  readonly usage: string;
  readonly summary: string;
  readonly options?: Readonly<Record<string, CommandOption>>;
  /** Fewest and most arguments; none when absent. */
  readonly positionals?: readonly [number, number];
  /** @returns whether it did what it was asked to */
  readonly run: (positionals: string[], values: Record<string, unknown>) => Promise<boolean>;
}

const json: CommandOption = { type: "boolean", sentence: "Print JSON." };
const force: CommandOption = {
  type: "boolean",
  sentence: "Import whatever can be read, even what would be refused; the report says what.",
};
const importOptions = {
  brand: { type: "string", sentence: "Brand to import for; by default the configured one." },
  "dry-run": { type: "boolean", sentence: "Only read and check; change nothing." },
  json,
} satisfies Record<string, CommandOption>;

/**
 * The command line's commands. What they need is loaded when they run, so that each starts as fast as it can.
 */
export const commands: Readonly<Record<string, Command>> = {
  serve: {
    usage: "",
    summary: "Run the service until it is told to stop.",
    run: serve,
  },
  "import products": {
    usage: "FILE… [--brand TEXT] [--dry-run] [--json]",
    summary: "Replace all products by those of the files: JSON, a JSON array or NDJSON.",
    options: importOptions,
    positionals: [1, Number.POSITIVE_INFINITY],
    run: async (files, values) => {
      const { catalogImportJob } = await import("../jobs/index.ts");
      return await importNow(() => catalogImportJob(files), values);
    },
  },
  "import personalization": {
    usage: "FOLDER [--brand TEXT] [--dry-run] [--force] [--json]",
    summary: "Replace a brand's personalization by the feed in a folder, or at an https:// or s3:// address.",
    options: { ...importOptions, force },
    positionals: [1, 1],
    run: async ([folder = ""], values) => {
      const { personalizationImportJob } = await import("../jobs/index.ts");
      const mode = { isByHand: true, isForced: values.force === true };
      const jobOf = (config: Config) => personalizationImportJob(optionsByHand(config, folder), config, mode);
      return await importNow(jobOf, values);
    },
  },
  "rollback personalization": {
    usage: "[--brand TEXT]",
    summary: "Make a brand's personalization what it was before the last import.",
    options: { brand: importOptions.brand },
    run: (_, values) =>
      withDatabase(async (database, config) => {
        const { rollbackPersonalization } = await import("../database/generation.ts");
        const brand = brandOf(config, values);
        const done = await rollbackPersonalization(database, brand);
        tell(done ? `rolled back the personalization of ${brand}` : `nothing to roll back to for ${brand}`);
        return done;
      }),
  },
  run: {
    usage: "JOB [--json]",
    summary: "Run a configured job now.",
    options: { json },
    positionals: [1, 1],
    run: ([name = ""], values) =>
      withDatabase(async (database, config) => {
        const [{ listJobs, runJob }, log] = await Promise.all([import("../jobs/index.ts"), openLog(config)]);
        const jobs = listJobs(config, log);
        const job = jobs.find((candidate) => candidate.name === name);
        if (job === undefined) {
          const known = jobs.map((candidate) => candidate.name).join(", ") || "none";
          throw new ServiceError(
            "bad_request",
            `run: no job ${JSON.stringify(name)} is configured; configured: ${known}`,
          );
        }
        return report(await runShown(config.brand, (options) => runJob(database, job, options)), values);
      }),
  },
  jobs: {
    usage: "[--json]",
    summary: "List the configured jobs and how each ran last.",
    options: { json },
    run: (_, values) => withDatabase((database, config) => printJobs(database, config, values)),
  },
  history: {
    usage: "[asc|desc] [--json]",
    summary: "Print the last runs as the history operation answers them; newest first unless asc.",
    options: { json },
    positionals: [0, 1],
    run: ([order = "desc"], values) => withDatabase((database) => printHistory(database, order, values)),
  },
  config: {
    usage: "[--json]",
    summary: "Print the settings in force and where each comes from; secrets stay hidden.",
    options: { json },
    run: async (_, values) => {
      const config = readConfig(process.env);
      const rows = settingNames.map((name) => ({
        setting: environmentName(name),
        value: shown(name, config),
        from: config.from[name],
      }));
      if (values.json === true) printJson({ settings: rows, jobs: config.jobs });
      else printTable(rows);
      return true;
    },
  },
  openapi: {
    usage: "",
    summary: "Print the contract as OpenAPI 3.1.",
    run: async () => {
      const { openApiDocument } = await import("../http/openapi.ts");
      printJson(openApiDocument());
      return true;
    },
  },
};

async function serve(): Promise<boolean> {
  const config = readConfig(process.env);
  const [log, { startService }, { runJobProcess }] = await Promise.all([
    openLog(config),
    import("../service.ts"),
    import("../jobs/process.ts"),
  ]);
  const { told, signal } = whenTold();
  const service = await startService(config, log, runJobProcess, signal);
  print(`Public   ${service.publicUrl}/api/v1`);
  print(`Docs     ${service.publicUrl}/docs`);
  print(`Admin    ${service.adminUrl}`);
  log.info({ signal: await told }, "stopping");
  await service.stop();
  log.info("stopped");
  return true;
}

/** Told to stop: by the system, or by a person at the terminal. */
function whenTold(): { told: Promise<NodeJS.Signals>; signal: AbortSignal } {
  const controller = new AbortController();
  const told = new Promise<NodeJS.Signals>((resolve) => {
    // For good: a terminal tells the whole group and npm tells once more, and the second must not cut the stop short.
    for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, resolve);
  });
  told.then((name) => controller.abort(new ServiceError("unavailable", `stopped by ${name}`)));
  return { told, signal: controller.signal };
}

async function openLog({ logLevel }: Config): Promise<Log> {
  const { createLog } = await import("../log.ts");
  return await createLog(logLevel);
}

async function importNow(jobOf: (config: Config) => Job, values: Record<string, unknown>): Promise<boolean> {
  const { rehearseJob, runJob } = await import("../jobs/index.ts");
  const config = readConfig(process.env);
  const brand = brandOf(config, values);
  if (values["dry-run"] !== true) {
    return await withDatabase(async (database) =>
      report(await runShown(brand, (options) => runJob(database, jobOf(config), options)), values),
    );
  }
  const { databaseExists } = await import("../database/index.ts");
  const rehearse = async (database?: Database) =>
    report(await runShown(brand, (options) => rehearseJob(database, jobOf(config), options)), values);
  return databaseExists(config.databaseUrl) ? await withDatabase(rehearse) : await rehearse();
}

/** Lets whoever serves on the same machine go first. */
function stepBack(): void {
  // On Linux each thread has a priority of its own, also those of the collector, which are there already.
  const threads = existsSync("/proc/self/task") ? readdirSync("/proc/self/task") : ["0"];
  for (const thread of threads) setPriority(Number(thread), constants.priority.PRIORITY_LOW);
}

/** Runs a job, and shows on a terminal how far it is. */
async function runShown(brand: string, run: (options: RunOptions) => Promise<RunResult>): Promise<RunResult> {
  stepBack();
  const progress = progressLine(process.stderr);
  const result = await run({ brand, signal: whenTold().signal, onProgress: progress.show });
  progress.end();
  return result;
}

function report({ error, report, ...run }: RunResult, values: Record<string, unknown>): boolean {
  for (const line of describeProblems(report)) tell(line);
  const { personalization } = report;
  if (values.json === true) printJson({ ...run, ...(error && { reason: error.message }), ...report });
  // Of an import that failed nothing came: what its feed held is a part of the message.
  else for (const line of personalization ? describePersonalization(personalization) : []) (error ? tell : print)(line);
  if (error === undefined && values.json !== true) {
    print(
      `${run.job}: ${run.counts} ${values["dry-run"] === true ? "would be imported" : "imported"} for ${run.brand}`,
    );
  }
  if (error !== undefined) tell(`pds: ${run.job}: ${error.message}`);
  return error === undefined;
}

async function printJobs(database: Database, config: Config, values: Record<string, unknown>): Promise<boolean> {
  const [{ findLastRun }, { listJobs }, log] = await Promise.all([
    import("../database/run.ts"),
    import("../jobs/index.ts"),
    openLog(config),
  ]);
  const rows = [];
  for (const { name, source } of listJobs(config, log)) {
    const run = await findLastRun(database, name, config.brand);
    rows.push({
      job: name,
      outcome: run?.outcome ?? "never run",
      finished: run?.finishedAt ?? "",
      counts: run?.counts ?? 0,
      source,
    });
  }
  if (values.json === true) printJson(rows);
  else if (rows.length === 0) tell("no jobs are configured: the tables [jobs.NAME] of pds.toml do that");
  else printTable(rows);
  return true;
}

async function printHistory(database: Database, text: string, values: Record<string, unknown>): Promise<boolean> {
  const [{ parseOrder, toHistories }, { listFinishedRuns }] = await Promise.all([
    import("../history.ts"),
    import("../database/run.ts"),
  ]);
  const order = parseOrder(text);
  if (order === undefined) throw new ServiceError("bad_request", "history: the order is asc or desc");
  const answer = toHistories(await listFinishedRuns(database), order);
  if (values.json === true) printJson(answer);
  else if (answer.histories.length === 0) tell("no job has finished yet");
  else printTable(answer.histories.map(({ created_at, brand, counts }) => ({ created_at, brand, counts })));
  return true;
}

async function withDatabase<T>(work: (database: Database, config: Config) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  const { closeDatabase, openDatabase } = await import("../database/index.ts");
  const database = await openDatabase(config.databaseUrl);
  try {
    return await work(database, config);
  } finally {
    await closeDatabase(database);
  }
}

/** The brand that the option names, checked like the setting. */
function brandOf(config: Config, { brand }: Record<string, unknown>): string {
  if (typeof brand !== "string") return config.brand;
  try {
    return settings.brand.parse(brand);
  } catch (cause) {
    throw new ServiceError("bad_request", `--brand: ${(cause as Error).message}`, { cause });
  }
}
