import { afterAll, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import { toJson } from "../../src/base/json.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { toProduct } from "../support/catalog.ts";
import { cleanUp } from "../support/clean-up.ts";
import { dataOf, jsonOf } from "../support/command-output.ts";
import { writeFeed } from "../support/feed.ts";
import {
  begin,
  createStore,
  type Engine,
  type Environment,
  enginesOf,
  pds,
  type RunningService,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { readinessOf } from "../support/service-process.ts";
import { until, untilEqual } from "../support/until.ts";

const folder = await temporaryFolder();
const feed = await writeFeed(folder, "feed");
const [products = ""] = await writeFiles(folder, { "products.ndjson": `${toJson(toProduct(1))}\n` });

const [hour, day] = [3600, 86_400];
/** An instant as the store has it. @param seconds how long ago; less than nothing: how soon */
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

/** The columns of a run that matter to a test; the rest is that of one that has just succeeded. */
type Row = Readonly<Record<string, string | number | null>>;

const feedJob = "personalization-import";
const success = (seconds: number, row: Row = {}): Row => ({
  started_at: ago(seconds),
  finished_at: ago(seconds),
  ...row,
});
const failure = (seconds: number, row: Row = {}): Row =>
  success(seconds, { outcome: "failed", reason: "it was out of luck", ...row });
const underWay = (seconds: number, row: Row = {}): Row =>
  success(seconds, { finished_at: null, outcome: null, lease_until: ago(-hour), ...row });

/** A store with its tables, and how to add runs to it, which is quicker than waiting until they are as old. */
async function openStore(engine: Engine) {
  const url = await createStore(engine);
  const database = await openDatabase(url);
  cleanUp(() => closeDatabase(database));
  const { sql } = database;
  const shared = { job: feedJob, brand: "acme", lease_until: "", counts: 1, outcome: "succeeded" };
  const insert = async (...rows: readonly Row[]) => {
    for (const row of rows) await sql`INSERT INTO run ${sql({ ...shared, ...success(0), ...row })}`;
  };
  return { url, sql, insert };
}

let written = 0;
/** Writes a settings file under a name of its own. @returns its path */
async function writeSettings(...lines: readonly string[]): Promise<string> {
  const [path = ""] = await writeFiles(folder, { [`${++written}.toml`]: lines.join("\n") });
  return path;
}

/** The table of a job that imports a feed for a brand. */
const feedTable = (brand: string, ...options: readonly string[]) =>
  [
    `[[jobs.${feedJob}]]`,
    `source = "${feed}"`,
    "settle_seconds = 0",
    `brand = ${JSON.stringify(brand)}`,
    ...options,
  ].join("\n");

/** The cells of a printed table, below the names of their columns. */
async function tableOf(args: readonly string[], environment: Environment): Promise<Record<string, string>[]> {
  const [head = "", ...lines] = (await dataOf(args, environment)).trimEnd().split("\n");
  const columns = [...head.matchAll(/\S+/g)].map(({ 0: name, index }) => ({ name, index }));
  return lines.map((line) =>
    Object.fromEntries(
      columns.map(({ name, index }, place) => [name, line.slice(index, columns[place + 1]?.index).trim()]),
    ),
  );
}

/** Runs of a job, the oldest first. */
const runsOf = async ({ sql }: { readonly sql: SQL }, job: string): Promise<Record<string, unknown>[]> => [
  ...(await sql`SELECT * FROM run WHERE job = ${job} ORDER BY id`),
];

describe.each([...enginesOf("postgres")])("on %s, pds jobs", async (engine) => {
  const store = await openStore(engine);
  const environment = {
    DATABASE_URL: store.url,
    BRAND: "acme",
    PDS_CONFIG: await writeSettings(
      // Noon in Kolkata is half past six in Greenwich, all year round.
      `[jobs.catalog-import]\nsource = ["${products}"]\nschedule = "0 12 1 1 *"\ntime_zone = "Asia/Kolkata"`,
      feedTable("fresh", 'schedule = "@hourly"'),
      feedTable("late", 'schedule = "@hourly"'),
      feedTable("old", "stale_seconds = 3600"),
      feedTable("busy"),
      feedTable("luckless", 'schedule = "0 0 29 2 *"', "retries = 1", "retry_seconds = 7200"),
      "[jobs.history-retention]",
    ),
  };
  const finished = ago(2 * day);
  const failed = ago(0.5 * hour);
  const retried = new Date(Date.parse(failed) + 7_200_000).toISOString();
  await store.insert(
    success(0.9 * hour, { brand: "fresh", counts: 12 }),
    success(2.1 * hour, { brand: "late", scheduled_at: ago(2.1 * hour) }),
    success(hour + 60, { brand: "old", finished_at: finished }),
    failure(30, { brand: "busy" }),
    underWay(20, { brand: "busy" }),
    failure(hour, { brand: "luckless", finished_at: failed, scheduled_at: ago(hour) }),
    // What another brand does is not its business.
    success(1, { brand: "other" }),
  );
  /**
   * The next time at which a clock in Greenwich shows a time of the first of January, or of the
   * last of December.
   */
  const yearly = (time: string) => {
    const year = new Date().getUTCFullYear();
    return [year, year + 1].map((one) => `${one}-${time}`).find((instant) => Date.parse(instant) > Date.now()) ?? "";
  };

  test("lists each job with its source, next run, and last success", async () => {
    const begunMs = Date.now();
    const source = feed;
    const retention = { job: "history-retention", source: "runs older than 90 days" };
    const never = { outcome: "never run", finished_at: "", success: "never", counts: "0", schedule: "", next: "" };
    const row = { job: feedJob, outcome: "succeeded", counts: "1", source, finished_at: expect.any(String) };
    const rows = await tableOf(["jobs"], environment);
    const next = yearly("01-01T06:30:00Z");
    expect(rows).toEqual([
      { ...never, job: "catalog-import", brand: "acme", schedule: "0 12 1 1 *", next, source: products },
      {
        ...row,
        brand: "fresh",
        schedule: "@hourly",
        next: expect.any(String),
        success: expect.stringMatching(/^5\d minutes ago$/),
        counts: "12",
      },
      // That hour is over, and nobody has run it.
      { ...row, brand: "late", schedule: "@hourly", next: expect.any(String), success: "2 hours ago (stale)" },
      { ...row, brand: "old", schedule: "", next: "", finished_at: finished, success: "2 days ago (stale)" },
      { ...row, brand: "busy", schedule: "", next: "", outcome: "running", success: "never" },
      // The second attempt comes before the next leap year.
      {
        ...row,
        brand: "luckless",
        schedule: "0 0 29 2 *",
        next: retried.replace(/\.\d+/, ""),
        outcome: "failed",
        success: "never (stale)",
      },
      { ...never, ...retention, brand: "acme" },
    ]);
    const nextOf = (brand: string) => Date.parse(rows.find((one) => one.brand === brand)?.next ?? "");
    const hourMs = hour * 1000;
    expect(nextOf("fresh")).toBeWithin(begunMs, Date.now() + hourMs + 1);
    expect(nextOf("late")).toBeWithin(begunMs - hourMs, Date.now() + 1);
  });

  test("prints the same data with --json", async () => {
    const rows = (await jsonOf(["jobs"], environment)) as { brand: string; age: number | null }[];
    const [unrun, fresh, late, old, busy, luckless] = rows;
    expect(unrun).toMatchObject({ schedule: "0 12 1 1 *", next: yearly("01-01T06:30:00.000Z"), is_stale: false });
    expect(unrun).toMatchObject({
      outcome: "never run",
      last_success_at: null,
      age: null,
      running_since: null,
      reason: null,
    });
    expect(fresh).toMatchObject({ outcome: "succeeded", counts: 12, is_stale: false, running_since: null });
    expect(fresh?.age).toBeWithin(0.9 * hour, hour);
    expect(late).toMatchObject({ schedule: "@hourly", is_stale: true });
    expect(old).toMatchObject({
      schedule: null,
      next: null,
      last_success_at: finished,
      finished_at: finished,
      is_stale: true,
    });
    // Without a schedule and a limit nobody expects a success.
    const [, run] = await store.sql`SELECT started_at FROM run WHERE brand = 'busy' ORDER BY id`;
    expect(busy).toMatchObject({ running_since: run.started_at, outcome: "failed", is_stale: false });
    expect(luckless).toMatchObject({ next: retried, reason: "it was out of luck", age: null, is_stale: true });
  });
});

test("a job for several brands runs for the given brand", async () => {
  const store = await openStore("sqlite");
  const environment = {
    DATABASE_URL: store.url,
    PDS_CONFIG: await writeSettings(feedTable("First"), feedTable("Second & last")),
  };
  for (const args of [[], ["--brand", "first"]]) {
    const { code, stdout, stderr } = await pds(["run", feedJob, ...args], environment);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^pds: run: .*"First".*"Second & last"; choose one with --brand\n$/);
  }
  expect(await runsOf(store, feedJob)).toEqual([]);

  const { code, stdout } = await pds(["run", feedJob, "--brand", "Second & last", "--json"], environment);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ job: feedJob, brand: "Second & last", outcome: "succeeded", counts: 12 });
  expect(await runsOf(store, feedJob)).toMatchObject([{ brand: "Second & last", outcome: "succeeded", counts: 12 }]);
  expect(await jsonOf(["jobs"], environment)).toMatchObject([
    { brand: "First", outcome: "never run" },
    { brand: "Second & last", outcome: "succeeded", counts: 12 },
  ]);
});

describe.each([...enginesOf("postgres")])("on %s, pds run", async (engine) => {
  const store = await openStore(engine);
  const brands = ["ended", "elsewhere", "alive", "silent", "gone", "ahead", "moved"];
  const PDS_CONFIG = await writeSettings(
    `[jobs.catalog-import]\nsource = ["${products}"]\nbrand = "elsewhere"`,
    ...brands.map((brand) => feedTable(brand)),
  );
  const environment = { DATABASE_URL: store.url, PDS_CONFIG };
  const runOf = async (brand: string) => (await runsOf(store, feedJob)).filter((run) => run.brand === brand);

  test("--claimed rejects anything but a current run of the job and brand", async () => {
    await store.insert(
      success(60, { brand: "ended" }),
      underWay(60, { brand: "elsewhere", job: "catalog-import" }),
      underWay(60, { brand: "elsewhere" }),
    );
    const before = [...(await store.sql`SELECT * FROM run ORDER BY id`)];
    const [ended, otherJob, otherBrand] = before;
    const refusals = [
      ["ended", ended.id],
      ["elsewhere", otherJob.id],
      ["gone", otherBrand.id],
      ["gone", 999],
      ["gone", Number.MAX_SAFE_INTEGER],
      ["gone", "x"],
    ].map(async ([brand, id]) => {
      const { code, stdout, stderr } = await pds(["run", feedJob, "--brand", brand, `--claimed=${id}`], environment);
      const message = `pds: run: ${id} is not a current run of ${feedJob} for ${brand}\n`;
      expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: message });
    });
    await Promise.all(refusals);
    expect([...(await store.sql`SELECT * FROM run ORDER BY id`)]).toEqual(before);
  });

  /**
   * Runs the job manually while another run is in progress.
   * @returns once it waits for a heartbeat
   */
  async function runWaiting(brand: string) {
    const child = begin(["run", feedJob, "--brand", brand], environment);
    let stderr = "";
    const heard = (async () => {
      for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) stderr += chunk;
    })();
    await until("it waits", () => stderr.includes("for its heartbeat"));
    return async () => {
      await heard;
      return { code: await child.exited, stderr };
    };
  }

  test("waits for the heartbeat of the current run and does not disturb it", async () => {
    await store.insert(underWay(60, { brand: "alive" }));
    const ended = await runWaiting("alive");
    const [run] = await runOf("alive");
    const lease_until = ago(-2 * hour);
    await store.sql`UPDATE run SET lease_until = ${lease_until} WHERE brand = 'alive'`;
    const { code, stderr } = await ended();
    expect(code).toBe(1);
    expect(stderr).toContain(`pds: ${feedJob} is already running for alive since ${run?.started_at}; try again when`);
    expect(await runOf("alive")).toEqual([{ ...run, lease_until }] as Record<string, unknown>[]);
  });

  test("runs after the lease of the other run expires, which is then abandoned", async () => {
    await store.insert(underWay(60, { brand: "silent" }));
    const ended = await runWaiting("silent");
    const [run] = await runOf("silent");
    // What otherwise time does.
    await store.sql`UPDATE run SET lease_until = ${ago(0.001)} WHERE brand = 'silent'`;
    expect(await ended()).toMatchObject({ code: 0 });
    expect(await runOf("silent")).toMatchObject([
      { id: run?.id, outcome: "abandoned", counts: 1, reason: expect.stringContaining("no heartbeat") },
      { outcome: "succeeded", counts: 12, reason: null },
    ]);
  });

  test("waits no longer than a lease after the clock was set back", async () => {
    await store.insert(underWay(60, { brand: "ahead", lease_until: ago(-5 * hour), lease_seconds: 2 }));
    expect(await (await runWaiting("ahead"))()).toMatchObject({ code: 0 });
    expect(await runOf("ahead")).toMatchObject([
      { outcome: "abandoned", reason: expect.stringContaining("no heartbeat") },
      { outcome: "succeeded", lease_seconds: 30 },
    ]);
  });

  test("does not disturb a run that renews its lease after the clock was set back", async () => {
    await store.insert(underWay(60, { brand: "moved", lease_until: ago(-5 * hour), lease_seconds: hour }));
    const ended = await runWaiting("moved");
    const [run] = await runOf("moved");
    const shortened = run?.lease_until as string;
    expect([shortened > ago(0), shortened <= ago(-hour)]).toEqual([true, true]);
    await store.sql`UPDATE run SET lease_until = ${ago(-hour)} WHERE brand = 'moved'`;
    expect(await ended()).toMatchObject({ code: 1, stderr: expect.stringContaining("is already running for moved") });
    expect(await runOf("moved")).toMatchObject([{ id: run?.id, outcome: null }]);
  });

  test("does not wait for a run whose lease has expired", async () => {
    await store.insert(underWay(60, { brand: "gone", lease_until: ago(1) }));
    expect(await pds(["run", feedJob, "--brand", "gone"], environment)).toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining("waiting"),
    });
    expect(await runOf("gone")).toMatchObject([{ outcome: "abandoned" }, { outcome: "succeeded" }]);
  });
});

describe.each([...enginesOf("postgres")])("on %s, pds history", async (engine) => {
  const store = await openStore(engine);
  const environment = { DATABASE_URL: store.url };
  /** A run of so many seconds that ended one minute after the one before it. */
  const run = (minute: number, seconds: number, row: Row): Row => {
    const end = Date.parse("2026-01-01T00:00:00.500Z") + minute * 60_000;
    const started_at = new Date(end - seconds * 1000).toISOString();
    return { started_at, finished_at: new Date(end).toISOString(), ...row };
  };
  const scheduled_at = "2026-01-01T00:00:00.000Z";
  const lost = "its process sent no heartbeat until its lease expired";
  const [reason, log] = ["two\n  lines", "first\nlast\n"];
  const failed = { outcome: "failed", reason, log, counts: 7, attempt: 2, scheduled_at };
  await store.insert(
    run(1, 0.25, { job: "catalog-sync", counts: 0 }),
    run(2, 180, { brand: "A & b", counts: 12, scheduled_at }),
    run(3, 3 * hour, failed),
    run(4, 3 * day, { outcome: "abandoned", reason: lost, counts: 0 }),
    underWay(60, { brand: "busy" }),
  );

  test("lists each run with its outcome, duration, and reason", async () => {
    const row = { job: feedJob, brand: "acme", outcome: "succeeded", reason: "" };
    const numbered = [
      { ...row, job: "catalog-sync", duration: "0.3 s", counts: "0" },
      { ...row, brand: "A & b", duration: "3 minutes", counts: "12" },
      { ...row, outcome: "failed", duration: "3 hours", counts: "7", reason: "two lines" },
      { ...row, outcome: "abandoned", duration: "3 days", counts: "0", reason: lost },
    ].map((each, index) => ({ run: `${index + 1}`, finished_at: `2026-01-01T00:0${index + 1}:00.500Z`, ...each }));
    expect(await tableOf(["history", "asc"], environment)).toEqual(numbered);
    expect(await tableOf(["history"], environment)).toEqual(numbered.toReversed());
  });

  test("prints all details with --json", async () => {
    const succeeded = { outcome: "succeeded", attempt: 1, reason: null, log: null, scheduled_at: null };
    const row = { job: feedJob, brand: "acme", ...succeeded };
    const numbered = [
      { ...row, job: "catalog-sync", seconds: 0.25, counts: 0 },
      { ...row, brand: "A & b", seconds: 180, counts: 12, scheduled_at },
      { ...row, ...failed, seconds: 3 * hour },
      { ...row, outcome: "abandoned", seconds: 3 * day, counts: 0, reason: lost },
    ].map((each, index) => ({ run: index + 1, finished_at: `2026-01-01T00:0${index + 1}:00.500Z`, ...each }));
    expect(await jsonOf(["history", "asc"], environment)).toEqual({ histories: numbered });
    expect(await jsonOf(["history"], environment)).toEqual({ histories: numbered.toReversed() });
  });
});

/** The samples of a text of Prometheus, by name and labels. */
function samplesOf(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

describe.each([...enginesOf("postgres")])("on %s, /metrics", async (engine) => {
  const store = await openStore(engine);
  const odd = 'A "b" \\ c\\n é{}=,';
  const PDS_CONFIG = await writeSettings(
    `[jobs.catalog-import]\nsource = ["${products}"]\nbrand = "unrun"\nschedule = "0 12 1 1 *"\ntime_zone = "Asia/Kolkata"`,
    feedTable(odd, 'schedule = "@hourly"'),
    feedTable("busy"),
  );
  const environment = { DATABASE_URL: store.url, PDS_CONFIG, SCHEDULER: "off" };
  const [succeeded, failed] = [ago(3 * hour), ago(2 * hour)];
  const started_at = new Date(Date.parse(failed) - 90_500).toISOString();
  await store.insert(
    success(4 * hour, { brand: odd, finished_at: succeeded, counts: 12 }),
    failure(2 * hour, { brand: odd, started_at, finished_at: failed, counts: 7, scheduled_at: failed }),
    success(60, { brand: "busy", counts: 0 }),
    underWay(30, { brand: "busy" }),
  );
  const currentHour = () => Math.floor(Date.now() / 1000 / hour) * hour;
  const typeOf = (name: string, isHistogram: boolean) =>
    isHistogram ? "histogram" : name.endsWith("_total") ? "counter" : "gauge";
  const read = async (service: RunningService, headers = {}) => {
    let text = "";
    await until("the store responds in time", async () => {
      const response = await fetch(`${service.adminUrl}/metrics`, { headers });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
      text = await response.text();
      return samplesOf(text).get("pds_store_metrics_missing") === 0;
    });
    const types = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = "", type = ""]) => [name, type]));
    for (const sample of new Set([...samplesOf(text).keys()].map((key) => key.replace(/\{.*/s, "")))) {
      const [, histogram = ""] = sample.match(/^(.+)_(?:bucket|sum|count)$/) ?? [];
      const name = types.get(histogram) === "histogram" ? histogram : sample;
      expect(text).toMatch(new RegExp(`^# HELP ${name} .+\\.$`, "m"));
      expect(types.get(name)).toBe(typeOf(name, name === histogram));
    }
    return samplesOf(text);
  };
  /** A job's gauges without their labels. */
  const gaugesOf = (samples: Map<string, number>, labels: string) =>
    Object.fromEntries(
      [...samples].flatMap(([key, value]) => {
        const [, name, of, outcome] = key.match(/^pds_job_(\w+)\{(.*?)(?:,outcome="(\w+)")?\}$/) ?? [];
        return of === labels ? [[outcome === undefined ? name : `${name} ${outcome}`, value]] : [];
      }),
    );

  test("has each gauge for each job and brand, and omits unknown values", async () => {
    await using service = await serve(environment);
    const hours = [currentHour()];
    const samples = await read(service);
    hours.push(currentHour());
    const oddly = gaugesOf(samples, `job="${feedJob}",brand="A \\"b\\" \\\\ c\\\\n é{}=,"`);
    const none = {
      ...{ stale: 0, slow: 0, from_future: 0, running: 0, paused: 0 },
      ...{ "last_run_outcome succeeded": 0, "last_run_outcome failed": 0 },
      ...{ "last_run_outcome abandoned": 0, "last_run_outcome cancelled": 0 },
    };
    expect(oddly).toEqual({
      ...{ ...none, stale: 1, "last_run_outcome failed": 1 },
      last_success_timestamp_seconds: Date.parse(succeeded) / 1000,
      last_success_age_seconds: expect.any(Number),
      next_run_timestamp_seconds: expect.any(Number),
      last_run_timestamp_seconds: Date.parse(failed) / 1000,
      ...{ last_run_duration_seconds: 90.5, last_run_records: 7 },
    });
    const sinceSuccessS = (Date.now() - Date.parse(succeeded)) / 1000;
    expect(oddly.last_success_age_seconds).toBeWithin(3 * hour, sinceSuccessS + 1);
    expect(hours).toContain(oddly.next_run_timestamp_seconds ?? 0);
    const busy = gaugesOf(samples, `job="${feedJob}",brand="busy"`);
    expect(busy).toMatchObject({ stale: 0, running: 1, "last_run_outcome succeeded": 1, last_run_records: 0 });
    expect(busy).not.toHaveProperty("next_run_timestamp_seconds");
    const unrun = gaugesOf(samples, 'job="catalog-import",brand="unrun"');
    expect(unrun).toEqual({ ...none, next_run_timestamp_seconds: expect.any(Number) });
    expect(new Date((unrun.next_run_timestamp_seconds ?? 0) * 1000).toISOString()).toEndWith("-01-01T06:30:00.000Z");
    const ofJobs = [...samples.keys()].filter((key) => key.startsWith("pds_job_"));
    expect(ofJobs.length).toBe([oddly, busy, unrun].flatMap(Object.keys).length);

    // Read at each request: what another replica has done is there at once.
    await store.insert(success(0, { brand: odd, counts: 13 }));
    expect(gaugesOf(await read(service), `job="${feedJob}",brand="A \\"b\\" \\\\ c\\\\n é{}=,"`)).toMatchObject({
      ...{ stale: 0, slow: 0, "last_run_outcome succeeded": 1, "last_run_outcome failed": 0, last_run_records: 13 },
    });
    expect((await service.get("/metrics")).status).toBe(404);
  });

  test("requires the admin token if one is configured", async () => {
    const ADMIN_TOKEN = "correct-horse-battery";
    await using service = await serve({ ...environment, ADMIN_TOKEN });
    for (const headers of [{}, { authorization: `Bearer ${ADMIN_TOKEN}x` }] as Record<string, string>[]) {
      const response = await fetch(`${service.adminUrl}/metrics`, { headers });
      expect(response.status).toBe(401);
      expect(await response.text()).not.toContain("pds_job");
    }
    expect((await read(service, { authorization: `Bearer ${ADMIN_TOKEN}` })).size).toBeGreaterThan(20);
  });
});

describe.each([...enginesOf("postgres")])("on %s, /readyz", async (engine) => {
  const store = await openStore(engine);
  const PDS_CONFIG = await writeSettings(
    `[jobs.catalog-import]\nsource = ["${products}"]\nbrand = "unrun"\nschedule = "@hourly"`,
    feedTable("by schedule", 'schedule = "@hourly"'),
    feedTable("by limit", 'schedule = "@hourly"', "stale_seconds = 14400"),
    feedTable("by hand"),
  );
  const environment = { DATABASE_URL: store.url, PDS_CONFIG, SCHEDULER: "off" };
  const services = await Promise.all(["warn", "fail"].map((STALE_DATA) => serve({ ...environment, STALE_DATA })));
  afterAll(() => Promise.all(services.map((service) => service.stop())));

  const ok = { service: "ok", database: "ok", writes: "ok", data: "ok", jobs: "ok", clock: "ok", scheduler: "ok" };
  /** Each service on both listeners. */
  const bases = services.flatMap(({ url, adminUrl }) => [url, adminUrl]);

  /**
   * Waits until both services respond so on both listeners, because a busy machine may not read the
   * store in time.
   * @param failing the status of the one with STALE_DATA=fail
   */
  async function untilReadiness(status: string, failing: string, checks: Partial<typeof ok>): Promise<void> {
    const complaint = new RegExp(`^${checks.jobs ?? "ok"}$`);
    const read = async (base: string) => {
      const readiness = await readinessOf(base);
      // A complaint has the seconds since the last success.
      const jobs = readiness.checks.jobs?.replace(complaint, checks.jobs ?? "ok");
      return { ...readiness, checks: { ...readiness.checks, jobs } };
    };
    const expected = [status, status, failing, failing].map((each) => {
      return { code: each === "not ready" ? 503 : 200, status: each, checks: { ...ok, ...checks } };
    });
    await untilEqual(() => Promise.all(bases.map(read)), expected);
  }

  /** Waits for what both say of a history. @param complaint undefined when all is fresh */
  async function expectReadiness(complaint: string | undefined, ...rows: readonly Row[]): Promise<void> {
    await store.sql`DELETE FROM run`;
    await store.insert(...rows);
    if (complaint === undefined) await untilReadiness("ready", "ready", {});
    else await untilReadiness("degraded", "not ready", { jobs: complaint });
  }
  const by = (kind: string) => ({ brand: `by ${kind}` });
  /** @param seconds a pattern */
  const staleBySchedule = (seconds: string) => `${feedJob} for by schedule last succeeded ${seconds} s ago`;

  test("is ready before the first runs, and while no job is stale", async () => {
    await expectReadiness(undefined);
    await expectReadiness(undefined, success(0.9 * hour, by("schedule")), success(3.9 * hour, by("limit")));
    // These jobs have no maximum age, and the other brand is not configured.
    const byHand = [success(day, by("hand")), failure(60, by("hand"))];
    await expectReadiness(undefined, ...byHand, failure(60, { brand: "other" }));
  });

  test("is degraded, or not ready with STALE_DATA=fail, if a job was due twice since its last success", async () => {
    const old = success(3 * hour - 600, by("schedule"));
    await expectReadiness(staleBySchedule("10\\d{3}"), old);
    await expectReadiness(staleBySchedule("10\\d{3}"), old, failure(60, by("schedule")));
    await store.insert(success(0, by("schedule")));
    await untilReadiness("ready", "ready", {});
  });

  test("waits for a current run that started in time, and for no other", async () => {
    const old = success(10 * hour, by("schedule"));
    await expectReadiness(undefined, old, underWay(9.5 * hour, by("schedule")));
    await expectReadiness(staleBySchedule("36\\d{3}"), old, underWay(7 * hour, by("schedule")));
  });

  test("counts from when the job was resumed, if that is later", async () => {
    const complaint = staleBySchedule("36\\d{3}");
    const old = success(10 * hour, by("schedule"));
    const resume = async (seconds: number) => {
      const pause = { job: feedJob, ...by("schedule"), paused_at: ago(9 * hour), paused_by: "ann" };
      await store.sql`INSERT INTO job_pause ${store.sql({ ...pause, resumed_at: ago(seconds) })}`;
    };
    await resume(3 * hour);
    await expectReadiness(complaint, old);
    await store.sql`DELETE FROM job_pause`;
    await resume(0.5 * hour);
    await expectReadiness(undefined, old);
    await store.sql`DELETE FROM job_pause`;
    await expectReadiness(complaint, old);
  });

  test("uses the configured maximum age instead, and names every stale job", async () => {
    const limit = `${feedJob} for by limit last succeeded 14\\d{3} s ago`;
    const old = success(4 * hour + 5, by("limit"));
    await expectReadiness(limit, old);
    // Neither a current run nor a failed one changes this.
    await expectReadiness(limit, old, failure(60, by("limit")), underWay(3 * hour, by("limit")));
    const never = `${feedJob} for by schedule has never succeeded`;
    await expectReadiness(`${never}; ${limit}`, old, failure(60, by("schedule")));
  });

  /** Waits until the metrics from the store are all there, or those of jobs are missing. */
  const untilMetrics = (areMissing: boolean) => {
    const read = async ({ adminUrl }: RunningService) => {
      const response = await fetch(`${adminUrl}/metrics`);
      const samples = samplesOf(await response.text());
      const hasJobs = [...samples.keys()].some((key) => key.startsWith("pds_job_"));
      return { status: response.status, hasJobs, missing: samples.get("pds_store_metrics_missing") };
    };
    const expected = services.map(() => ({ status: 200, hasJobs: !areMissing, missing: Number(areMissing) }));
    return untilEqual(() => Promise.all(services.map(read)), expected);
  };

  /** Waits for what all say before, while, and after the runs cannot be read. */
  async function expectUnreadable(problem: string, breakDuring: (wait: () => Promise<void>) => Promise<void>) {
    await expectReadiness(staleBySchedule("10\\d{3}"), success(3 * hour - 600, by("schedule")));
    await untilMetrics(false);
    await breakDuring(async () => {
      await untilReadiness("degraded", "degraded", { jobs: problem, clock: problem });
      await untilMetrics(true);
    });
    await untilReadiness("degraded", "not ready", { jobs: staleBySchedule("10\\d{3}") });
    await untilMetrics(false);
  }

  test("is degraded, and never not ready, while the state of jobs cannot be read, and metrics say that they are missing", () =>
    expectUnreadable("the store could not be read", async (wait) => {
      await store.sql`ALTER TABLE run RENAME TO run_elsewhere`;
      await wait().finally(() => store.sql`ALTER TABLE run_elsewhere RENAME TO run`);
    }));

  test.if(engine === "postgres")("is degraded, and never not ready, while the store does not respond in time", () =>
    expectUnreadable("the store did not respond in time", (wait) =>
      store.sql.begin(async (transaction) => {
        await transaction`LOCK TABLE run IN ACCESS EXCLUSIVE MODE`;
        await wait();
      }),
    ),
  );
});

describe.each([...enginesOf("postgres")])("on %s, SCHEDULER=off", async (engine) => {
  const store = await openStore(engine);
  const environment = {
    DATABASE_URL: store.url,
    PDS_CONFIG: await writeSettings(
      `[jobs.catalog-import]\nsource = ["${products}"]\nbrand = "unrun"\nschedule = "* * * * * *"`,
      feedTable("unrun"),
      feedTable("due", 'schedule = "* * * * * *"'),
    ),
  };
  await store.insert(success(hour, { brand: "due", scheduled_at: ago(hour) }));
  const service = await serve({ ...environment, SCHEDULER: "off" });
  const startedAt = performance.now();
  afterAll(() => service.stop());

  test("starts neither new nor due jobs", async () => {
    await until("two times of the schedule have passed", () => performance.now() - startedAt > 2000);
    expect(await service.get("/readyz").then((response) => response.json())).toMatchObject({ checks: { data: "ok" } });
    expect((await service.get("/api/v1/products/1")).status).toBe(404);
    await service.stop();
    expect(await runsOf(store, "catalog-import")).toEqual([]);
    expect(await runsOf(store, feedJob)).toMatchObject([{ brand: "due", outcome: "succeeded" }]);
    expect(service.log()).not.toContain("run started");
    // By an outside scheduler they are run all the same.
    expect((await pds(["run", "catalog-import"], { ...environment, SCHEDULER: "off" })).code).toBe(0);
  });
});

describe.each([...enginesOf("postgres")])("on %s, history-retention", async (engine) => {
  const store = await openStore(engine);
  const PDS_CONFIG = await writeSettings("[jobs.history-retention]\nkeep_days = 30");
  const environment = { DATABASE_URL: store.url, PDS_CONFIG, BRAND: "acme" };

  test("removes and counts old runs, except the latest runs of each job", async () => {
    const old = 30 * day + 60;
    const kept: Row[] = [
      // Of a job that is not run any more; of a brand whose every run failed; of one that has one
      // run alone.
      success(old + 9, { job: "catalog-sync", counts: 1, scheduled_at: ago(old + 9) }),
      success(old + 8, { job: "catalog-sync", counts: 2 }),
      failure(old + 7, { job: "catalog-sync", counts: 3 }),
      failure(old + 6, { brand: "luckless", counts: 4 }),
      success(400 * day, { brand: "lone", counts: 5 }),
      // Its last run that has ended is the newest one with a result.
      failure(old + 6, { brand: "busy", counts: 9 }),
      underWay(old + 5, { brand: "busy", counts: 6 }),
      // Young enough, and nothing else: a newer one follows.
      failure(30 * day - 60, { counts: 7 }),
      failure(60, { counts: 8 }),
    ];
    await store.sql.unsafe(`
      INSERT INTO run (job, brand, scheduled_at, started_at, finished_at, outcome)
      WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 5000)
      SELECT CASE n % 2 WHEN 0 THEN 'catalog-sync' ELSE '${feedJob}' END, CASE n % 3 WHEN 0 THEN 'luckless' ELSE 'acme' END,
        CASE n % 5 WHEN 0 THEN '2020-01-01T00:00:00.' || n END, '${ago(old + 10)}', '${ago(old + 10)}',
        CASE WHEN n % 3 = 0 OR n % 7 = 0 THEN 'failed' ELSE 'succeeded' END
      FROM number`);
    // The newest of the others: these tell how the feed's import does for both brands, and the
    // synchronization for one.
    await store.insert(...kept);
    const rows = await store.sql<{ id: number; job: string; brand: string; scheduled_at: string; outcome: string }[]>`
      SELECT id, job, brand, scheduled_at, outcome FROM run WHERE finished_at IS NOT NULL ORDER BY id DESC`;
    const expected = new Set<number>();
    const seen = new Set<string>();
    for (const { id, job, brand, scheduled_at, outcome } of rows) {
      for (const what of ["run", scheduled_at === null ? "" : "scheduled", outcome === "succeeded" ? "success" : ""]) {
        if (what === "" || seen.has(`${what} of ${job} for ${brand}`)) continue;
        seen.add(`${what} of ${job} for ${brand}`);
        expected.add(id);
      }
    }
    // And what is not that old, or has not ended.
    for (const { id } of await store.sql`SELECT id FROM run WHERE counts IN (6, 7, 8)`) expected.add(id);
    const removed = 5000 + kept.length - expected.size;
    expect(removed).toBeWithin(4990, 5000);

    expect(await dataOf(["run", "history-retention"], environment)).toBe(
      `history-retention: ${removed.toLocaleString("en-US")} runs removed\n`,
    );
    const left = await store.sql<{ id: number }[]>`SELECT id FROM run WHERE job <> 'history-retention' ORDER BY id`;
    expect(left.map(({ id }) => id)).toEqual([...expected].toSorted((a, b) => a - b));
    const counts = await store.sql<
      { counts: number }[]
    >`SELECT counts FROM run WHERE counts BETWEEN 1 AND 9 ORDER BY counts`;
    expect(counts.map((row) => row.counts)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await runsOf(store, "history-retention")).toMatchObject([{ outcome: "succeeded", counts: removed }]);
    expect(await dataOf(["run", "history-retention"], environment)).toBe("history-retention: 0 runs removed\n");
  });
});
