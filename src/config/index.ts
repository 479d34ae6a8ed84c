import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { hideCredentials } from "../credentials.ts";
import { ServiceError } from "../errors.ts";
import { parseCachePolicy } from "../model/cache-policy.ts";
import { delimiters, encodings } from "../model/feed-format.ts";
import { listNames, lists } from "../model/personalization.ts";
import { parseSchedule } from "../model/schedule.ts";

interface Setting<T> {
  readonly default: string;
  readonly parse: (text: string) => T;
  readonly sentence: string;
  /** Never printed: `secret` hides the whole value, `credentials` those of an address. */
  readonly hide?: "secret" | "credentials";
}

const setting = <T>(of: Setting<T>): Setting<T> => of;

function expected(what: string): never {
  throw new Error(`expected ${what}`);
}

const host = (text: string) => (/^[\w.:-]+$/.test(text) ? text : expected("a host name or an address to bind"));

const port = (text: string) =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65535 ? Number(text) : expected("a port from 0 to 65535 (0: any free one)");

const domain = (text: string) => (/^[a-z\d.-]+$/i.test(text) ? text : expected("a domain name"));

const brand = (text: string) =>
  text.trim() !== "" && /^\P{Cc}{1,100}$/u.test(text) ? text : expected("a name of 1 to 100 characters");

const token = (text: string) =>
  text === "" || /^[!-~]{16,}$/.test(text) ? text : expected("at least 16 visible ASCII characters, or nothing at all");

/** Characters at which an address ends within a text: a password has them percent-encoded. */
const endsAddress = /[\s"<>`\\]/;

function databaseUrl(text: string): string {
  if (/^sqlite:.+/.test(text)) return text;
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text) && !endsAddress.test(text)) return text;
  return expected("sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE");
}

const anything = (text: string) => text;

const header = (text: string) => (/^[ -~]*$/.test(text) ? text : expected("visible ASCII characters on one line"));

const seconds = (text: string) => (/^\d{1,9}$/.test(text) ? Number(text) : expected("a whole number of seconds"));

const count = (text: string) => (/^\d{1,6}$/.test(text) ? Number(text) : expected("a whole number up to 999999"));

const endpoint = (text: string) =>
  text === "" || (/^https?:\/\//.test(text) && URL.canParse(text) && !endsAddress.test(text))
    ? text
    : expected("an http:// or https:// address");

function oneOf<Word extends string>(...words: readonly Word[]): (text: string) => Word {
  return (text) => words.find((word) => word === text) ?? expected(`one of ${words.join(", ")}`);
}

const leaseSeconds = (text: string) => {
  const value = seconds(text);
  return value >= 1 && value <= 3600 ? value : expected("1 to 3600 seconds");
};

const secondsUpTo = (most: number) => (text: string) => {
  const value = seconds(text);
  return value <= most ? value : expected(`0 to ${most} seconds`);
};

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/** Addresses and networks, such as `10.0.0.0/8`. */
function networks(text: string): readonly string[] {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const isRight = parts.every((part) => network.safeParse(part).success);
  return isRight ? parts : expected("IP addresses or networks such as 10.0.0.0/8, with commas between them");
}

const longCache = "max-age=60, s-maxage=300, stale-while-revalidate=600, stale-if-error=86400";

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Every scalar setting, spelled once: `adminHost` is `admin_host` in the file and `ADMIN_HOST` in the environment.
 * The README's table is made from this one.
 */
export const settings = {
  host: setting({ default: "127.0.0.1", parse: host, sentence: "Address that the public listener binds." }),
  port: setting({ default: "3000", parse: port, sentence: "Port of the public listener; 0 picks a free one." }),
  adminHost: setting({
    default: "127.0.0.1",
    parse: host,
    sentence: "Address that the admin listener binds; anything but loopback needs `ADMIN_TOKEN`.",
  }),
  adminPort: setting({ default: "3001", parse: port, sentence: "Port of the admin listener; 0 picks a free one." }),
  adminToken: setting({
    default: "",
    parse: token,
    sentence: "What the admin listener asks for, as bearer token or as the password of basic authentication.",
    hide: "secret",
  }),
  databaseUrl: setting({
    default: "sqlite:data/pds.sqlite",
    parse: databaseUrl,
    sentence: "The store: `sqlite:PATH` (embedded) or `postgres://…` (shared by several replicas).",
    hide: "credentials",
  }),
  shopDomain: setting({
    default: "localhost",
    parse: domain,
    sentence: "Domain of the store, the `shop` of every product answer.",
  }),
  brand: setting({
    default: "default",
    parse: brand,
    sentence: "Brand that jobs run for, and whose personalization comes first.",
  }),
  shopifyAccessToken: setting({
    default: "",
    parse: header,
    sentence: "Access token of the shop's app (`shpat_…`).",
    hide: "secret",
  }),
  shopifyClientId: setting({
    default: "",
    parse: anything,
    sentence: "Client id of the shop's app, for the client-credentials grant, instead of a token.",
  }),
  shopifyClientSecret: setting({
    default: "",
    parse: anything,
    sentence: "Client secret that goes with it.",
    hide: "secret",
  }),
  shopifyApiUrl: setting({
    default: "",
    parse: endpoint,
    sentence: "Another platform than `https://SHOP_DOMAIN`, such as the stand-in.",
    hide: "credentials",
  }),
  feedAuthorization: setting({
    default: "",
    parse: header,
    sentence: "`Authorization` header for a feed at an `https://` address, such as `Bearer …`.",
    hide: "secret",
  }),
  s3Endpoint: setting({
    default: "",
    parse: endpoint,
    sentence: "Endpoint of an S3-compatible store that is not Amazon's, for a feed at an `s3://` address.",
    hide: "credentials",
  }),
  s3Region: setting({ default: "us-east-1", parse: anything, sentence: "Its region." }),
  s3AccessKeyId: setting({ default: "", parse: anything, sentence: "Its access key.", hide: "secret" }),
  s3SecretAccessKey: setting({
    default: "",
    parse: anything,
    sentence: "The secret that goes with the key.",
    hide: "secret",
  }),
  productMaxAge: setting({
    default: "86400",
    parse: seconds,
    sentence:
      "Seconds after which a stored product is read again at the platform, behind the answer that it still gives.",
  }),
  lookupsPerMinute: setting({
    default: "60",
    parse: count,
    sentence: "Products that a process reads at the platform for requests, at most, in a minute.",
  }),
  visible: setting({
    default: "active",
    parse: oneOf("active", "all"),
    sentence:
      "`active`: only active (or unlisted) products that are published are served, and any other is a 404; `all`: drafts, archived, and unpublished products are served too.",
  }),
  scheduler: setting({
    default: "on",
    parse: oneOf("on", "off"),
    sentence:
      "`off`: this process only serves; jobs are run by other replicas, or by an outside scheduler with `pds run JOB`.",
  }),
  leaseSeconds: setting({
    default: "30",
    parse: leaseSeconds,
    sentence: "Seconds without a sign of life after which a run counts as abandoned, so that the next can begin.",
  }),
  staleData: setting({
    default: "tell",
    parse: oneOf("tell", "fail"),
    sentence:
      "What `/readyz` does when a job has not succeeded for too long, or has not ended its first run: `tell` so, or `fail`, so that no requests are sent here.",
  }),
  memoryMegabytes: setting({
    default: "128",
    parse: count,
    sentence: "Memory for finished answers, in megabytes; 0 keeps none.",
  }),
  cachePersonalization: setting({
    default: longCache,
    parse: parseCachePolicy,
    sentence:
      "How long browsers (`max-age`) and caches in between (`s-maxage`) may keep a personalization; or `no-store`.",
  }),
  cacheProducts: setting({ default: longCache, parse: parseCachePolicy, sentence: "The same for a product." }),
  cacheHistories: setting({
    default: "max-age=5, s-maxage=5",
    parse: parseCachePolicy,
    sentence: "The same for the history.",
  }),
  cacheNotFound: setting({
    default: "max-age=10, s-maxage=10",
    parse: parseCachePolicy,
    sentence: "The same for an answer that there is no such product or address.",
  }),
  rateLimit: setting({
    default: "0",
    parse: count,
    sentence: "Requests of a client that are answered in a minute; beyond them it gets 429. 0 sets no limit.",
  }),
  trustedProxies: setting({
    default: "",
    parse: networks,
    sentence: "Addresses or networks of proxies, with commas: only their `X-Forwarded-For` says who the client is.",
  }),
  reusePort: setting({
    default: "off",
    parse: oneOf("on", "off"),
    sentence: "`on`: another process may listen on the same ports, so that a new version takes over from an old one.",
  }),
  drainSeconds: setting({
    default: "1",
    parse: secondsUpTo(3600),
    sentence:
      "Seconds for which the service, told to stop by `SIGTERM`, still answers while `/readyz` fails and every answer closes its connection.",
  }),
  idleSeconds: setting({
    default: "75",
    parse: secondsUpTo(255),
    sentence:
      "Seconds after which a connection is closed on which nothing is asked; more than a proxy's in front of it. 0 never.",
  }),
  serverTiming: setting({
    default: "off",
    parse: oneOf("on", "off"),
    sentence: "`on`: every answer says in `Server-Timing` how long it took.",
  }),
  logLevel: setting({ default: "info", parse: oneOf(...logLevels), sentence: `One of ${logLevels.join(", ")}.` }),
};

export type SettingName = keyof typeof settings;
type Scalars = { readonly [Name in SettingName]: ReturnType<(typeof settings)[Name]["parse"]> };

const source = z.string().min(1);

const share = (what: string, value: number) => z.number().min(0).max(1).default(value).describe(what);
const column = z.enum(listNames.flatMap((list) => lists[list].columns));

/** What is wrong with where a feed is said to be, or undefined. */
function problemOfFeedSource(text: string): string | undefined {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return undefined;
  if (!URL.canParse(text)) return "expected a folder, https://HOST/PATH/ or s3://BUCKET/PREFIX/";
  const { protocol, hostname, username, password, search, hash } = new URL(text);
  if (hostname === "") return "expected a folder, https://HOST/PATH/ or s3://BUCKET/PREFIX/";
  if (username !== "" || password !== "" || search !== "" || hash !== "") {
    return "expected an address without user, password, query or fragment: a secret goes into FEED_AUTHORIZATION";
  }
  if (protocol === "https:" || protocol === "s3:" || (protocol === "http:" && isLoopback(hostname))) return undefined;
  return "expected https:// or s3:// (http:// only for this very machine)";
}

/** An address that a monitor gives, which is as good as a password. */
const pingAddress = z
  .string()
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), "expected an http:// or https:// address");

function check(parse: (text: string) => unknown) {
  return (text: string, { addIssue }: z.core.$RefinementCtx<string>) => {
    try {
      parse(text);
    } catch (error) {
      addIssue({ code: "custom", message: (error as Error).message });
    }
  };
}

/** In the place of a cron expression: the job has no schedule. */
export const noSchedule = "off";

const schedule = z.string().superRefine(check((text) => text === noSchedule || parseSchedule(text, "UTC")));

/** When and how a job is run; every job has these options. */
const planShape = {
  schedule: schedule
    .optional()
    .describe(
      "When it runs, as a cron expression: `*/15 * * * *`, `@daily`, or with the second first. `off`: when it is asked to, which is the " +
        "default but for `catalog-sync` (`*/5 * * * *`) and `catalog-reconcile` (`17 3 * * *`).",
    ),
  time_zone: z
    .string()
    .superRefine(check((text) => parseSchedule("@daily", text)))
    .default("UTC")
    .describe("Time zone of the schedule, such as `America/New_York`."),
  brand: z.string().superRefine(check(brand)).optional().describe("Brand that it runs for, when not `BRAND`."),
  limit_seconds: z
    .int()
    .min(1)
    .max(7 * 86_400)
    .default(3600)
    .describe("How long a run may take; one that takes longer is ended, and has failed."),
  retries: z
    .int()
    .min(0)
    .max(100)
    .default(0)
    .describe("How often a scheduled run that did not succeed is tried again, unless the next is due by then."),
  retry_seconds: z.int().min(1).max(86_400).default(60).describe("How long to wait before that."),
  missed: z
    .enum(["once", "skip", "all"])
    .default("once")
    .describe(
      "What happens to times that passed while nothing could run, or while it was still running: all of them together run `once`, " +
        "as soon as that is possible; they are left out (`skip`); or each has its run, one after the other (`all`).",
    ),
  stale_seconds: z
    .int()
    .min(1)
    .optional()
    .describe(
      "How long ago its last success may be; by default, for a job with a schedule, until it has been due twice since.",
    ),
  ping: z
    .union(
      [pingAddress, z.strictObject({ start: pingAddress, success: pingAddress, failure: pingAddress }).partial()],
      {
        error: "expected an http:// or https:// address, or a table of them with start, success and failure",
      },
    )
    .optional()
    .describe(
      "Address of an outside monitor that raises the alarm when it hears nothing: it is called after a success, with `/start` at the end " +
        "before a run and with `/fail` after a failure; or a table that gives the addresses `start`, `success` and `failure` one by one.",
    ),
};

const planSchema = z.strictObject(planShape);

/** When and how a job is run. */
export type PlanOptions = z.infer<typeof planSchema>;

const personalizationShape = {
  source: source
    .superRefine((text, { addIssue }) => {
      const message = problemOfFeedSource(text);
      if (message !== undefined) addIssue({ code: "custom", message });
    })
    .describe("Where the three files are: a folder, `https://HOST/PATH/` or `s3://BUCKET/PREFIX/`."),
  files: z
    .partialRecord(z.enum(listNames), z.string().regex(/^[^/]+$/, "expected the name of a file, without its folder"))
    .default({})
    .describe(
      "Their names there, where they are not pzlines, pzstyles, pzchoices with .csv or .ndjson and .gz or .zst.",
    ),
  marker: z
    .string()
    .regex(/^[^/]+$/, "expected the name of a file, without its folder")
    .optional()
    .describe(
      "A file that is written last: without it, or while it is older than one of the three, the feed is not complete.",
    ),
  settle_seconds: z
    .number()
    .min(0)
    .max(3600)
    .default(5)
    .describe("How long the files must have been left alone to count as complete."),
  encoding: z.enum(encodings).optional().describe("How the text is encoded; by default that is found out."),
  separator: z
    .enum(delimiters)
    .optional()
    .describe("What separates the fields of a row; by default that is found out."),
  aliases: z
    .partialRecord(column, z.array(z.string().min(1)).min(1))
    .default({})
    .describe('Other names of columns: `aliases.sku_id = ["Article"]`.'),
  keep_generations: z.int().min(2).max(100).default(3).describe("How many generations stay, the current one included."),
  max_removed_share: share(
    "Share of the SKUs, of the styles or of the choices that may vanish in an import; fewer than 20 are not judged.",
    0.2,
  ),
  max_rejected_share: share("Share of the rows that may be rejected; the others are then imported without them.", 0),
};

const personalizationSchema = z.strictObject({ ...personalizationShape, ...planShape });

/** Where a brand's personalization comes from and what is accepted of it. */
export type PersonalizationOptions = z.infer<typeof personalizationSchema>;

interface DocumentedOption {
  readonly name: string;
  readonly default: string;
  readonly sentence: string;
}

/** Each option with its default, for the documentation. */
export const personalizationOptions = () => documentedOptions(personalizationShape);
export const planOptions = () => documentedOptions(planShape);

function documentedOptions(shape: Readonly<Record<string, z.ZodType>>): DocumentedOption[] {
  return Object.entries(shape).map(([name, schema]) => {
    const value = (schema.def as { defaultValue?: unknown }).defaultValue;
    return { name, default: value === undefined ? "" : JSON.stringify(value), sentence: schema.description ?? "" };
  });
}

/** The options of a feed that is imported by hand: it lies there whole, since a person says so. */
export function manualImportOptions(
  config: Pick<Config, "jobs" | "brand">,
  source: string,
  brand: string,
): PersonalizationOptions {
  const problem = problemOfFeedSource(source);
  if (problem !== undefined) throw new ServiceError("bad_request", `${hideCredentials(source)}: ${problem}`);
  const configured = config.jobs["personalization-import"] ?? [];
  const options = configured.find((job) => (job.brand ?? config.brand) === brand) ?? configured[0];
  return { ...(options ?? personalizationSchema.parse({ source })), source, settle_seconds: 0 };
}

const defaultRemovedShare = 0.2;

const jobsSchema = z.strictObject({
  "catalog-import": z
    .strictObject({
      source: z.array(source).min(1).describe("Files of products, the whole set together."),
      max_removed_share: share(
        "Share of the stored products that may vanish in an import; beyond it the run fails and changes nothing. Fewer than 20 are not judged.",
        defaultRemovedShare,
      ),
      ...planShape,
    })
    .optional(),
  // One for each brand.
  "personalization-import": z.array(personalizationSchema).optional(),
  "catalog-reconcile": z
    .strictObject({
      max_removed_share: share(
        "Share of the stored products that may vanish in a run; beyond it the run fails and changes nothing. Fewer than 20 are not judged.",
        defaultRemovedShare,
      ),
      ...planShape,
      // Not on the hour, when most jobs of most shops run.
      schedule: schedule.default("17 3 * * *"),
    })
    .optional(),
  "catalog-sync": planSchema.extend({ schedule: schedule.default("*/5 * * * *") }).optional(),
  "history-retention": z
    .strictObject({
      keep_days: z.int().min(1).max(36_500).default(90).describe("How many days a run stays in the history."),
      ...planShape,
    })
    .optional(),
});

/** Share of the stored products, from 0 to 1, that may vanish at once, and that may be removed one by one between two comparisons. */
export const maxRemovedShareOf = ({ jobs }: Pick<Config, "jobs">): number =>
  jobs["catalog-reconcile"]?.max_removed_share ?? defaultRemovedShare;

/** The same for an import of product files. */
export const maxImportRemovedShareOf = ({ jobs }: Pick<Config, "jobs">): number =>
  jobs["catalog-import"]?.max_removed_share ?? defaultRemovedShare;

export interface Config extends Scalars {
  /** The tables `[jobs.NAME]` of the file; of `personalization-import` there may be several. */
  readonly jobs: z.infer<typeof jobsSchema>;
  /** When each of them runs. */
  readonly schedules: readonly ShownSchedule[];
  /** Each scalar as it was given. */
  readonly text: Readonly<Record<SettingName, string>>;
  /** Where each scalar came from. */
  readonly from: Readonly<Record<SettingName, "default" | "file" | "environment">>;
}

/** The schedule of a job, for people. */
interface ShownSchedule {
  /** The job as its table is named. */
  readonly job: string;
  /** The expression with its time zone, or `off`. */
  readonly schedule: string;
  readonly from: "default" | "file";
}

type Environment = Readonly<Record<string, string | undefined>>;

const snake = (name: string) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

/** The setting's key in the file. */
export const fileKey = snake;
/** The setting's name in the environment. */
export const environmentName = (name: string) => snake(name).toUpperCase();

export const settingNames = Object.keys(settings) as SettingName[];

/**
 * Reads the settings once: environment before file before default.
 * @throws ServiceError `invalid_setting`, naming the setting and where it stands.
 */
export function readConfig(environment: Environment): Config {
  const path = environment.PDS_CONFIG ?? "pds.toml";
  const file = readFile(path, environment.PDS_CONFIG !== undefined);
  const { jobs = {}, ...scalars } = file;

  const known = settingNames.map(fileKey);
  for (const key of Object.keys(scalars)) {
    if (known.includes(key)) continue;
    throw invalid(path, key, `is not a setting; the settings are ${known.join(", ")} and the tables [jobs.NAME]`);
  }

  const from = {} as Record<SettingName, "default" | "file" | "environment">;
  const text = {} as Record<SettingName, string>;
  const values: Record<string, unknown> = {};
  for (const name of settingNames) {
    const inEnvironment = environment[environmentName(name)];
    const inFile = scalars[fileKey(name)];
    from[name] = inEnvironment !== undefined ? "environment" : inFile !== undefined ? "file" : "default";
    const given = inEnvironment ?? inFile ?? settings[name].default;
    text[name] = `${given}`;
    values[name] = parseSetting(name, given, from[name], path);
  }
  const parsedJobs = parseJobs(jobs, path);
  const config = {
    ...(values as Scalars),
    jobs: parsedJobs,
    schedules: listSchedules(parsedJobs, jobs as Record<string, unknown>),
    text,
    from,
  };
  if (!isLoopback(config.adminHost) && config.adminToken === "") {
    throw invalid("the settings", "ADMIN_HOST", `is ${config.adminHost}, which is not loopback: set ADMIN_TOKEN too`);
  }
  checkPlatform(config, path);
  checkBrands(config, path);
  return config;
}

function checkPlatform(config: Config, path: string): void {
  const { shopifyAccessToken, shopifyClientId, shopifyClientSecret, jobs } = config;
  if ((shopifyClientId === "") !== (shopifyClientSecret === "")) {
    throw invalid("the settings", "SHOPIFY_CLIENT_ID", "goes with SHOPIFY_CLIENT_SECRET: set both, or neither");
  }
  const platform = shopifyAccessToken !== "" || shopifyClientId !== "";
  for (const job of ["catalog-sync", "catalog-reconcile"] as const) {
    if (jobs[job] === undefined || platform) continue;
    throw invalid(
      path,
      `jobs.${job}`,
      "needs the platform: set SHOPIFY_ACCESS_TOKEN, or SHOPIFY_CLIENT_ID and its secret",
    );
  }
  if (platform && config.shopifyApiUrl === "" && config.from.shopDomain === "default") {
    throw invalid("the settings", "SHOP_DOMAIN", "is needed with an access token: the shop's .myshopify.com domain");
  }
}

function checkBrands({ jobs, brand }: Config, path: string): void {
  const brands = (jobs["personalization-import"] ?? []).map((options) => options.brand ?? brand);
  const twice = brands.find((name, index) => brands.indexOf(name) !== index);
  if (twice === undefined) return;
  throw invalid(
    path,
    "jobs.personalization-import",
    `is there twice for ${JSON.stringify(twice)}: give each its brand`,
  );
}

/** @param given the tables as they are in the file */
function listSchedules(jobs: Config["jobs"], given: Readonly<Record<string, unknown>>): ShownSchedule[] {
  return Object.entries(jobs).flatMap(([name, parsed]) => {
    const tables = [given[name]].flat() as PlanOptions[];
    return ([parsed].flat() as PlanOptions[]).map(({ schedule = noSchedule, time_zone }, index): ShownSchedule => {
      const job = tables.length > 1 ? `${name}.${index}` : name;
      const from = tables[index]?.schedule === undefined ? "default" : "file";
      return { job, schedule: schedule === noSchedule ? schedule : `${schedule} ${time_zone}`, from };
    });
  });
}

/** The jobs as people may see them. */
export function shownJobs(jobs: Config["jobs"]): unknown {
  const hidden = (key: string, value: unknown) => {
    // Whoever knows a monitor's address can call it.
    if (key === "ping") return "(set, hidden)";
    return typeof value === "string" ? hideCredentials(value) : value;
  };
  return JSON.parse(JSON.stringify(jobs, hidden));
}

/** A setting's value as people may see it. */
export function shown(name: SettingName, config: Config): string {
  const { hide } = settings[name] as Setting<unknown>;
  const value = config[name];
  const text = typeof value === "object" ? config.text[name] : `${value}`;
  if (hide === "secret") return text === "" ? "(not set)" : "(set, hidden)";
  return hideCredentials(text);
}

export const isLoopback = (address: string) => /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(address);

function readFile(path: string, mustExist: boolean): Record<string, unknown> {
  if (!existsSync(path)) {
    if (mustExist) throw new ServiceError("invalid_setting", `PDS_CONFIG names ${path}, and there is no such file`);
    return {};
  }
  try {
    return Bun.TOML.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch (cause) {
    // The parser quotes what it stumbles over, which may be a secret.
    const reason = (cause as Error).message.replace(/"[^"]*"/g, "…");
    throw new ServiceError("invalid_setting", `${path}: ${reason}`, { cause });
  }
}

function parseSetting(name: SettingName, value: unknown, from: string, path: string): unknown {
  const [where, key] = from === "file" ? [path, fileKey(name)] : ["the environment", environmentName(name)];
  if (typeof value === "object") throw invalid(where, key, "expected a single value");
  try {
    return settings[name].parse(`${value}`);
  } catch (cause) {
    // Nobody knows where the password of a misspelled address ends.
    const mayBeSecret = (settings[name] as Setting<unknown>).hide !== undefined || /@|:\/\//.test(`${value}`);
    const got = mayBeSecret ? "" : `, not ${JSON.stringify(`${value}`)}`;
    throw invalid(where, key, `${(cause as Error).message}${got}`);
  }
}

function parseJobs(value: unknown, path: string): Config["jobs"] {
  const name = "personalization-import";
  const tables = value as Record<string, unknown>;
  const isOne = typeof tables?.[name] === "object" && !Array.isArray(tables[name]);
  const { data, error } = jobsSchema.safeParse(isOne ? { ...tables, [name]: [tables[name]] } : value);
  if (data) return data;
  const [issue] = error.issues;
  const known = Object.keys(jobsSchema.shape).join(", ");
  const hint = issue?.code === "unrecognized_keys" && issue.path.length === 0 ? `; the jobs are ${known}` : "";
  const place = issue?.path ?? [];
  // Of the only table nobody wants to know that it is the first.
  const shown = isOne && place[0] === name ? place.toSpliced(1, 1) : place;
  throw invalid(path, ["jobs", ...shown].join("."), `${issue?.message}${hint}`);
}

function invalid(where: string, key: string, what: string): ServiceError {
  return new ServiceError("invalid_setting", hideCredentials(`${where}: ${key}: ${what}`));
}
