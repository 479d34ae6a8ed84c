import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../src/base/errors.ts";
import { readConfig } from "../../src/config/index.ts";
import { formatSetting, listSecrets } from "../../src/config/printing.ts";
import { jsonOf } from "../support/command-output.ts";
import { type Environment, pds, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { createPostgresDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

interface Shown {
  readonly settings: readonly { setting: string; value: string; from: string }[];
  readonly jobs: Record<string, unknown>;
}

const folder = await temporaryFolder();

/** Writes settings files, each under a name of its own. @returns its path */
let written = 0;
async function writeSettings(text: string): Promise<string> {
  const [path = ""] = await writeFiles(folder, { [`${++written}.toml`]: text });
  return path;
}

async function writeBytes(bytes: number[]): Promise<string> {
  const [path = ""] = await writeFiles(folder, { [`${++written}.toml`]: new Uint8Array(bytes) });
  return path;
}

const showConfig = (environment?: Environment, cwd?: string): Promise<Shown> => jsonOf(["config"], environment, cwd);

const settingOf = ({ settings }: Shown, name: string) => settings.find(({ setting }) => setting === name);

/** Returns the error that stops every command with these settings. */
function errorFor(environment: Environment): string {
  try {
    readConfig({ PDS_CONFIG: "/dev/null", ...environment });
  } catch (error) {
    // For any other error, a command prints more than the message.
    expect(error).toBeInstanceOf(ServiceError);
    return (error as Error).message;
  }
  throw new Error("the settings are valid");
}

/** @param words texts that the one-line error contains */
function expectError(environment: Environment, ...words: string[]): void {
  const message = errorFor(environment);
  expect(message).toMatch(/^.+$/);
  for (const word of words) expect(message).toContain(word);
}

describe("the settings", () => {
  test("have these defaults, also with an empty file", async () => {
    const from = "default";
    const longCache = "max-age=60, s-maxage=300, stale-while-revalidate=600, stale-if-error=86400";
    expect(await showConfig()).toEqual({
      settings: [
        { setting: "HOST", value: "127.0.0.1", from },
        { setting: "PORT", value: "3000", from },
        { setting: "PUBLIC_URL", value: "", from },
        { setting: "ADMIN_HOST", value: "127.0.0.1", from },
        { setting: "ADMIN_PORT", value: "3001", from },
        { setting: "ADMIN_HOSTS", value: "", from },
        { setting: "ADMIN_TOKEN", value: "(not set)", from },
        { setting: "DATABASE_URL", value: "sqlite:data/pds.sqlite", from },
        { setting: "DATABASE_DIRECT_URL", value: "", from },
        { setting: "DATABASE_PREPARE", value: "on", from },
        { setting: "DATABASE_CONNECTIONS", value: "4", from },
        { setting: "SHOP_DOMAIN", value: "localhost", from },
        { setting: "BRAND", value: "default", from },
        { setting: "DEFAULT_LOCALE", value: "en", from },
        { setting: "SHOPIFY_ACCESS_TOKEN", value: "(not set)", from },
        { setting: "SHOPIFY_CLIENT_ID", value: "", from },
        { setting: "SHOPIFY_CLIENT_SECRET", value: "(not set)", from },
        { setting: "SHOPIFY_WEBHOOK_SECRET", value: "(not set)", from },
        { setting: "SHOPIFY_WEBHOOK_SECRET_PREVIOUS", value: "(not set)", from },
        { setting: "SHOPIFY_API_URL", value: "", from },
        { setting: "SHOPIFY_API_VERSION", value: "2026-10", from },
        { setting: "FEED_AUTHORIZATION", value: "(not set)", from },
        { setting: "MAX_FILE_MEGABYTES", value: "10000", from },
        { setting: "ALLOWED_LINK_LOCAL", value: "", from },
        { setting: "S3_ENDPOINT", value: "", from },
        { setting: "S3_REGION", value: "us-east-1", from },
        { setting: "S3_ACCESS_KEY_ID", value: "(not set)", from },
        { setting: "S3_SECRET_ACCESS_KEY", value: "(not set)", from },
        { setting: "PRODUCT_MAX_AGE", value: "86400", from },
        { setting: "LOOKUPS_PER_MINUTE", value: "60", from },
        { setting: "VISIBLE", value: "active", from },
        { setting: "PUBLICATION", value: "", from },
        { setting: "METAFIELD_NAMESPACES", value: "", from },
        { setting: "SCHEDULER", value: "on", from },
        { setting: "MAX_RUNS", value: "4", from },
        { setting: "LEASE_SECONDS", value: "30", from },
        { setting: "STALE_DATA", value: "warn", from },
        { setting: "READINESS", value: "available", from },
        { setting: "MEMORY_MEGABYTES", value: "128", from },
        { setting: "CACHE_PERSONALIZATION", value: longCache, from },
        { setting: "CACHE_PRODUCTS", value: longCache, from },
        { setting: "CACHE_HISTORIES", value: "max-age=5, s-maxage=5, stale-if-error=86400", from },
        { setting: "CACHE_NOT_FOUND", value: "max-age=10, s-maxage=10", from },
        { setting: "CDN", value: "none", from },
        { setting: "PURGE_TOKEN", value: "(not set)", from },
        { setting: "RATE_LIMIT", value: "0", from },
        { setting: "CLIENT_PREFIX_IPV4", value: "32", from },
        { setting: "CLIENT_PREFIX_IPV6", value: "64", from },
        { setting: "TRUSTED_PROXIES", value: "", from },
        { setting: "REUSE_PORT", value: "off", from },
        { setting: "DRAIN_SECONDS", value: "1", from },
        { setting: "IDLE_SECONDS", value: "75", from },
        { setting: "SERVER_TIMING", value: "off", from },
        { setting: "LOG_LEVEL", value: "info", from },
      ],
      jobs: {},
    });
  });

  test("are read from pds.toml in the working folder if it exists", async () => {
    const [empty, full] = [await temporaryFolder(), await temporaryFolder()];
    await writeFiles(full, { "pds.toml": 'brand = "Here & now"\nport = 4000\n' });
    const environment = { PDS_CONFIG: undefined };
    expect(settingOf(await showConfig(environment, empty), "BRAND")?.from).toBe("default");
    const found = await showConfig(environment, full);
    expect(settingOf(found, "BRAND")).toEqual({ setting: "BRAND", value: "Here & now", from: "file" });
    expect(settingOf(found, "PORT")).toEqual({ setting: "PORT", value: "4000", from: "file" });
  });

  test("are read from the file that PDS_CONFIG names instead of the working folder's", async () => {
    const cwd = await temporaryFolder();
    await writeFiles(cwd, { "pds.toml": 'brand = "left"', "other.toml": "port = 4001" });
    const found = await showConfig({ PDS_CONFIG: "other.toml" }, cwd);
    expect(settingOf(found, "PORT")?.value).toBe("4001");
    expect(settingOf(found, "BRAND")?.value).toBe("default");
  });

  test("in the environment take precedence over the file, one by one", async () => {
    const PDS_CONFIG = await writeSettings('brand = "file"\nshop_domain = "file.example"\nadmin_port = 4002');
    const found = await showConfig({ PDS_CONFIG, BRAND: "environment", LOG_LEVEL: "debug" });
    const shown = found.settings.filter(({ from }) => from !== "default");
    expect(shown).toEqual([
      { setting: "ADMIN_PORT", value: "4002", from: "file" },
      { setting: "SHOP_DOMAIN", value: "file.example", from: "file" },
      { setting: "BRAND", value: "environment", from: "environment" },
      { setting: "LOG_LEVEL", value: "debug", from: "environment" },
    ]);
  });

  test("of a file take effect in the service", async () => {
    const path = await writeSettings('host = "127.0.0.1"\nshop_domain = "file.example"\nlog_level = "silent"');
    await using service = await serve({ PDS_CONFIG: path, DATABASE_URL: `sqlite:${join(folder, "in-force.sqlite")}` });
    expect(await (await service.get("/api/v1/products/1")).json()).toMatchObject({ shop: "file.example" });
    await service.stop();
    expect(service.log()).toBe("");
  });

  test("are printed as a table with one line per setting", async () => {
    const environment = { BRAND: "A b" };
    const [{ stdout }, { settings }] = await Promise.all([pds(["config"], environment), showConfig(environment)]);
    const [head = "", ...lines] = stdout.trimEnd().split("\n");
    const [value, from] = [head.indexOf("value"), head.indexOf("from")];
    const cells = lines.map((line) => [line.slice(0, value), line.slice(value, from), line.slice(from)]);
    expect(cells.map((row) => row.map((cell) => cell.trim()))).toEqual(
      settings.map((row) => [row.setting, row.value, row.from]),
    );
  });

  test("of jobs are printed with their defaults", async () => {
    const plan = { time_zone: "UTC", limit_seconds: 3600, retries: 0, retry_seconds: 60, missed: "once" };
    const feed = {
      source: "feed",
      files: {},
      settle_seconds: 5,
      aliases: {},
      keep_generations: 3,
      max_removed_share: 0.2,
      max_added_share: 10,
      max_rows: 50_000_000,
      max_rejected_share: 0,
      ...plan,
    };
    const PDS_CONFIG = await writeSettings(
      '[jobs.catalog-import]\nsource = ["a.ndjson", "b.json"]\nschedule = "@daily"\ntime_zone = "America/New_York"\n' +
        '[jobs.personalization-import]\nsource = "feed"\n[jobs.history-retention]',
    );
    expect((await showConfig({ PDS_CONFIG })).jobs).toEqual({
      "catalog-import": {
        source: ["a.ndjson", "b.json"],
        max_removed_share: 0.2,
        ...plan,
        schedule: "@daily",
        time_zone: "America/New_York",
      },
      "personalization-import": [feed],
      "history-retention": { keep_days: 90, ...plan },
    });
  });

  test("of a job for several brands are a list", async () => {
    const table = "[[jobs.personalization-import]]\nsource = 'feed'\n";
    const PDS_CONFIG = await writeSettings(`${table}${table}brand = "other"`);
    expect((await showConfig({ PDS_CONFIG })).jobs).toMatchObject({
      "personalization-import": [{ source: "feed" }, { source: "feed", brand: "other" }],
    });
  });
});

describe("settings that have no effect", () => {
  const table = "[jobs.personalization-import]\nsource = 'feed'\n";
  test.each([
    [
      "",
      { FEED_AUTHORIZATION: "Bearer x" },
      "environment variable FEED_AUTHORIZATION has no effect on jobs: none reads a feed from an https:// URL",
    ],
    [`s3_region = "eu"\n${table}`, {}, "s3_region has no effect on jobs: none reads a feed from an s3:// URL"],
    [
      "",
      { DATABASE_PREPARE: "off" },
      "environment variable DATABASE_PREPARE has no effect without DATABASE_DIRECT_URL",
    ],
    [
      "",
      { DATABASE_CONNECTIONS: "8" },
      "environment variable DATABASE_CONNECTIONS has no effect with an embedded store",
    ],
    [
      "",
      { PRODUCT_MAX_AGE: "60" },
      "environment variable PRODUCT_MAX_AGE has no effect without access to the platform",
    ],
    [
      `${table}schedule = "@daily"`,
      { SCHEDULER: "off" },
      "jobs.personalization-import.schedule has no effect while SCHEDULER is off",
    ],
  ])("are reported by pds config: %j %j", async (text, environment, sentence) => {
    const { code, stderr } = await pds(["config"], { PDS_CONFIG: await writeSettings(text), ...environment });
    expect({ code, stderr }).toEqual({ code: 0, stderr: `${sentence}\n` });
  });

  test("leave out those that another part of the service uses", async () => {
    const config = await writeSettings(`${table}retries = 3`);
    const platform = { SHOPIFY_ACCESS_TOKEN: "token", SHOP_DOMAIN: "shop.example", TRUSTED_PROXIES: "10.0.0.1" };
    const { code, stderr } = await pds(["config"], { PDS_CONFIG: config, ...platform });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("an invalid setting stops the start", () => {
  test.each(["serve", "config", "jobs", "history"])(
    "with one line, in each command and before it does anything: %s",
    async (command) => {
      const DATABASE_URL = `sqlite:${join(folder, "never.sqlite")}`;
      const junk = await writeSettings("[jobs.catalog-import]\nsource = ['x']\nschedule = 'every day'");
      for (const environment of [{ PORT: "12abc" }, { PDS_CONFIG: junk }, { ADMIN_HOST: "0.0.0.0" }]) {
        const { code, stdout, stderr } = await pds([command], { DATABASE_URL, ...environment });
        expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
        expect(stderr).toBe(`pds: ${errorFor(environment)}\n`);
      }
      expect(existsSync(join(folder, "never.sqlite"))).toBe(false);
    },
  );

  test.each(
    [
      ["HOST", "a b"],
      ["PORT", "12abc"],
      ["PORT", "65536"],
      ["PORT", "-1"],
      ["PORT", "1e3"],
      ["PORT", " 80"],
      ["PORT", ""],
      ["ADMIN_PORT", "0x50"],
      ["DATABASE_URL", "mysql://x"],
      ["DATABASE_URL", "sqlite:"],
      ["DATABASE_URL", "postgres://user@host:99999/db"],
      ["DATABASE_URL", ""],
      ["DATABASE_DIRECT_URL", "sqlite:data/pds.sqlite"],
      ["DATABASE_PREPARE", "no"],
      ["DATABASE_CONNECTIONS", "3"],
      ["DATABASE_CONNECTIONS", "101"],
      ["DATABASE_CONNECTIONS", "4.5"],
      ["SHOP_DOMAIN", "a b"],
      ["SHOP_DOMAIN", "https://shop.example"],
      ["SHOP_DOMAIN", ""],
      ["BRAND", ""],
      ["BRAND", "  "],
      ["BRAND", "x".repeat(101)],
      ["LOG_LEVEL", "loud"],
      ["LOG_LEVEL", "INFO"],
      ["ADMIN_TOKEN", "short"],
      ["ADMIN_HOSTS", "https://pds.example"],
      ["ADMIN_HOSTS", "pds.example:3001"],
      ["ADMIN_HOSTS", "*.example"],
      ["ADMIN_HOSTS", "2001:db8::1"],
      ["MAX_FILE_MEGABYTES", "1.5"],
      ["ALLOWED_LINK_LOCAL", "metadata"],
      ["ALLOWED_LINK_LOCAL", "169.254.0.0/33"],
      ["SHOPIFY_API_URL", "shop.example"],
      ["SHOPIFY_API_VERSION", "2026-11"],
      ["PUBLICATION", "Online Store"],
      ["METAFIELD_NAMESPACES", "global,,other"],
      ["METAFIELD_NAMESPACES", "$app:foo,global"],
      ["METAFIELD_NAMESPACES", "global, $app"],
      ["PRODUCT_MAX_AGE", "1d"],
      ["PRODUCT_MAX_AGE", ""],
      ["LOOKUPS_PER_MINUTE", "-1"],
      ["VISIBLE", "drafts"],
      ["CDN", "akamai"],
      ["SCHEDULER", "yes"],
      ["MAX_RUNS", "0"],
      ["MAX_RUNS", "101"],
      ["LEASE_SECONDS", "0"],
      ["LEASE_SECONDS", "3601"],
      ["LEASE_SECONDS", "1.5"],
      ["STALE_DATA", "FAIL"],
    ].map(
      ([name = "", value = ""]) => [name, value.length > 40 ? `${value.length} characters` : value, value] as const,
    ),
  )("%s=%j, in the environment and in the file", async (name, _, value) => {
    expectError({ [name]: value }, `environment variable ${name}: expected `);
    const path = await writeSettings(`${name.toLowerCase()} = ${JSON.stringify(value)}`);
    expectError({ PDS_CONFIG: path }, `${path}:1:1: ${name.toLowerCase()}: expected `);
  });

  test.each([
    ["an unknown table", "[server]\nport = 3000", ["server"]],
    ["a list for a single value", "port = [3000]", ["port"]],
    ["a table for a single value", "[brand]\nname = 'x'", ["brand"]],
    ["a date for a single value", "brand = 2026-01-01", ["brand"]],
    ["true for a port", "port = true", ["port"]],
    ["a fraction for a port", "port = 80.5", ["port"]],
    ["an unknown job", "[jobs.nightly]\nsource = 'x'", ["jobs", "nightly", "catalog-import, personalization-import"]],
    [
      "a presentation in another format",
      "[jobs.presentation-import]\nsource = 'x/names.csv'",
      ["jobs.presentation-import.source", "expected a file that ends in .toml, with or without .gz or .zst"],
    ],
    ["a job without its source", "[jobs.personalization-import]", ["jobs.personalization-import.source"]],
    ["a single file for a list", "[jobs.catalog-import]\nsource = 'x'", ["jobs.catalog-import.source"]],
    ["an empty list of files", "[jobs.catalog-import]\nsource = []", ["jobs.catalog-import.source"]],
    ["an empty file name", "[jobs.catalog-import]\nsource = ['']", ["jobs.catalog-import.source.0"]],
    ["a value for the jobs", "jobs = 3", ["jobs"]],
    ["a share over the whole", "[jobs.catalog-reconcile]\nmax_removed_share = 1.5", ["max_removed_share"]],
    [
      "no rows at all",
      "[jobs.personalization-import]\nsource = 'x'\nmax_rows = 0",
      ["jobs.personalization-import", "max_rows"],
    ],
    [
      "a negative share",
      "[jobs.personalization-import]\nsource = 'x'\nmax_added_share = -1",
      ["jobs.personalization-import", "max_added_share"],
    ],
    ["a job of the platform without a way in", "[jobs.catalog-sync]", ["jobs.catalog-sync", "SHOPIFY_ACCESS_TOKEN"]],
  ])("%s in the file", async (_, text, words) => {
    const path = await writeSettings(text);
    expectError({ PDS_CONFIG: path }, ...words);
    expect(errorFor({ PDS_CONFIG: path })).toMatch(new RegExp(`^${path}(:\\d+:\\d+)?: `));
  });

  test.each([
    ["a schedule in words", "schedule = 'every day'", "schedule: expected a cron expression"],
    ["an empty schedule", "schedule = ''", "schedule: expected"],
    ["a number for a schedule", "schedule = 5", "schedule: "],
    ["a day that never comes", "schedule = '0 0 30 2 *'", "schedule: .+ never matches"],
    ["an unknown time zone", "time_zone = 'Mars/Olympus'", 'time_zone: .+"Mars/Olympus"'],
    ["an empty brand", "brand = ' '", "brand: expected"],
    ["no time at all", "limit_seconds = 0", "limit_seconds: expected at least 1"],
    ["part of a second", "limit_seconds = 1.5", "limit_seconds: expected a whole number"],
    ["fewer than no retries", "retries = -1", "retries: expected at least 0"],
    ["retries at once", "retry_seconds = 0", "retry_seconds: expected at least 1"],
    ["data that is never fresh", "stale_seconds = 0", "stale_seconds: expected at least 1"],
    ["another word for missed", "missed = 'never'", 'missed: expected "once" or "skip" or "all"'],
  ])("%s of a job: the error has its line and path", async (_, line, complaint) => {
    const path = await writeSettings(`[jobs.catalog-import]\nsource = ['x']\n${line}`);
    expect(errorFor({ PDS_CONFIG: path })).toMatch(
      new RegExp(`^${path}:\\d:\\d+: jobs.catalog-import.${complaint}.*$`),
    );
  });

  const feed = "[[jobs.personalization-import]]\nsource = 'x'\n";
  test.each([
    [
      "an unknown key",
      "[jobs.catalog-import]\nsource = ['x']\nevery = '1 h'",
      '"every" is not a setting of .jobs.catalog-import.; the settings are source, ',
    ],
    ["no days", "[jobs.history-retention]\nkeep_days = 0", "jobs.history-retention.keep_days: expected at least 1"],
    ["a key without any", "[jobs.catalog-sync]\nsource = 'x'", '"source" is not a setting of .jobs.catalog-sync.; '],
    ["several of one", "[[jobs.catalog-import]]\nsource = ['x']", "jobs.catalog-import: expected a table"],
    ["a schedule of the second of two", `${feed}${feed}schedule = '* *'`, "jobs.personalization-import.1.schedule: "],
    ["two without a brand", feed + feed, 'jobs.personalization-import: "default" has two tables; '],
    ["two of a brand", `brand = 'b'\n${feed}brand = 'b'\n${feed}`, 'jobs.personalization-import: "b" has two tables; '],
  ])("%s of a job: the error has its line and path", async (_, text, complaint) => {
    const path = await writeSettings(text);
    expect(errorFor({ PDS_CONFIG: path })).toMatch(new RegExp(`^${path}:\\d:\\d+: ${complaint}.*$`));
  });

  test.each([
    ["a setting", "# a comment\nports = 3000", ':2:1: "ports" is not a setting; did you mean "port"?'],
    ["a setting in capitals", "\n\nPORT = 3000", ':3:1: "PORT" is not a setting; did you mean "port"?'],
    ["a job", "port = 1\n[jobs.catalog-synk]", ':2:1: "catalog-synk" is not a job; did you mean "catalog-sync"?'],
    [
      "an option of a job",
      "[jobs.catalog-sync]\nretries = 1\nschedul = 'x'",
      ':3:1: "schedul" is not a setting of [jobs.catalog-sync]; did you mean "schedule"?',
    ],
    [
      "an option of the second of two",
      `${feed}settle_seconds = 1\n${feed}settle_second = 1`,
      ':6:1: "settle_second" is not a setting of [jobs.personalization-import.1]; did you mean "settle_seconds"?',
    ],
    ["two swapped letters", "prot = 3000", ':1:1: "prot" is not a setting; did you mean "port"?'],
    ["the tables of jobs", "[job.catalog-sync]", ':1:1: "job" is not a setting; did you mean "jobs"?'],
    [
      "a column with an alias",
      `${feed}[jobs.personalization-import.aliases]\nsku = ["Article"]`,
      ':4:1: "sku" is not a setting of [jobs.personalization-import.0.aliases]; the settings are sku_id, style_code, ',
    ],
    [
      "a file of a feed",
      `${feed}files = { pzline = "a.csv" }`,
      ':3:11: "pzline" is not a setting of [jobs.personalization-import.0.files]; did you mean "pzlines"?',
    ],
    ["a key of a file in TOML 1.1", "\nports = {\n  a = 1,\n}", ':2:1: "ports" is not a setting; did you'],
    [
      "a key in a text of several lines",
      '[jobs.catalog-sync]\nbrand = """\nx = 1"""\nx = 1',
      ':4:1: "x" is not a setting of ',
    ],
  ])("a misspelled name is reported with its line and the right name: %s", async (_, text, complaint) => {
    const path = await writeSettings(text);
    expect(errorFor({ PDS_CONFIG: path })).toStartWith(`${path}${complaint}`);
  });

  test.each([
    ["a value that is missing", "port = 1\n\nhost =", "3:7", "Unspecified values"],
    ["a key twice", "port = 1\nport = 2\nhost = 'a'", "2:1", "Defining a key multiple times"],
    ["a list that does not end", "host = 'a'\nx = [\n  1,\n  2,\n", "5:1", "Unspecified values"],
    ["a text that does not end, after one of several lines", 'brand = """\na\n"""\nhost = "a\nport = 1', "4:10", ""],
    ["nothing that is TOML", "{}", "1:1", ""],
  ])("a file that is not TOML is reported with its position: %s", async (_, text, position, reason) => {
    const path = await writeSettings(text);
    expect(errorFor({ PDS_CONFIG: path })).toStartWith(`${path}:${position}: invalid TOML: ${reason}`);
  });

  test("all problems of the file and the environment are reported at once, one per line", async () => {
    const path = await writeSettings('ports = 1\nhost = "a b"\n[jobs.catalog-sync]\nretries = -1\nlimit_seconds = "x"');
    expect(errorFor({ PDS_CONFIG: path, PORT: "x" }).split("\n  ")).toEqual([
      "5 settings are invalid:",
      `${path}:1:1: "ports" is not a setting; did you mean "port"?`,
      `${path}:2:1: host: expected a host name or an IP address to bind, not "a b"`,
      'environment variable PORT: expected a port from 0 to 65535 (0 picks a free port), not "x"',
      `${path}:5:1: jobs.catalog-sync.limit_seconds: expected a number`,
      `${path}:4:1: jobs.catalog-sync.retries: expected at least 0`,
    ]);
  });

  test("settings that do not go together are reported with the others, and where they are", async () => {
    const lines = [
      "prot = 1",
      'admin_host = "0.0.0.0"',
      'shopify_client_id = "id"',
      "[jobs.history-retention]",
      "keep_days = 0",
    ];
    const PDS_CONFIG = await writeSettings(lines.join("\n"));
    const message = errorFor({ PDS_CONFIG, DATABASE_DIRECT_URL: "postgres://user@host/db" });
    for (const problem of [
      `${PDS_CONFIG}:1:1: "prot" is not a setting`,
      `${PDS_CONFIG}:2:1: admin_host: 0.0.0.0 is not a loopback address`,
      `${PDS_CONFIG}:3:1: shopify_client_id: set SHOPIFY_CLIENT_SECRET too`,
      `${PDS_CONFIG}:5:1: jobs.history-retention.keep_days: expected at least 1`,
      "DATABASE_DIRECT_URL: DATABASE_URL is an embedded store",
    ]) {
      expect(message).toContain(problem);
    }
  });

  test("a token that is invalid is not reported as missing, too", async () => {
    const PDS_CONFIG = await writeSettings('admin_host = "0.0.0.0"\n[admin.tokens.ann]\nrole = "view"\n');
    expectError({ PDS_CONFIG }, `${PDS_CONFIG}:2:1: admin.tokens.ann.sha256: is missing`);
  });

  test("of many unknown keys the first are reported, and the others are counted", async () => {
    const unknown = Array.from({ length: 20_000 }, (_, index) => `x${index} = 1`).join("\n");
    const message = errorFor({ PDS_CONFIG: await writeSettings(unknown) });
    expect(message).toStartWith("20000 settings are invalid:\n");
    expect(message).toContain(':20:1: "x19" is not a setting;');
    expect(message).toEndWith("\n  and 19980 more");
  });

  test.each([
    ["a list", (depth: number) => `brand = ${"[".repeat(depth)}${"]".repeat(depth)}`],
    ["a table", (depth: number) => `brand = ${"{a=".repeat(depth)}1${"}".repeat(depth)}`],
    ["an unfinished list", (depth: number) => `brand = ${"[".repeat(depth)}`],
  ])("%s with any number of levels is refused at once", async (_, toText) => {
    const levels = await writeSettings(toText(900));
    expect(errorFor({ PDS_CONFIG: levels })).toMatch(
      new RegExp(`^${levels}:\\d+:\\d+: (brand: expected|invalid TOML)`),
    );
    const more = await writeSettings(toText(60_000));
    expect(errorFor({ PDS_CONFIG: more })).toBe(`${more}: expected at most 1000 brackets that are open at once`);
  });

  test("a number that no setting can have is reported where it is", async () => {
    const path = await writeSettings("port = 99999999999999999999\n");
    expect(errorFor({ PDS_CONFIG: path })).toStartWith(`${path}:1:1: port: expected a port`);
  });

  test("a long key is shortened", async () => {
    const path = await writeSettings(`${"k".repeat(5000)} = 1\n`);
    expect(errorFor({ PDS_CONFIG: path })).toStartWith(`${path}:1:1: "${"k".repeat(100)}…" is not a setting`);
  });

  test.each([
    ["is a folder", async () => folder, "expected a file, not a folder"],
    ["is too large", () => writeSettings(`# ${"x".repeat(256 * 1024)}`), "expected settings of at most 256 kB"],
    [
      "is not UTF-8",
      () => writeBytes([..."a = 1\nb = '"].map((c) => c.charCodeAt(0)).concat(0xe9)),
      "2: expected UTF-8",
    ],
  ])("a settings file that %s is refused", async (_, prepare, complaint) => {
    const path = await prepare();
    expect(errorFor({ PDS_CONFIG: path })).toMatch(new RegExp(`^${path}: ?${complaint}`));
  });

  test("the passwords of URLs are secrets, and are not shown", () => {
    const config = readConfig({
      PDS_CONFIG: "/dev/null",
      DATABASE_URL: "postgres://pds:password-1@pooler/pds",
      DATABASE_DIRECT_URL: "postgres://pds:password-2@primary/pds",
    });
    expect(listSecrets(config)).toEqual(["password-1", "password-2"]);
    expect(formatSetting("databaseDirectUrl", config)).toBe("postgres://pds:hidden@primary/pds");
  });

  const format = "sqlite:PATH or postgres://USER@HOST:PORT/DATABASE, optionally with :PASSWORD after USER";
  test.each([
    ["data.db", format],
    ["sqlite: ", format],
    ["sqlite:a?mode=memory", "sqlite:PATH with a path without a question mark"],
    ["sqlite::memory:", "sqlite:PATH with the path of a file: a store in memory is not shared"],
  ])("DATABASE_URL=%j is refused with the format", (DATABASE_URL, expected) => {
    expectError({ DATABASE_URL }, `DATABASE_URL: expected ${expected}`);
  });

  test.each([[`${folder}/absent/pds.toml`], ["/dev/null/pds.toml"], [`/${"a".repeat(5000)}`], [""]])(
    "PDS_CONFIG=%j, which is not a file",
    (path) => {
      expectError({ PDS_CONFIG: path }, path || "PDS_CONFIG");
    },
  );

  test.each([["0.0.0.0"], ["::"], ["192.0.2.1"], ["admin.example"], ["127.0.0.1.example"]])(
    "ADMIN_HOST=%s, which is not loopback, without ADMIN_TOKEN",
    (ADMIN_HOST) => {
      expectError({ ADMIN_HOST }, "ADMIN_HOST", ADMIN_HOST, "ADMIN_TOKEN");
    },
  );

  test.each([
    [
      "a client id without its secret",
      { SHOPIFY_CLIENT_ID: "client", SHOP_DOMAIN: "shop.example" },
      ["SHOPIFY_CLIENT_ID", "SHOPIFY_CLIENT_SECRET"],
    ],
    ["a client secret without its id", { SHOPIFY_CLIENT_SECRET: "sesame" }, ["SHOPIFY_CLIENT_ID"]],
    [
      "a webhook secret without access to the shop",
      { SHOPIFY_WEBHOOK_SECRET: "sesame", SHOP_DOMAIN: "a.example" },
      ["SHOPIFY_WEBHOOK_SECRET", "SHOPIFY_ACCESS_TOKEN"],
    ],
    [
      "a previous webhook secret without the new one",
      { SHOPIFY_WEBHOOK_SECRET_PREVIOUS: "sesame" },
      ["SHOPIFY_WEBHOOK_SECRET_PREVIOUS"],
    ],
    ["an access token without the shop that it opens", { SHOPIFY_ACCESS_TOKEN: "sesame" }, ["SHOP_DOMAIN"]],
  ])("%s", (_, environment, words) => {
    expectError(environment, ...words);
  });
});

describe("a secret", () => {
  const secret = "sesame-0123456789";

  test('of any name is printed as "(set, hidden)"', async () => {
    const { settings } = await showConfig();
    const names = settings
      .map(({ setting }) => setting)
      .filter((name) => /TOKEN|SECRET|PASSWORD|KEY|AUTHORIZATION/.test(name));
    expect(names).toContain("ADMIN_TOKEN");
    const complete = { SHOP_DOMAIN: "shop.example", SHOPIFY_CLIENT_ID: "client" };
    const environment = { ...complete, ...Object.fromEntries(names.map((name) => [name, secret])) };
    for (const args of [["config"], ["config", "--json"]]) {
      const { code, stdout, stderr } = await pds(args, environment);
      expect(code).toBe(0);
      expect(stdout.match(/\(set, hidden\)/g)).toHaveLength(names.length);
      expect(stdout + stderr).not.toContain(secret);
    }
  });

  test.each([
    ["a token that is too short", "ADMIN_TOKEN", "hunter2"],
    ["a junk DATABASE_URL", "DATABASE_URL", "postgress://user:hunter2@host/db"],
    ["a DATABASE_URL with a wrong port", "DATABASE_URL", "postgres://user:hunter2@host:port/db"],
  ])("is not in the error about %s", (_, name, value) => {
    const message = errorFor({ [name]: value });
    expect(message).toContain(name);
    expect(message).not.toContain("hunter2");
  });

  test.each([
    ["without quotes", `admin_token = ${secret}`],
    ["with one quote", `admin_token = "${secret}\n`],
    ["with words behind it", `admin_token = "${secret}" ${secret}`],
    ["in a list", `admin_token = ["${secret}"]`],
  ])("is not in the error about a file that has it %s", async (_, text) => {
    const { code, stdout, stderr } = await pds(["config"], { PDS_CONFIG: await writeSettings(text) });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toContain(secret);
    expect(stderr).not.toContain("sesame");
  });

  const monitor = `https://monitor.example/${secret}`;
  test.each([
    ["one", `ping = "${monitor}"`],
    ["several", `ping = { start = "${monitor}/1", success = "${monitor}/2", failure = "${monitor}/3" }`],
  ])("in the URL of a monitor is hidden: %s", async (_, ping) => {
    const PDS_CONFIG = await writeSettings(`[jobs.catalog-import]\nsource = ["x"]\n${ping}`);
    expect((await showConfig({ PDS_CONFIG })).jobs).toMatchObject({ "catalog-import": { ping: "(set, hidden)" } });
    for (const args of [["config"], ["config", "--json"]]) {
      const { code, stdout, stderr } = await pds(args, { PDS_CONFIG });
      expect(code).toBe(0);
      expect(stdout + stderr).not.toContain("monitor.example");
    }
  });

  test.each([
    ["is none", `ping = "${secret}"`, "jobs.catalog-import.ping: expected an http"],
    ["has another scheme", `ping = "ftp://monitor.example/${secret}"`, "jobs.catalog-import.ping: expected an http"],
    ["has no host", `ping = "https://:80/${secret}"`, "jobs.catalog-import.ping: expected an http"],
    ["is a list", `ping = ["${monitor}"]`, "jobs.catalog-import.ping: expected an http"],
    ["is none in a table", `ping = { start = "${secret}" }`, "jobs.catalog-import.ping.start: expected an http"],
    [
      "is under an unknown name",
      `ping = { begin = "${monitor}" }`,
      '"begin" is not a setting of [jobs.catalog-import.ping]; the settings are start, ',
    ],
  ])("is not in the error about a monitor's URL that %s", async (_, ping, complaint) => {
    const path = await writeSettings(`[jobs.catalog-import]\nsource = ["x"]\n${ping}`);
    const message = errorFor({ PDS_CONFIG: path });
    expect(message).toMatch(new RegExp(`^${path}:3:\\d+: ${RegExp.escape(complaint)}`));
    expect(message).not.toContain(secret);
  });

  describe("of a PostgreSQL", async () => {
    const { url, drop } = await createPostgresDatabase();
    const withPassword = (changes: Partial<URL>) => Object.assign(new URL(url), { password: secret }, changes).href;

    test.each([
      ["that is not there", { port: "1" }],
      ["that refuses the user", { username: "nobody" }],
      ["that has no such database", { pathname: "/nothing" }],
    ])("%s is not in the error", async (_, changes) => {
      const environment = { DATABASE_URL: withPassword(changes), LOG_LEVEL: "trace", PORT: "0", ADMIN_PORT: "0" };
      for (const command of ["serve", "history"]) {
        const { code, stdout, stderr } = await pds([command], environment);
        expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
        expect(stderr).toContain("DATABASE_URL");
        expect(stderr).not.toContain(secret);
      }
    });

    test("that goes away is in no response and in no log", async () => {
      await using service = await serve({ DATABASE_URL: withPassword({}), ADMIN_TOKEN: secret, LOG_LEVEL: "trace" });
      const headers = { authorization: `Bearer ${secret}` };
      // Cached responses are served; other requests are rejected.
      expect((await service.get("/api/v1/products/pz/MUG", { headers })).status).toBe(200);
      await drop();
      const readiness = async () => (await service.get("/readyz", { headers })).text();
      await until("it is noticed", async () => (await readiness()).includes('"database":"cannot be reached'));
      const answers = await Promise.all([
        service.get("/api/v1/products/1", { headers }),
        service.get("/api/v1/products/pz/MUG", { headers }),
        service.get("/api/v1/products/pz/CUP", { headers }),
        service.get("/api/v1/histories/asc", { headers }),
        service.get("/readyz", { headers }),
        fetch(`${service.adminUrl}/`, { headers }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([503, 200, 503, 503, 503, 503]);
      const texts = await Promise.all(answers.map((answer) => answer.text()));
      await service.stop();
      expect(service.log()).toContain("the store is unreachable");
      expect(service.log() + texts.join()).not.toContain(secret);
    });
  });
});

describe("the admin listener with a token", () => {
  const token = "correct-horse-battery";
  const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

  test("starts on 0.0.0.0 and protects everything but the probes", async () => {
    const DATABASE_URL = `sqlite:${join(folder, "admin.sqlite")}`;
    await using service = await serve({ ADMIN_HOST: "0.0.0.0", ADMIN_TOKEN: token, DATABASE_URL });
    const statusOf = async (path: string, authorization?: string) => {
      const response = await fetch(new URL(path, service.adminUrl), {
        headers: authorization ? { authorization } : {},
      });
      return [response.status, response.headers.get("www-authenticate")];
    };
    const challenge = expect.stringMatching(/^Basic realm=/);
    for (const authorization of [
      undefined,
      "Bearer",
      `Bearer ${token}x`,
      `Bearer ${token.slice(0, -1)}`,
      `Digest ${token}`,
      token,
      basic("admin", "wrong"),
      basic(token, ""),
    ]) {
      expect(await statusOf("/", authorization)).toEqual([401, challenge]);
    }
    for (const authorization of [`Bearer ${token}`, `bearer ${token}`, basic("", token), basic("admin", token)]) {
      expect(await statusOf("/", authorization)).toEqual([200, null]);
    }
    expect(await statusOf("/metrics")).toEqual([401, challenge]);
    expect(await statusOf("/livez")).toEqual([200, null]);
    expect(await statusOf("/readyz")).toEqual([200, null]);
    expect((await service.get("/api/v1/histories")).status).toBe(200);
  });
});
