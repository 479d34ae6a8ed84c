import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { jsonOf } from "../support/command-output.ts";
import {
  connectTo,
  createMigratedStore,
  type Engine,
  type Environment,
  enginesOf,
  pds,
  root,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { environmentOf, getAnswers, readAnswers, startPlatform } from "../support/platform.ts";
import { until, untilEqual } from "../support/until.ts";

// A shop that is connected as docs/how-to/connect-shopify.md says stays up to date.
const guide = readFileSync(join(root, "docs", "how-to", "connect-shopify.md"), "utf8");
const [, snippet = ""] = guide.match(/```toml\n(.*?)```/s) ?? [];
const folder = await temporaryFolder();
const [connected = "", off = "", cron = ""] = await writeFiles(folder, {
  "connected.toml": snippet,
  "off.toml": `
    [jobs.catalog-reconcile]
    schedule = "off"
    [jobs.catalog-sync]
    schedule = "off"
    [jobs.history-retention]
    schedule = "* * * * * *"`,
  "cron.toml": `
    [jobs.catalog-reconcile]
    schedule = "30 2 * * *"
    time_zone = "America/New_York"
    [jobs.catalog-sync]
    schedule = "17 3 * * *"
    stale_seconds = 60`,
});
const shop: Environment = { SHOP_DOMAIN: "shop.example", SHOPIFY_ACCESS_TOKEN: "shpat_none" };
const jsonOfShop = (args: string[], environment: Environment) => jsonOf(args, { ...shop, ...environment });

describe("pds config", () => {
  const schedulesIn = async (PDS_CONFIG: string) => {
    const { stdout } = await pds(["config"], { ...shop, PDS_CONFIG });
    return [...stdout.matchAll(/^jobs\.(\S+)\.schedule +(\S.*?) +(default|file)$/gm)].map((found) => found.slice(1));
  };

  test("prints the schedules in force and where each comes from", async () => {
    expect(await schedulesIn(connected)).toEqual([
      ["catalog-reconcile", "17,47 * * * * UTC", "default"],
      ["catalog-sync", "*/5 * * * * UTC", "default"],
    ]);
    expect(await schedulesIn(cron)).toEqual([
      ["catalog-reconcile", "30 2 * * * America/New_York", "file"],
      ["catalog-sync", "17 3 * * * UTC", "file"],
    ]);
    expect(await schedulesIn(off)).toEqual([
      ["catalog-reconcile", "off", "file"],
      ["catalog-sync", "off", "file"],
      ["history-retention", "* * * * * * UTC", "file"],
    ]);
    expect(await schedulesIn("/dev/null")).toEqual([]);
  });

  test("prints them as JSON with the other options", async () => {
    expect((await jsonOfShop(["config"], { PDS_CONFIG: connected })).jobs).toMatchObject({
      "catalog-reconcile": { schedule: "17,47 * * * *", time_zone: "UTC" },
      "catalog-sync": { schedule: "*/5 * * * *", time_zone: "UTC" },
    });
  });
});

interface Readiness {
  readonly status: string;
  readonly checks: { readonly jobs: string };
}

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

async function createWorld(engine: Engine) {
  const platform = startPlatform({ products: 20 });
  const store = { DATABASE_URL: await createMigratedStore(engine), BRAND: "acme" };
  const environment = { ...store, ...environmentOf(platform) };
  const sql = await connectTo(store.DATABASE_URL);
  afterAll(() => sql.close());
  const succeed = (job: string, seconds: number, scheduled: boolean) => sql`
    INSERT INTO run (job, brand, scheduled_at, started_at, finished_at, lease_until, outcome)
    VALUES (${job}, 'acme', ${scheduled ? ago(seconds) : null}, ${ago(seconds)}, ${ago(seconds)}, '', 'succeeded')`;
  /** A replica has followed the schedule of a job since then, so that later times are missed. */
  const follow = (job: string, schedule: string, seconds: number) => sql`
    INSERT INTO job_schedule (job, brand, schedule, since) VALUES (${job}, 'acme', ${schedule}, ${ago(seconds)})`;
  /** How often the schedule of a job has run it since. */
  const scheduledRuns = async (job: string) => {
    const [row] = await sql<{ runs: number }[]>`
      SELECT CAST(count(*) AS INTEGER) AS runs FROM run
      WHERE job = ${job} AND outcome = 'succeeded' AND scheduled_at > ${begunAt}`;
    return row?.runs ?? 0;
  };
  // The newest time of the five-minute schedule may lie as long before.
  const begunAt = ago(600);
  return { platform, environment, succeed, follow, scheduledRuns };
}

describe.each([...enginesOf("sqlite")])("on %s, a shop connected as the guide says", async (engine) => {
  test("is synced repeatedly without a schedule in the file", async () => {
    const { platform, environment, succeed, follow, scheduledRuns } = await createWorld(engine);
    await succeed("catalog-reconcile", 60, false);
    await succeed("catalog-sync", 1200, true);
    await follow("catalog-sync", "*/5 * * * * UTC", 1200);
    await using service = await serve({ ...environment, PDS_CONFIG: connected });
    await until("the schedule has run it", async () => (await scheduledRuns("catalog-sync")) > 0);
    const ids = platform.catalog.ids(0, 20);
    await untilEqual(() => getAnswers(service, ids), await readAnswers(platform, ids));
  });

  test("has jobs with a next run, and data that is stale after two missed runs", async () => {
    const { environment, succeed } = await createWorld(engine);
    await succeed("catalog-reconcile", 49 * 3600, false);
    await succeed("catalog-sync", 900, false);
    const begunMs = Date.now();
    const listed = await jsonOfShop(["jobs"], { ...environment, PDS_CONFIG: connected });
    expect(listed).toMatchObject([
      { job: "catalog-reconcile", schedule: "17,47 * * * *", is_stale: true },
      { job: "catalog-sync", schedule: "*/5 * * * *", is_stale: true },
    ]);
    expect(listed[0].next).toMatch(/T\d\d:[14]7:00\.000Z$/);
    expect(Date.parse(listed[1].next)).toBeWithin(begunMs, Date.now() + 300_001);
    await using service = await serve({ ...environment, PDS_CONFIG: connected, SCHEDULER: "off" });
    const readiness = async () => {
      const response = await service.get("/readyz");
      const { status, checks } = (await response.json()) as Readiness;
      return { code: response.status, status, jobs: checks.jobs.replaceAll(/ \d+ s ago/g, "") };
    };
    const jobs = "catalog-reconcile for acme last succeeded; catalog-sync for acme last succeeded";
    await untilEqual(readiness, { code: 200, status: "degraded", jobs });
  });

  test("has no schedule when it is off, and no age limit for its data", async () => {
    const { environment, succeed, scheduledRuns } = await createWorld(engine);
    await succeed("catalog-reconcile", 30 * 86_400, true);
    await succeed("catalog-sync", 30 * 86_400, true);
    await using service = await serve({ ...environment, PDS_CONFIG: off });
    await until("other schedules have run twice", async () => (await scheduledRuns("history-retention")) > 1);
    expect(await scheduledRuns("catalog-sync")).toBe(0);
    expect(await scheduledRuns("catalog-reconcile")).toBe(0);
    expect(await jsonOfShop(["jobs"], { ...environment, PDS_CONFIG: off })).toMatchObject([
      { job: "catalog-reconcile", schedule: null, next: null, is_stale: false },
      { job: "catalog-sync", schedule: null, next: null, is_stale: false },
      { job: "history-retention" },
    ]);
    let stale = "";
    await until("the state of jobs is known", async () => {
      const { checks } = (await (await service.get("/readyz")).json()) as Readiness;
      stale = checks.jobs;
      return !stale.startsWith("the store");
    });
    // On a busy machine, the job that runs every second may be late.
    expect(stale).not.toContain("catalog");
  });
});

test("a schedule that is neither an expression nor off stops the start", async () => {
  const [PDS_CONFIG = ""] = await writeFiles(folder, { "no.toml": '[jobs.catalog-sync]\nschedule = "never"' });
  const { code, stderr } = await pds(["config"], { ...shop, PDS_CONFIG });
  expect(code).toBe(2);
  expect(stderr).toContain("jobs.catalog-sync.schedule: ");
});
