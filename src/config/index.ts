import { sha256 } from "../base/hash.ts";
import { suggest } from "../base/suggest.ts";
import type { KeyPath } from "../base/toml.ts";
import { isLoopback } from "../base/url.ts";
import type { PurgeOptions } from "../cdn/options.ts";
import { noSchedule, type PlanOptions } from "../jobs/options.ts";
import type { OperatorToken } from "../operators/tokens.ts";
import { jobsOfBrands } from "../personalization/options.ts";
import { readSettingsFile, type SettingsFile } from "./file.ts";
import { type JobName, type JobOptions, jobsSchema } from "./jobs.ts";
import { quote, SettingProblems } from "./problems.ts";
import { parsePurge } from "./purge.ts";
import { listOtherCredentials, readSecretFile, type SecretFile } from "./secret-files.ts";
import { environmentName, fileKey, type SettingName, type SettingValues, settingNames, settings } from "./settings.ts";
import { parseTable } from "./table.ts";
import { parseTokens } from "./tokens.ts";
import { isServerUrl } from "./values.ts";

type Source = "default" | "file" | "environment" | "secret file";

/** The settings in effect. */
export interface Config extends SettingValues {
  readonly jobs: JobOptions;
  /** Undefined if the service does not purge the CDN. */
  readonly purge: PurgeOptions | undefined;
  /** The table `[admin.tokens]`. */
  readonly tokens: readonly OperatorToken[];
  /** The schedule of each job, for display. */
  readonly schedules: readonly ShownSchedule[];
  /** The text of each scalar setting before it was parsed. */
  readonly text: Readonly<Record<SettingName, string>>;
  /** The source of each scalar setting. */
  readonly from: Readonly<Record<SettingName, Source>>;
  /** Credential files that nothing reads, each as a sentence. */
  readonly unknownSecrets: readonly string[];
}

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
 * @throws ServiceError `invalid_setting`; its message names each wrong setting with file and line
 */
export function readConfig(environment: Environment): Config {
  const file = readSettingsFile(environment.PDS_CONFIG ?? "pds.toml", environment.PDS_CONFIG !== undefined);
  const { jobs: tables = {}, purge: purgeTable, admin: adminTable, ...scalars } = file.values;
  const problems = new SettingProblems();
  findUnknownSettings(Object.keys(scalars), file, problems);

  const from = {} as Record<SettingName, Source>;
  const text = {} as Record<SettingName, string>;
  const values: Record<string, unknown> = {};
  for (const name of settingNames) {
    const inEnvironment = environment[environmentName(name)];
    const secret = findSecret(name, environment, problems);
    const inFile = scalars[fileKey(name)];
    from[name] = sourceOf(inEnvironment, secret, inFile);
    const given = inEnvironment ?? secret?.text ?? inFile ?? settings[name].default;
    text[name] = `${given}`;
    const place = () => placeOf(name, from[name], file, secret);
    values[name] = parseSetting(name, given, place, problems);
  }
  const jobs = parseJobs(tables, file, problems);
  const purge = parsePurge(purgeTable, values as Partial<SettingValues>, file, problems);
  const countBeforeTokens = problems.count;
  const tokens = parseTokens(adminTable, file, problems);
  const areTokensValid = problems.count === countBeforeTokens;

  // Combinations of settings. They can only be checked if each setting is valid.
  if (settingNames.every((name) => values[name] !== undefined)) {
    const given = { ...(values as SettingValues), jobs, tokens, from };
    const place: Place = (name) => (from[name] === "file" ? placeOf(name, "file", file) : environmentName(name));
    checkStore(given, place, problems);
    if (areTokensValid) checkAdmin(given, place, problems);
    checkPlatform(given, place, file, problems);
    checkBrands(given, file, problems);
  }
  problems.throwIfAny();
  const schedules = listSchedules(jobs, tables as Record<string, unknown>);
  const unknownSecrets = findUnknownSecrets(environment);
  return {
    ...(values as SettingValues),
    jobs,
    purge,
    tokens,
    schedules,
    text,
    from,
    unknownSecrets,
  };
}

function findUnknownSettings(keys: readonly string[], file: SettingsFile, problems: SettingProblems): void {
  const known = [...settingNames.map(fileKey), "jobs", "purge", "admin"];
  for (const key of keys) {
    if (known.includes(key)) continue;
    problems.add(() => `${file.locate([key])}: ${quote(key)} is not a setting; ${suggest(key, known, "settings")}`);
  }
}

const isHidden = (name: SettingName) => settings[name].hide !== undefined;

/** Other programs may have put files there, so an unknown one does not stop the start. */
function findUnknownSecrets(environment: Environment): string[] {
  const known = settingNames.filter(isHidden).map(environmentName);
  return [...listOtherCredentials(known, environment)].map(
    ([path, name]) => `${path} has no effect: ${quote(name)} is not a secret; ${suggest(name, known, "secrets")}`,
  );
}

/** Other processes of the user can read the environment, so a secret may be in a file of its own. */
function findSecret(name: SettingName, environment: Environment, problems: SettingProblems): SecretFile | undefined {
  if (!isHidden(name)) return undefined;
  try {
    return readSecretFile(environmentName(name), environment);
  } catch (error) {
    problems.add(() => (error as Error).message, error);
    return undefined;
  }
}

function sourceOf(inEnvironment: unknown, secret: unknown, inFile: unknown): Source {
  if (inEnvironment !== undefined) return "environment";
  if (secret !== undefined) return "secret file";
  return inFile === undefined ? "default" : "file";
}

function placeOf(name: SettingName, from: Source, file: SettingsFile, secret?: SecretFile): string {
  const key = fileKey(name);
  if (from === "file") return `${file.locate([key])}: ${key}`;
  const variable = environmentName(name);
  return from === "secret file" ? `${secret?.path}: ${variable}` : `environment variable ${variable}`;
}

/** @returns undefined if the value is invalid */
function parseSetting(name: SettingName, value: unknown, place: () => string, problems: SettingProblems): unknown {
  if (typeof value === "object") {
    problems.add(() => `${place()}: expected a single value`);
    return undefined;
  }
  try {
    return settings[name].parse(`${value}`);
  } catch (cause) {
    // The password in a malformed URL cannot be redacted reliably.
    const mayBeSecret = settings[name].hide !== undefined || /@|:\/\//.test(`${value}`);
    const got = mayBeSecret ? "" : `, not ${quote(`${value}`)}`;
    problems.add(() => `${place()}: ${(cause as Error).message}${got}`, cause);
    return undefined;
  }
}

/** @param value the table `jobs` of the file */
function parseJobs(value: unknown, file: SettingsFile, problems: SettingProblems): JobOptions {
  const tables = value as Record<string, unknown>;
  const isSingle = (name: JobName) => typeof tables?.[name] === "object" && !Array.isArray(tables[name]);
  const singles = jobsOfBrands.filter(isSingle);
  const given =
    singles.length > 0 ? { ...tables, ...Object.fromEntries(singles.map((name) => [name, [tables[name]]])) } : value;
  // The path of a single table has no index in the file.
  const toFilePath = (path: KeyPath) => [
    "jobs",
    ...(singles.some((name) => name === path[0]) ? path.toSpliced(1, 1) : path),
  ];
  const nameKeys = (table: KeyPath) => (table.length === 1 ? (["a job", "jobs"] as const) : undefined);
  return parseTable(jobsSchema, given, { toFilePath, nameKeys }, file, problems) ?? {};
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

/** The settings whose combinations are checked. */
type Given = Omit<Config, "purge" | "schedules" | "text" | "unknownSecrets">;

/** How messages name a setting: by its place in the file, or by its variable. */
type Place = (name: SettingName) => string;

function checkStore(given: Given, place: Place, problems: SettingProblems): void {
  const { databaseUrl, databaseDirectUrl } = given;
  if (isServerUrl(databaseUrl) || databaseDirectUrl === "") return;
  problems.add(
    () => `${place("databaseDirectUrl")}: DATABASE_URL is an embedded store, which has no pooler in front of it`,
  );
}

function checkAdmin({ adminHost, adminToken, tokens }: Given, place: Place, problems: SettingProblems): void {
  // ADMIN_TOKEN has the role `operate`, so it would override the role in the file.
  const same = tokens.find((each) => adminToken !== "" && each.sha256 === sha256(adminToken));
  if (same !== undefined)
    problems.add(() => `${place("adminToken")}: is the token of ${same.name} too; create another`);
  if (isLoopback(adminHost) || adminToken !== "" || tokens.length > 0) return;
  problems.add(
    () =>
      `${place("adminHost")}: ${adminHost} is not a loopback address, so ADMIN_TOKEN or a token in [admin.tokens] is required`,
  );
}

function checkPlatform(config: Given, place: Place, file: SettingsFile, problems: SettingProblems): void {
  const { shopifyAccessToken, shopifyClientId, shopifyClientSecret, jobs } = config;
  if ((shopifyClientId === "") !== (shopifyClientSecret === "")) {
    const [given, missing] =
      shopifyClientId === ""
        ? (["shopifyClientSecret", "shopifyClientId"] as const)
        : (["shopifyClientId", "shopifyClientSecret"] as const);
    problems.add(() => `${place(given)}: set ${environmentName(missing)} too, or neither`);
  }
  const hasCredentials = shopifyAccessToken !== "" || shopifyClientId !== "";
  for (const job of ["catalog-sync", "catalog-reconcile"] as const) {
    if (jobs[job] === undefined || hasCredentials) continue;
    problems.add(
      () =>
        `${file.locate(["jobs", job])}: jobs.${job}: set SHOPIFY_ACCESS_TOKEN, or SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET; this job reads the platform`,
    );
  }
  if (config.shopifyWebhookSecret === "" && config.shopifyWebhookSecretPrevious !== "") {
    problems.add(
      () => `${place("shopifyWebhookSecretPrevious")}: set SHOPIFY_WEBHOOK_SECRET too; it is the new secret`,
    );
  }
  if (config.shopifyWebhookSecret !== "" && !hasCredentials) {
    problems.add(
      () =>
        `${place("shopifyWebhookSecret")}: set SHOPIFY_ACCESS_TOKEN, or SHOPIFY_CLIENT_ID and SHOPIFY_CLIENT_SECRET; a delivery only makes the service read the product`,
    );
  }
  if (hasCredentials && config.shopifyApiUrl === "" && config.from.shopDomain === "default") {
    problems.add(() => "SHOP_DOMAIN: set the shop's .myshopify.com domain; the access token is only valid there");
  }
}

function checkBrands({ jobs, brand }: Given, file: SettingsFile, problems: SettingProblems): void {
  for (const name of jobsOfBrands) {
    const brands = (jobs[name] ?? []).map((options) => options.brand ?? brand);
    for (const [index, each] of brands.entries()) {
      if (brands.indexOf(each) === index) continue;
      problems.add(
        () =>
          `${file.locate(["jobs", name, index])}: jobs.${name}: ${quote(each)} has two tables; give each its own brand`,
      );
    }
  }
}
