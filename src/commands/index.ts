import type { Config } from "../config/index.ts";
import { readConfig } from "../config/index.ts";
import { manualImportOptions, maxImportRemovedShareOf } from "../config/jobs.ts";
import { formatSetting, withoutSecrets } from "../config/printing.ts";
import { environmentName, settingNames } from "../config/settings.ts";
import { ServiceError } from "../errors.ts";
import type { Role } from "../service/context.ts";
import { brandOf, onSignal, openLog, withDatabase } from "./common.ts";
import { print, printJson, printMessage, printSafeJson, printTable } from "./output.ts";

export interface CommandOption {
  readonly type: "string" | "boolean";
  /** Undefined for one that only the program itself uses. */
  readonly sentence?: string;
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
    usage: "[--workers N]",
    summary: "Run the service until it is told to stop.",
    options: {
      workers: { type: "string", sentence: "Serve from N processes that share the port, for several cores." },
      // Being one of them.
      worker: { type: "boolean" },
    },
    run: (_, values) => serve(values),
  },
  "import products": {
    usage: "FILE… [--brand TEXT] [--dry-run] [--force] [--json]",
    summary: "Replace all products by those of the files: JSON, a JSON array or NDJSON.",
    options: {
      ...importOptions,
      force: { type: "boolean", sentence: "Import even when more products would vanish than the settings allow." },
    },
    positionals: [1, Number.POSITIVE_INFINITY],
    run: async (files, values) => {
      const [{ catalogImportJob }, { importNow }] = await Promise.all([
        import("../service/jobs.ts"),
        import("./run.ts"),
      ]);
      return await importNow(({ visible, ...config }, brand) => {
        const maxRemovedShare = values.force === true ? 1 : maxImportRemovedShareOf(config);
        return catalogImportJob(files, { visible, maxRemovedShare }, brand);
      }, values);
    },
  },
  "import personalization": {
    usage: "FOLDER [--brand TEXT] [--dry-run] [--force] [--json]",
    summary: "Replace a brand's personalization by the feed in a folder, or at an https:// or s3:// address.",
    options: { ...importOptions, force },
    positionals: [1, 1],
    run: async ([folder = ""], values) => {
      const [{ personalizationImportJob }, { importNow }] = await Promise.all([
        import("../service/jobs.ts"),
        import("./run.ts"),
      ]);
      const mode = { isByHand: true, isForced: values.force === true };
      const jobOf = (config: Config, brand: string) =>
        personalizationImportJob(manualImportOptions(config, folder, brand), config, brand, mode);
      return await importNow(jobOf, values);
    },
  },
  "rollback personalization": {
    usage: "[--brand TEXT]",
    summary: "Make a brand's personalization what it was before the last import.",
    options: { brand: importOptions.brand },
    run: (_, values) =>
      withDatabase(async (database, config) => {
        const { rollbackPersonalization } = await import("../personalization/rollback.ts");
        const brand = brandOf(config, values);
        const done = await rollbackPersonalization(database, brand);
        printMessage(done ? `rolled back the personalization of ${brand}` : `nothing to roll back to for ${brand}`);
        return done;
      }),
  },
  run: {
    usage: "JOB [--brand TEXT] [--json] [--claimed ID]",
    summary: "Run a configured job now, in a process of its own and within its time limit.",
    options: {
      brand: { type: "string", sentence: "Brand to run it for, where it is configured for several." },
      json,
      claimed: { type: "string", sentence: "Do the work of a run that was claimed before: how the service starts it." },
    },
    positionals: [1, 1],
    run: async ([name = ""], values) => {
      const { runClaimed, runSupervised } = await import("./run.ts");
      return await (values.claimed === undefined ? runSupervised(name, values) : runClaimed(name, values));
    },
  },
  jobs: {
    usage: "[--json]",
    summary: "List the configured jobs: when each runs next, how it ran last, how long ago it succeeded.",
    options: { json },
    run: async (_, values) => (await import("./jobs.ts")).printJobs(values),
  },
  history: {
    usage: "[asc|desc] [--json]",
    summary: "Print the runs that the history operation answers, with how each ended; newest first unless asc.",
    options: { json },
    positionals: [0, 1],
    run: async ([order = "desc"], values) => (await import("./jobs.ts")).printHistory(order, values),
  },
  config: {
    usage: "[--json]",
    summary: "Print the settings in force and where each comes from; secrets stay hidden.",
    options: { json },
    run: async (_, values) => {
      const config = readConfig(process.env);
      const rows = settingNames.map((name) => ({
        setting: environmentName(name),
        value: formatSetting(name, config),
        from: config.from[name],
      }));
      if (values.json === true) printSafeJson({ settings: rows, jobs: withoutSecrets(config.jobs) });
      else {
        const schedules = config.schedules.map(({ job, schedule, from }) => ({
          setting: `jobs.${job}.schedule`,
          value: schedule,
          from,
        }));
        printTable([...rows, ...schedules]);
      }
      return true;
    },
  },
  openapi: {
    usage: "",
    summary: "Print the contract as OpenAPI 3.1.",
    run: async () => {
      const { openApiDocument } = await import("../reference/openapi.ts");
      printJson(openApiDocument());
      return true;
    },
  },
};

async function serve(values: Record<string, unknown>): Promise<boolean> {
  const part = partOf(values);
  const config = readConfig(process.env);
  const [log, { startService }] = await Promise.all([openLog(config), import("../service/start.ts")]);
  const { told, signal } = onSignal();
  const service = await startService(config, log, signal, part);
  if (service.adminUrl !== undefined) {
    print(`Public   ${service.publicUrl}/api/v1`);
    print(`Docs     ${service.publicUrl}/docs`);
    if (service.exampleUrl !== undefined) print(`Example  ${service.exampleUrl}`);
    print(`Admin    ${service.adminUrl}`);
  }
  const name = await told;
  log.info({ signal: name }, "stopping");
  // Who stops it at the terminal waits for it.
  await service.stop(name === "SIGINT");
  log.info("stopped");
  return true;
}

const mostWorkers = 256;

function partOf({ workers, worker }: Record<string, unknown>): Role {
  if (worker === true) return { kind: "worker" };
  if (workers === undefined) return { kind: "standalone" };
  const count = /^\d{1,3}$/.test(`${workers}`) ? Number(workers) : 0;
  if (count < 1 || count > mostWorkers) {
    throw new ServiceError("bad_request", `--workers: expected a number from 1 to ${mostWorkers}, not ${workers}`);
  }
  return { kind: "supervisor", workers: count };
}
