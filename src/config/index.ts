import type { ServiceError } from "../errors.ts";
import { invalidSetting, type KeyPath, locate, readSettingsFile, type SettingsFile, suggest } from "./file.ts";
import {
  innerKeys,
  type JobName,
  type JobOptions,
  jobSchemas,
  jobsSchema,
  noSchedule,
  type PlanOptions,
} from "./jobs.ts";
import {
  environmentName,
  fileKey,
  type Setting,
  type SettingName,
  type SettingValues,
  settingNames,
  settings,
} from "./settings.ts";
import { isLoopback, isServerUrl } from "./values.ts";

export type { PersonalizationOptions } from "./jobs.ts";

type Source = "default" | "file" | "environment";

/** The settings in effect. */
export interface Config extends SettingValues {
  readonly jobs: JobOptions;
  /** The schedule of each job, for display. */
  readonly schedules: readonly ShownSchedule[];
  /** The text of each scalar setting before it was parsed. */
  readonly text: Readonly<Record<SettingName, string>>;
  /** The source of each scalar setting. */
  readonly from: Readonly<Record<SettingName, Source>>;
}

/** The schedule of a job, for display. */
interface ShownSchedule {
  /** The name of the job's table. */
  readonly job: string;
  /** The cron expression with its time zone, or `off`. */
  readonly schedule: string;
  readonly from: "default" | "file";
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. The environment takes precedence over the file.
 * @throws ServiceError `invalid_setting`; its message names the setting, the file, and the line
 */
export function readConfig(environment: Environment): Config {
  const file = readSettingsFile(environment.PDS_CONFIG ?? "pds.toml", environment.PDS_CONFIG !== undefined);
  const { jobs: tables = {}, ...scalars } = file.values;
  const known = [...settingNames.map(fileKey), "jobs"];
  for (const key of Object.keys(scalars)) {
    if (known.includes(key)) continue;
    throw invalidSetting(
      `${locate(file, [key])}: ${JSON.stringify(key)} is not a setting; ${suggest(key, known, "settings")}`,
    );
  }

  const from = {} as Record<SettingName, Source>;
  const text = {} as Record<SettingName, string>;
  const values: Record<string, unknown> = {};
  for (const name of settingNames) {
    const inEnvironment = environment[environmentName(name)];
    const inFile = scalars[fileKey(name)];
    from[name] = inEnvironment !== undefined ? "environment" : inFile !== undefined ? "file" : "default";
    const given = inEnvironment ?? inFile ?? settings[name].default;
    text[name] = `${given}`;
    values[name] = parseSetting(name, given, from[name], file);
  }
  const jobs = parseJobs(tables, file);
  const schedules = listSchedules(jobs, tables as Record<string, unknown>);
  const config = { ...(values as SettingValues), jobs, schedules, text, from };
  checkStore(config);
  checkAdmin(config);
  checkPlatform(config, file);
  checkBrands(config, file);
  return config;
}

function parseSetting(name: SettingName, value: unknown, from: Source, file: SettingsFile): unknown {
  const key = fileKey(name);
  const place = from === "file" ? `${locate(file, [key])}: ${key}` : `environment variable ${environmentName(name)}`;
  if (typeof value === "object") throw invalidSetting(`${place}: expected a single value`);
  try {
    return settings[name].parse(`${value}`);
  } catch (cause) {
    // The password in a malformed URL cannot be cut out reliably.
    const mayBeSecret = (settings[name] as Setting<unknown>).hide !== undefined || /@|:\/\//.test(`${value}`);
    const got = mayBeSecret ? "" : `, not ${JSON.stringify(`${value}`)}`;
    throw invalidSetting(`${place}: ${(cause as Error).message}${got}`, cause);
  }
}

/** @param value the table `jobs` of the file */
function parseJobs(value: unknown, file: SettingsFile): JobOptions {
  const name = "personalization-import";
  const tables = value as Record<string, unknown>;
  const isSingle = typeof tables?.[name] === "object" && !Array.isArray(tables[name]);
  const { data, error } = jobsSchema.safeParse(isSingle ? { ...tables, [name]: [tables[name]] } : value);
  if (data) return data;
  const [issue] = error.issues;
  const path = (issue?.path ?? []) as KeyPath;
  // A single table has no index in the file.
  const inFile = ["jobs", ...(isSingle && path[0] === name ? path.toSpliced(1, 1) : path)];
  if (issue?.code === "unrecognized_keys") throw unknownKey(issue.keys[0] ?? "", inFile, file);
  throw invalidSetting(`${locate(file, inFile)}: ${inFile.join(".")}: ${issue?.message}`);
}

/** @param table the path of the table that the key is in */
function unknownKey(key: string, table: KeyPath, file: SettingsFile): ServiceError {
  const place = `${locate(file, [...table, key])}: ${JSON.stringify(key)}`;
  const [, job, ...rest] = table;
  if (job === undefined) {
    return invalidSetting(`${place} is not a job; ${suggest(key, Object.keys(jobSchemas), "jobs")}`);
  }
  const [inner] = rest.filter((part) => typeof part === "string");
  const options = inner === undefined ? Object.keys(jobSchemas[job as JobName].shape) : (innerKeys[inner] ?? []);
  return invalidSetting(`${place} is not a setting of [${table.join(".")}]; ${suggest(key, options, "settings")}`);
}

/** @param given the tables as they are in the file */
function listSchedules(jobs: JobOptions, given: Readonly<Record<string, unknown>>): ShownSchedule[] {
  return Object.entries(jobs).flatMap(([name, parsed]) => {
    const tables = [given[name]].flat() as PlanOptions[];
    return ([parsed].flat() as PlanOptions[]).map(({ schedule = noSchedule, time_zone }, index): ShownSchedule => {
      const job = tables.length > 1 ? `${name}.${index}` : name;
      const from = tables[index]?.schedule === undefined ? "default" : "file";
      return { job, schedule: schedule === noSchedule ? schedule : `${schedule} ${time_zone}`, from };
    });
  });
}

function checkStore({ databaseUrl, databaseDirectUrl }: Config): void {
  if (databaseDirectUrl === "" || isServerUrl(databaseUrl)) return;
  throw invalidSetting("DATABASE_DIRECT_URL: DATABASE_URL is an embedded store, which has no pooler in front of it");
}

function checkAdmin({ adminHost, adminToken }: Config): void {
  if (isLoopback(adminHost) || adminToken !== "") return;
  throw invalidSetting(`ADMIN_HOST: ${adminHost} is not a loopback address, so ADMIN_TOKEN is required`);
}

function checkPlatform(config: Config, file: SettingsFile): void {
  const { shopifyAccessToken, shopifyClientId, shopifyClientSecret, jobs } = config;
  if ((shopifyClientId === "") !== (shopifyClientSecret === "")) {
    throw invalidSetting("SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET: set both or neither");
  }
  const hasCredentials = shopifyAccessToken !== "" || shopifyClientId !== "";
  for (const job of ["catalog-sync", "catalog-reconcile"] as const) {
    if (jobs[job] === undefined || hasCredentials) continue;
    throw invalidSetting(
      `${locate(file, ["jobs", job])}: jobs.${job}: set SHOPIFY_ACCESS_TOKEN, or SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET; this job reads the platform`,
    );
  }
  if (hasCredentials && config.shopifyApiUrl === "" && config.from.shopDomain === "default") {
    throw invalidSetting("SHOP_DOMAIN: set the shop's .myshopify.com domain; the access token is only valid there");
  }
}

function checkBrands({ jobs, brand }: Config, file: SettingsFile): void {
  const name = "personalization-import";
  const brands = (jobs[name] ?? []).map((options) => options.brand ?? brand);
  const index = brands.findIndex((candidate, position) => brands.indexOf(candidate) < position);
  if (index < 0) return;
  throw invalidSetting(
    `${locate(file, ["jobs", name, index])}: jobs.${name}: ${JSON.stringify(brands[index])} has two tables; give each its own brand`,
  );
}
