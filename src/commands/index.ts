import { statSync } from "node:fs";
import { type Config, readConfig } from "../config/index.ts";
import { manualImportOptions, maxImportRemovedShareOf } from "../config/jobs.ts";
import { formatSetting, withoutSecrets } from "../config/printing.ts";
import { environmentName, settingNames } from "../config/settings.ts";
import { isUrl } from "../config/values.ts";
import type { CurrentChange } from "../database/generation-current.ts";
import { ServiceError } from "../errors.ts";
import { brandOf, type Values, withDatabase } from "./common.ts";
import { printJson, printMessage, printSafeJson, printTable } from "./output.ts";

export interface CommandOption {
  readonly type: "string" | "boolean";
  /** What stands for the value in the help, such as `N`; `TEXT` by default. */
  readonly placeholder?: string;
  /** The description in the help; undefined for an internal option, which the help leaves out. */
  readonly sentence?: string;
}

export interface Command {
  /** The arguments and options, as the help shows them. */
  readonly usage: string;
  readonly summary: string;
  readonly options?: Readonly<Record<string, CommandOption>>;
  /** Minimum and maximum number of arguments; none by default. */
  readonly positionals?: readonly [number, number];
  /** @returns whether the command succeeded */
  readonly run: (positionals: string[], values: Values) => Promise<boolean>;
}

const json: CommandOption = { type: "boolean", sentence: "Print JSON." };
const force: CommandOption = {
  type: "boolean",
  sentence: "Import even if checks fail; the report lists the overridden checks.",
};
const importOptions = {
  brand: { type: "string", sentence: "Brand to import for; defaults to BRAND." },
  "dry-run": { type: "boolean", sentence: "Read and check without changing anything." },
  json,
} satisfies Record<string, CommandOption>;

/**
 * The commands of the command line. Each loads its dependencies when it runs, so that it starts
 * fast.
 */
export const commands: Readonly<Record<string, Command>> = {
  serve: {
    usage: "[--workers N]",
    summary: "Run the service until it is stopped.",
    options: {
      workers: {
        type: "string",
        placeholder: "N",
        sentence: "Serve from N processes that share the port, to use several cores.",
      },
      // Makes the process one of those N.
      worker: { type: "boolean" },
    },
    run: async (_, values) => (await import("./serve.ts")).serve(values),
  },
  "import products": {
    usage: "FILE… [--brand TEXT] [--dry-run] [--force] [--json]",
    summary: "Replace all products with those in the files: JSON, a JSON array, or NDJSON.",
    options: {
      ...importOptions,
      force: { type: "boolean", sentence: "Import even if more products would be removed than the settings allow." },
    },
    positionals: [1, Number.POSITIVE_INFINITY],
    run: importProducts,
  },
  "import personalization": {
    usage: "FOLDER|URL [--brand TEXT] [--dry-run] [--force] [--json]",
    summary: "Replace a brand's personalization with the feed in a folder, or at an https:// or s3:// URL.",
    options: { ...importOptions, force },
    positionals: [1, 1],
    run: importPersonalization,
  },
  "rollback personalization": {
    usage: "[--to N] [--brand TEXT] [--json]",
    summary: "Restore the personalization that a brand had before its last import, or any stored generation of it.",
    options: {
      to: {
        type: "string",
        placeholder: "N",
        sentence: "Generation to make current, also a later one; defaults to the previous one.",
      },
      brand: { type: "string", sentence: "Brand to roll back; defaults to BRAND." },
      json,
    },
    run: rollback,
  },
  run: {
    usage: "JOB [--brand TEXT] [--json]",
    summary: "Run a configured job now, in its own process and within its time limit.",
    options: {
      brand: { type: "string", sentence: "Brand to run the job for, if it is configured for several." },
      json,
      // Does the work of a run that the parent process has claimed.
      claimed: { type: "string" },
    },
    positionals: [1, 1],
    run: async ([name = ""], values) => {
      const { runClaimed, runSupervised } = await import("./run.ts");
      return await (values.claimed === undefined ? runSupervised(name, values) : runClaimed(name, values));
    },
  },
  jobs: {
    usage: "[--json]",
    summary: "List the configured jobs with their next run, last run, and last success.",
    options: { json },
    run: async (_, values) => (await import("./jobs.ts")).printJobs(values),
  },
  history: {
    usage: "[asc|desc] [--json]",
    summary: "Print the last 10 finished runs and their outcomes, newest first by default.",
    options: { json },
    positionals: [0, 1],
    run: async ([order = "desc"], values) => (await import("./jobs.ts")).printHistory(order, values),
  },
  config: {
    usage: "[--json]",
    summary: "Print the settings in effect and their sources; secrets stay hidden.",
    options: { json },
    run: printConfig,
  },
  openapi: {
    usage: "",
    summary: "Print the OpenAPI 3.1 document.",
    run: async () => {
      const { openApiDocument } = await import("../reference/openapi.ts");
      printJson(openApiDocument());
      return true;
    },
  },
};

/** A mistyped path is a mistake of the command line, so that it leaves no run in the history. */
function requirePath(path: string, what: "file" | "folder"): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new ServiceError("bad_request", `${path}: no such ${what}`);
  // Neither need be a regular file: a shell passes the output of a command as a pipe.
  if (found.isDirectory() !== (what === "folder")) throw new ServiceError("bad_request", `${path}: not a ${what}`);
}

async function importProducts(files: string[], values: Values): Promise<boolean> {
  for (const file of files) requirePath(file, "file");
  const [{ catalogImportJob }, { importNow }] = await Promise.all([import("../service/jobs.ts"), import("./run.ts")]);
  return await importNow(({ visible, ...config }, brand) => {
    const maxRemovedShare = maxImportRemovedShareOf(config);
    return catalogImportJob(files, { visible, maxRemovedShare, isForced: values.force === true }, brand);
  }, values);
}

async function importPersonalization([source = ""]: string[], values: Values): Promise<boolean> {
  if (!isUrl(source)) requirePath(source, "folder");
  const [{ personalizationImportJob }, { importNow }] = await Promise.all([
    import("../service/jobs.ts"),
    import("./run.ts"),
  ]);
  const mode = { isManual: true, isForced: values.force === true };
  const createJob = (config: Config, brand: string) =>
    personalizationImportJob(manualImportOptions(config, source, brand), config, brand, mode);
  return await importNow(createJob, values);
}

async function rollback(_: string[], values: Values): Promise<boolean> {
  const to = generationOf(values);
  return await withDatabase(async (database, config) => {
    const { rollbackPersonalization, selectPersonalization } = await import("../personalization/rollback.ts");
    const brand = brandOf(config, values);
    const change =
      to === undefined
        ? await rollbackPersonalization(database, brand)
        : await selectPersonalization(database, brand, to);
    if (change === undefined) printMessage(`nothing to roll back to for ${brand}`);
    else if (values.json === true) printJson({ brand, generation: change.to, before: change.from });
    else printMessage(describeChange(change, brand, to !== undefined));
    return change !== undefined;
  });
}

function describeChange({ from, to }: CurrentChange, brand: string, isSelected: boolean): string {
  if (from === to) return `generation ${to} of ${brand} is already current`;
  return isSelected
    ? `made generation ${to} of ${brand} current instead of ${from}`
    : `rolled back the personalization of ${brand}`;
}

const maxGeneration = 2 ** 31 - 1;

function generationOf({ to }: Values): number | undefined {
  if (typeof to !== "string") return undefined;
  const generation = Number(to);
  if (/^[1-9]\d*$/.test(to) && generation <= maxGeneration) return generation;
  throw new ServiceError("bad_request", `--to: expected the number of a generation, got ${JSON.stringify(to)}`);
}

async function printConfig(_: string[], values: Values): Promise<boolean> {
  const config = readConfig(process.env);
  const rows = settingNames.map((name) => ({
    setting: environmentName(name),
    value: formatSetting(name, config),
    from: config.from[name],
  }));
  const schedules = config.schedules.map(({ job, schedule, from }) => ({
    setting: `jobs.${job}.schedule`,
    value: schedule,
    from,
  }));
  if (values.json === true) printSafeJson({ settings: rows, jobs: withoutSecrets(config.jobs) });
  else printTable([...rows, ...schedules]);
  return true;
}
