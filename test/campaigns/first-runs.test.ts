import { describe, expect, test } from "bun:test";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { cleanUp } from "../support/clean-up.ts";
import { writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  connectTo,
  createStore,
  engines,
  type RunningService,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { countPlatformRequests, environmentOf, startPlatform } from "../support/platform.ts";
import { readinessOf } from "../support/service-process.ts";
import { startSilence } from "../support/silence.ts";
import { until } from "../support/until.ts";

// A job that has never succeeded runs when the service starts. Tests that mostly wait run concurrently.
const folder = await temporaryFolder();

const silence = startSilence();

const [products = ""] = await writeFiles(folder, { "products.ndjson": `${toJson(toProduct(1))}\n` });
const small = await writeFeed(folder, "small");

const feedTable = (brand: string, source: string) =>
  `[[jobs.personalization-import]]\nbrand = "${brand}"\nsource = "${source}"\nsettle_seconds = 0\n`;

const everySecond = 'schedule = "* * * * * *"';
const [established = "", hanging = "", onlyHanging = "", failing = "", platformJobs = "", syncing = ""] =
  await writeFiles(folder, {
    "established.toml": `[jobs.catalog-import]\nsource = ["${products}"]\n${everySecond}\n`,
    "hanging.toml": [
      `[jobs.catalog-import]\nsource = ["${products}"]\n${everySecond}\n`,
      feedTable("hangs", silence.url.href),
      feedTable("follows", small),
      `[jobs.history-retention]\n${everySecond}\n`,
    ].join("\n"),
    "onlyHanging.toml": feedTable("hangs", silence.url.href),
    "failing.toml": '[jobs.catalog-import]\nsource = ["/nowhere.ndjson"]\nretries = 2\nretry_seconds = 1\n',
    "platform.toml": '[jobs.catalog-reconcile]\nschedule = "off"\n[jobs.catalog-sync]\nschedule = "off"\n',
    "syncing.toml": `[jobs.catalog-reconcile]\nschedule = "off"\n[jobs.catalog-sync]\n${everySecond}\n`,
  });

interface Run {
  readonly job: string;
  readonly brand: string;
  readonly scheduled: string | null;
  readonly outcome: string | null;
  readonly attempt: number;
}

const isRunning = ({ outcome }: Run) => outcome === null;

function openRuns(url: string) {
  const connection = connectTo(url);
  cleanUp(async () => (await connection).close());
  return async (): Promise<Run[]> => {
    const sql = await connection;
    return [...(await sql<Run[]>`SELECT job, brand, scheduled_at AS scheduled, outcome, attempt FROM run ORDER BY id`)];
  };
}

describe.each([...engines])("on %s, first runs", (engine) => {
  test.concurrent("that hang delay no other job, schedule, or request, and take no replica with data out of rotation", async () => {
    const store = { DATABASE_URL: await createStore(engine), BRAND: "acme" };
    expect((await importHere(["run", "catalog-import"], { ...store, PDS_CONFIG: established })).code).toBe(0);
    const environment = { ...store, PDS_CONFIG: hanging };
    const services = await Promise.all(["warn", "fail"].map((STALE_DATA) => serve({ ...environment, STALE_DATA })));
    const runs = openRuns(store.DATABASE_URL);
    try {
      // The scheduled jobs run on, although the new one hangs.
      const isScheduled = ({ scheduled, outcome }: Run) => scheduled !== null && outcome !== null;
      await until("the schedules are followed", async () => {
        const all = await runs();
        const ended = all.filter(isScheduled);
        return (
          ["catalog-import", "history-retention"].every((job) => ended.filter((run) => run.job === job).length > 1) &&
          all.some(({ brand, outcome }) => brand === "follows" && outcome !== null)
        );
      });
      const all = await runs();
      const of = (job: string, brand = "acme") => all.filter((run) => run.job === job && run.brand === brand);
      const feedJob = "personalization-import";
      expect(of(feedJob, "hangs")).toMatchObject([{ outcome: null }]);
      expect(of(feedJob, "follows")).toMatchObject([{ outcome: "succeeded", scheduled: null }]);
      expect(of("history-retention")[0]).toMatchObject({ outcome: "succeeded" });
      const data = "the first run has not finished: personalization-import for hangs";
      // A service notices a while later that a run has ended, which another one may have supervised.
      for (const { url } of services) {
        await until("only the run that hangs is left", async () => (await readinessOf(url)).checks.data === data);
      }
      const responses = await Promise.all(services.map(({ url }) => readinessOf(url)));
      for (const response of responses) {
        expect(response).toEqual({
          code: 200,
          status: "degraded",
          // Jobs that are due every second may be late, and the store slow, on a machine that has much else to do.
          checks: {
            service: "ok",
            database: "ok",
            data,
            jobs: expect.any(String),
            clock: expect.any(String),
            scheduler: "ok",
            writes: "ok",
          },
        });
      }
      expect(services[0]?.log()).toContain(`listening before all data is available: ${data}`);
      expect(await (await services[0]?.get("/api/v1/products/pz/MUG"))?.text()).toContain("SCRIPT");
    } finally {
      await Promise.all(services.map((service) => service.stop()));
    }
    expect((await runs()).find(({ brand }) => brand === "hangs")).toMatchObject({ outcome: "failed" });
  });
});

test.concurrent("a failed first run is retried as configured, once for all replicas", async () => {
  const environment = { DATABASE_URL: await createStore("sqlite"), BRAND: "acme", PDS_CONFIG: failing };
  const replicas = await Promise.all([serve(environment), serve(environment)]);
  const runs = openRuns(environment.DATABASE_URL);
  await until("every retry has failed", async () => (await runs()).length >= 3 && !(await runs()).some(isRunning));
  const isStarting = async ({ get }: RunningService) => (await (await get("/readyz")).text()).includes("first run");
  for (const service of replicas) {
    await until("it gives up", async () => !(await isStarting(service)));
    await service.stop();
  }
  expect((await runs()).map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
    [1, "failed"],
    [2, "failed"],
    [3, "failed"],
  ]);
});

test.concurrent("with STALE_DATA=fail, a new store is not ready before its first data", async () => {
  const environment = { DATABASE_URL: await createStore("sqlite"), PDS_CONFIG: onlyHanging, STALE_DATA: "fail" };
  const begunAt = performance.now();
  await using service = await serve(environment);
  // As long as it waits for its first data.
  expect(performance.now() - begunAt).toBeGreaterThan(9500);
  const data = "the first run has not finished: personalization-import for hangs";
  expect(service.log()).toContain(`listening before all data is available: ${data}`);
  expect(await readinessOf(service.url)).toMatchObject({
    code: 503,
    status: "not ready",
    checks: { data },
  });
});

test.concurrent("the first sync waits for the first reconcile, which reads in bulk", async () => {
  const platform = startPlatform({ products: 60, bulk: { createdMs: 200, runningMs: 500 } });
  const store = { DATABASE_URL: await createStore("sqlite"), BRAND: "acme" };
  await using service = await serve({ ...store, ...environmentOf(platform), PDS_CONFIG: platformJobs });
  const runs = openRuns(store.DATABASE_URL);
  await until("both have run", async () => (await runs()).filter(({ outcome }) => outcome !== null).length >= 2);
  expect((await runs()).slice(0, 2)).toMatchObject([
    { job: "catalog-reconcile", outcome: "succeeded" },
    { job: "catalog-sync", outcome: "succeeded" },
  ]);
  expect(countPlatformRequests(platform, "ProductById")).toBe(0);
  const [id] = platform.catalog.ids(0, 1);
  expect((await service.get(`/api/v1/products/${id}`)).status).toBe(200);
});

test.concurrent("readiness does not wait for a job that has run on its schedule", async () => {
  const platform = startPlatform({ products: 3, bulk: { createdMs: 0, runningMs: 60_000 } });
  const store = { DATABASE_URL: await createStore("sqlite"), BRAND: "acme" };
  await using service = await serve({ ...store, ...environmentOf(platform), PDS_CONFIG: syncing });
  const data = async () => (await readinessOf(service.url)).checks.data;
  const expected = "the first run has not finished: catalog-reconcile for acme";
  await until("only the reconcile is missing", async () => (await data()) === expected);
});
