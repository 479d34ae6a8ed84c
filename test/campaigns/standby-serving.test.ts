import { afterAll, expect, test } from "bun:test";
import { SQL } from "bun";
import pino from "pino";
import { CacheInvalidator } from "../../src/cache/invalidator.ts";
import { invalidatedLifetime } from "../../src/cache/namespace.ts";
import { HeaderTemplate, ResponseBody } from "../../src/cache/response.ts";
import { ResponseCache } from "../../src/cache/response-cache.ts";
import { keptChanges } from "../../src/database/change.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { parseCachePolicy } from "../../src/model/cache-policy.ts";
import { createPrimaryLimiter } from "../../src/service/limiters.ts";
import { toProduct } from "../support/catalog.ts";
import { rowsOf } from "../support/console.ts";
import { importHere } from "../support/import-here.ts";
import { migrateStore, pds, type RunningService, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { countPlatformRequests, environmentOf, startPlatform } from "../support/platform.ts";
import { createPostgres, createPostgresDatabase } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { startPurgeProvider } from "../support/purge-provider.ts";
import { startService } from "../support/service-process.ts";
import { createStandby, untilWritten } from "../support/standby.ts";
import { until, untilEqual } from "../support/until.ts";

const primary = await createPostgres();
const ids = Array.from({ length: 20 }, (_, index) => 7000 + index);
const [products = ""] = await writeFiles(await temporaryFolder(), {
  "products.ndjson": ids.map((id) => JSON.stringify(toProduct(id))).join("\n"),
});
await migrateStore(primary.url);
expect((await importHere(["import", "products", products], { DATABASE_URL: primary.url })).code).toBe(0);
const standby = await createStandby(primary);
const link = await startProxy(standby.url);
const sql = new SQL(primary.url, { max: 1 });
afterAll(async () => {
  await sql.close();
  await standby.remove();
  await primary.remove();
});

/** Without a cache, so that every request is read from a store. */
const serveUncached = (readUrls: string, environment = {}) =>
  serve({ DATABASE_URL: primary.url, DATABASE_READ_URLS: readUrls, MEMORY_MEGABYTES: "0", ...environment });

let titles = 0;

/** Changes the title of a product at the primary. */
async function retitle(id: number, store = sql): Promise<string> {
  const title = `Plate, edition ${++titles}`;
  await store`
    UPDATE product SET tag = ${title}, document = regexp_replace(document, '"title":"Plate[^"]*"', ${`"title":"${title}"`})
    WHERE id = ${id}`;
  return title;
}

async function readTitle(service: RunningService, id: number): Promise<string> {
  const response = await service.get(`/api/v1/products/${id}`);
  const { product } = (await response.json()) as { product: { title: string } };
  return product.title;
}

type Place = "standby" | "behind" | "failed";

type WithMetrics = Pick<RunningService, "adminUrl">;

const readMetrics = async ({ adminUrl }: WithMetrics) => (await fetch(`${adminUrl}/metrics`)).text();

const readLagS = async (service: WithMetrics) =>
  Number((await readMetrics(service)).match(/^pds_standby_behind_seconds{standby="[^"]+"} (\S+)$/m)?.[1]);

async function readCounts(service: WithMetrics): Promise<Record<Place, number>> {
  const text = await readMetrics(service);
  const count = (place: Place) =>
    Number(text.match(new RegExp(`^pds_standby_reads_total{result="${place}"} (\\d+)$`, "m"))?.[1]);
  return { standby: count("standby"), behind: count("behind"), failed: count("failed") };
}

let skus = 0;

/** Where one more request is read, which is for a SKU that no cache has. */
async function findPlace(service: RunningService): Promise<Place | undefined> {
  const before = await readCounts(service);
  await service.get(`/api/v1/products/pz/${++skus}`);
  const after = await readCounts(service);
  return (["standby", "behind", "failed"] as const).find((place) => after[place] > before[place]);
}

const untilRead = (service: RunningService, place: Place) =>
  until(`requests are read from: ${place}`, async () => (await findPlace(service)) === place);

test("requests are read from a standby, and history from the primary", async () => {
  await using service = await serveUncached(standby.url);
  await untilRead(service, "standby");
  const before = await readCounts(service);
  for (const id of ids) expect(await readTitle(service, id)).toBe(`Plate ${id}`);
  expect((await service.get("/api/v1/histories")).status).toBe(200);
  expect((await service.get("/api/v1/products/pz/none")).status).toBe(200);
  expect((await service.get("/api/v1/products/1")).status).toBe(404);
  const after = await readCounts(service);
  expect(after.standby - before.standby).toBeGreaterThanOrEqual(ids.length + 2);
  expect({ ...after, standby: 0 }).toEqual({ ...before, standby: 0 });
});

test("a change that this process has seen is never read from a standby that lacks it", async () => {
  await using service = await serveUncached(standby.url);
  await untilRead(service, "standby");
  await standby.pauseReplay();
  try {
    const title = await retitle(7001);
    await untilEqual(() => readTitle(service, 7001), title);
    // From now on the process knows of the change, and the standby never shows it.
    for (let request = 0; request < 50; request++) expect(await readTitle(service, 7001)).toBe(title);
    await untilRead(service, "behind");
    await until("its lag is measured", async () => (await readLagS(service)) > 0.5);
  } finally {
    await standby.resumeReplay();
  }
  await untilRead(service, "standby");
  await until("it has no lag, although nothing is replayed", async () => (await readLagS(service)) === 0);
});

test("all workers read from a standby, and the console shows it", async () => {
  const environment = { DATABASE_URL: primary.url, DATABASE_READ_URLS: standby.url, MEMORY_MEGABYTES: "0" };
  await using service = await startService(environment, "--workers", "2");
  await until("both workers read it", async () =>
    /^pds_standby_readers{standby="[^"]+"} 2$/m.test(await readMetrics(service)),
  );
  const readAll = () =>
    Promise.all(
      ids.map(async (id) => {
        const response = await fetch(`${service.url}/api/v1/products/${id}`, { headers: { Connection: "close" } });
        return ((await response.json()) as { product: { title: string } }).product.title;
      }),
    );
  const before = await readCounts(service);
  await readAll();
  expect((await readCounts(service)).standby).toBeGreaterThanOrEqual(before.standby + ids.length);
  await standby.pauseReplay();
  try {
    const title = await retitle(7012);
    await until("both workers have noticed a change", async () => {
      const titles = await Promise.all(Array.from({ length: 5 }, readAll));
      return titles.every((each) => each[12] === title);
    });
    for (let round = 0; round < 5; round++) expect((await readAll())[12]).toBe(title);
    await untilShown("0 of 1 replica", "it lacks changes");
  } finally {
    await standby.resumeReplay();
  }
  await untilShown("1 of 1 replica", "none");
  await service.end("SIGTERM");

  async function untilShown(readBy: string, reason: string) {
    await until(`the console shows: ${readBy}`, async () => {
      const row = rowsOf(await (await fetch(`${service.adminUrl}/replicas`)).text()).find(
        ([name]) => name === standby.url,
      );
      return row?.[1] === readBy && row[3]?.startsWith(reason) === true;
    });
  }
});

const pausedReplay = "its replay is paused: SELECT pg_wal_replay_resume()";

/** What `pds check` says of a standby. */
async function check(url: string) {
  const { stdout } = await pds(["check", "--json"], { DATABASE_URL: primary.url, DATABASE_READ_URLS: url });
  const { checks } = JSON.parse(stdout) as { checks: { checked: string; at: string; problem: string | null }[] };
  return checks.find(({ checked }) => checked === "standby");
}

test("pds check says how far a standby is behind, and whether it is one of another store", async () => {
  expect(await check(standby.url)).toEqual({ checked: "standby", at: standby.url, problem: null });
  await standby.pauseReplay();
  try {
    await retitle(7010);
    const note = `lacks the newest change; ${pausedReplay}`;
    expect(await check(standby.url)).toMatchObject({ at: `${standby.url} (${note})`, problem: null });
  } finally {
    await standby.resumeReplay();
  }
  const { url: other, drop } = await createPostgresDatabase();
  await migrateStore(other);
  expect((await importHere(["import", "products", products], { DATABASE_URL: other })).code).toBe(0);
  expect((await check(other))?.problem).toContain("has changes that DATABASE_URL does not have");
  await drop();
  expect((await check("postgres://pds@127.0.0.1:1/pds"))?.problem).not.toBeNull();
});

test("pds check takes a standby that is far behind for one of this store", async () => {
  await standby.catchUp();
  await standby.pauseReplay();
  try {
    // The primary keeps fewer.
    await sql`INSERT INTO change (noun, scope) SELECT 'product', 'any' FROM generate_series(1, ${keptChanges + 2000})`;
    expect(await check(standby.url)).toMatchObject({
      at: expect.stringContaining(`lacks the newest ${keptChanges + 2000} changes`),
      problem: null,
    });
  } finally {
    await standby.resumeReplay();
    await standby.catchUp();
  }
});

test("a URL that the driver refuses stops the start, and names its setting", async () => {
  const url = `${standby.url}?sslmode=nonsense`;
  const refusal = `DATABASE_READ_URLS: cannot open ${url}: `;
  const { code, stderr } = await pds(["serve"], {
    ...{ DATABASE_URL: primary.url, DATABASE_READ_URLS: url },
    ...{ PORT: "0", ADMIN_PORT: "0" },
  });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(refusal) });
  expect((await check(url))?.problem).toStartWith(refusal);
});

test("a role that may not read all tables: pds check names it, and the log does what fails", async () => {
  await sql`CREATE ROLE reader LOGIN`;
  await sql`GRANT SELECT ON change TO reader`;
  await standby.catchUp();
  const url = new URL(standby.url);
  url.username = "reader";
  expect((await check(url.href))?.problem).toContain("the role reader may not read the table ");
  await using service = await serveUncached(url.href);
  await until("it warns", async () => {
    expect(await readTitle(service, 7006)).toBe("Plate 7006");
    return service.log().includes("a statement failed at a standby");
  });
  const lines = service
    .log()
    .split("\n")
    .filter((line) => line.includes("a statement failed at a standby"));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 40, standby: url.href, cause: "permission denied for table product" }),
  ]);
  await sql`GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`;
  await standby.catchUp();
  expect((await check(url.href))?.problem).toBeNull();
  await untilRead(service, "standby");
});

test("the log says why a standby lacks changes", async () => {
  await using service = await serveUncached(standby.url);
  await untilRead(service, "standby");
  await standby.pauseReplay();
  try {
    await retitle(7008);
    await until("it warns", () => service.log().includes("a standby is not read"));
    const line = service
      .log()
      .split("\n")
      .find((each) => each.includes("a standby is not read"));
    expect(JSON.parse(line ?? "")).toMatchObject({ standby: standby.url, reason: "behind", cause: pausedReplay });
  } finally {
    await standby.resumeReplay();
  }
});

test("a setting that leads to a standby where writes go stops the start", async () => {
  const environment = { DATABASE_URL: primary.url, DATABASE_DIRECT_URL: standby.url, PORT: "0", ADMIN_PORT: "0" };
  const refusal = "DATABASE_DIRECT_URL leads to a standby; it must lead to the primary";
  const { code, stderr } = await pds(["serve"], environment);
  expect(code).toBe(1);
  expect(stderr).toContain(refusal);
  const { stdout } = await pds(["check", "--json"], environment);
  const { checks } = JSON.parse(stdout) as { checks: { checked: string; problem: string | null }[] };
  expect(checks).toContainEqual(expect.objectContaining({ checked: "store, without the pooler", problem: refusal }));
  const swapped = { DATABASE_URL: standby.url, DATABASE_DIRECT_URL: primary.url };
  expect((await pds(["check"], swapped)).stdout).toContain("DATABASE_URL leads to a standby");
});

test("a change is noted before what it changes is evicted: a load in between must not read a state without it", async () => {
  const database = await openDatabase(primary.url, "scheduling");
  const cache = new ResponseCache(2 ** 20, (nowMs) => nowMs);
  const body = new ResponseBody({ template: new HeaderTemplate("text/plain"), body: "old" });
  const namespace = { ...invalidatedLifetime(parseCachePolicy("no-store")), name: "product" };
  await cache.get({ ...namespace, load: () => ({ body, isEmpty: false }) }, "7011");
  const invalidator = new CacheInvalidator();
  const polling = new AbortController();
  const sizes: number[] = [];
  const { stopped } = await invalidator.start(
    {
      database,
      cache,
      namespaces: new Map([["product", ["product"]]]),
      storeLimiter: createPrimaryLimiter(),
      log: pino({ level: "silent" }),
      onSeen: ({ number }) => {
        if (number > invalidator.lastChange) sizes.push(cache.size);
      },
      onChangesLost: async () => {},
      onLost: () => {},
    },
    polling.signal,
  );
  await retitle(7011);
  await until("it is evicted", () => cache.size === 0);
  polling.abort();
  await stopped;
  await closeDatabase(database);
  expect(sizes).toEqual([1]);
});

test("requests succeed while a standby is killed, frozen, or cut off, and use it again afterwards", async () => {
  await using service = await serveUncached(link.url);
  await untilRead(service, "standby");
  const requestAll = async () => {
    for (const id of ids) expect((await service.get(`/api/v1/products/${id}`)).status).toBe(200);
  };
  link.cut();
  await requestAll();
  await untilRead(service, "failed");
  link.heal();
  await untilRead(service, "standby");
  await standby.stop("SIGKILL");
  await requestAll();
  await untilRead(service, "failed");
  await standby.start();
  await untilRead(service, "standby");
});

test("the service starts without its standbys, and warns", async () => {
  await standby.stop();
  await using service = await serveUncached(standby.url);
  expect(await readTitle(service, 7002)).toBe("Plate 7002");
  await until("it warns", () => service.log().includes("a standby is not read"));
  await standby.start();
  await untilRead(service, "standby");
  await until("it says so", () => service.log().includes("a standby is read again"));
});

test("a statement that a standby cannot answer is answered by the primary", async () => {
  await using service = await serveUncached(standby.url);
  await untilRead(service, "standby");
  await standby.pauseReplay();
  try {
    // As before a migration is replayed: no change in the log tells that a table is missing.
    await sql`ALTER TABLE generation_list RENAME TO former`;
    await standby.resumeReplay();
    await standby.catchUp();
    await standby.pauseReplay();
    await sql`ALTER TABLE former RENAME TO generation_list`;
    const before = await readCounts(service);
    expect((await service.get("/api/v1/products/pz/any")).status).toBe(200);
    expect((await readCounts(service)).failed).toBeGreaterThan(before.failed);
  } finally {
    await standby.resumeReplay();
    await standby.catchUp();
  }
});

test("while the primary is lost, what is not cached is read from a standby, with its age", async () => {
  const toPrimary = await startProxy(primary.url);
  await using service = await serve({ DATABASE_URL: toPrimary.url, DATABASE_READ_URLS: standby.url });
  await untilRead(service, "standby");
  toPrimary.cut();
  await until("the store is unreachable", () => service.log().includes("the store is unreachable"));
  const response = await service.get("/api/v1/products/7003");
  expect(response.status).toBe(200);
  expect(Number(response.headers.get("age"))).toBeGreaterThanOrEqual(1);
  const missing = await service.get("/api/v1/products/1");
  expect(missing.status).toBe(404);
  expect(Number(missing.headers.get("age"))).toBeGreaterThanOrEqual(1);
  // History is in no change log.
  const history = await service.get("/api/v1/histories");
  expect(history.status).toBe(503);
  expect(history.headers.get("retry-after")).not.toBeNull();
  const title = await retitle(7003);
  toPrimary.heal();
  await untilEqual(() => readTitle(service, 7003), title);
  expect((await service.get("/api/v1/products/7003")).headers.get("age")).toBeNull();
});

test("a product that this process has just stored is not looked for on a standby that lacks it", async () => {
  const platform = startPlatform({ products: 2 });
  const [id] = platform.catalog.ids(0, 1);
  await using service = await serveUncached(standby.url, environmentOf(platform));
  await untilRead(service, "standby");
  await standby.pauseReplay();
  try {
    expect((await service.get(`/api/v1/products/${id}`)).status).toBe(200);
  } finally {
    await standby.resumeReplay();
  }
});

test("a product that was confirmed a moment ago is not read from the platform again because a standby does not show it", async () => {
  const platform = startPlatform({ products: 2 });
  const [confirmed = "", other = ""] = platform.catalog.ids(0, 2);
  const environment = { ...environmentOf(platform), PRODUCT_MAX_AGE: "3600" };
  await using service = await serveUncached(standby.url, environment);
  const get = async (id: string) => expect((await service.get(`/api/v1/products/${id}`)).status).toBe(200);
  // Nothing in the log of changes tells when a product was last confirmed.
  const expire = async (id: string) => {
    await get(id);
    await sql`UPDATE product SET checked_at = '2026-01-01T00:00:00.000Z' WHERE id = ${BigInt(id)}`;
  };
  const untilConfirmed = async (id: string) => {
    await get(id);
    await until("it is confirmed", async () => {
      const [row] = await sql<{ at: string }[]>`SELECT checked_at AS at FROM product WHERE id = ${BigInt(id)}`;
      return `${row?.at}` > "2026-02";
    });
  };
  await expire(confirmed);
  await expire(other);
  await standby.catchUp();
  await standby.pauseReplay();
  try {
    await untilRead(service, "standby");
    await untilConfirmed(confirmed);
    const before = countPlatformRequests(platform);
    for (let request = 0; request < 20; request++) await get(confirmed);
    // Its read is the last of all that wait.
    await untilConfirmed(other);
    expect(countPlatformRequests(platform) - before).toBe(1);
  } finally {
    await standby.resumeReplay();
  }
});

test("the primary is not asked about expired products while none may be read from the platform", async () => {
  const environment = { ...environmentOf(startPlatform({ products: 1 })), PRODUCT_MAX_AGE: "0", VISIBLE: "all" };
  await using service = await serveUncached(standby.url, { ...environment, LOOKUPS_PER_MINUTE: "0" });
  await untilRead(service, "standby");
  const countCalls = async () =>
    Number((await readMetrics(service)).match(/^pds_limiter_calls_total{limiter="primary"} (\d+)$/m)?.[1]);
  const before = await countCalls();
  for (const id of ids) expect((await service.get(`/api/v1/products/${id}`)).status).toBe(200);
  // A standby that does not answer in time is replaced by the primary.
  expect((await countCalls()) - before).toBeLessThan(ids.length / 2);
});

test("without a standby, only a few reads reach the primary at once, and others are refused", async () => {
  await using service = await serveUncached("postgres://pds@127.0.0.1:1/pds");
  await untilRead(service, "failed");
  await using blocker = new SQL(primary.url, { max: 1 });
  const responses = await blocker.begin(async (transaction) => {
    await transaction`LOCK TABLE product`;
    const requests = ids.map((id) => service.get(`/api/v1/products/${id}`));
    await untilEqual(
      async () => (await readMetrics(service)).match(/^pds_limiter_active{limiter="primary"} .*$/m)?.[0],
      'pds_limiter_active{limiter="primary"} 4',
    );
    return await Promise.all(requests);
  });
  for (const response of responses) {
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).not.toBeNull();
  }
  await until("the primary is read again", async () => (await service.get("/api/v1/products/7004")).status === 200);
  expect(await readTitle(service, 7004)).toBe("Plate 7004");
});

test("a standby that became a store of its own is not read", async () => {
  const other = await createStandby(primary);
  try {
    await using service = await serveUncached(other.url);
    await untilRead(service, "standby");
    await other.promote();
    await using its = new SQL(other.url, { max: 1 });
    await retitle(7009);
    await until("it warns that it lacks a change", () =>
      service.log().includes("it is not a standby: it was promoted"),
    );
    await untilWritten(() => retitle(7005, its));
    await until("it is not read", async () => {
      expect(await readTitle(service, 7005)).toBe("Plate 7005");
      return service.log().includes('"reason":"another store"');
    });
  } finally {
    await other.remove();
  }
});

test("what another store served while the primary did not answer is forgotten, and purged", async () => {
  const other = await createStandby(primary);
  const toPrimary = await startProxy(primary.url);
  const provider = startPurgeProvider("generic");
  const [config = ""] = await writeFiles(await temporaryFolder(), {
    "pds.toml": `[purge]\nurl = "${provider.url}"\n`,
  });
  try {
    await using service = await serve({
      ...{ DATABASE_URL: toPrimary.url, DATABASE_READ_URLS: other.url },
      ...{ CDN: "generic", PURGE_TOKEN: "purge-token", PDS_CONFIG: config },
    });
    await untilRead(service, "standby");
    await until("everything is purged, twice", () => provider.countOf("product") > 1);
    await other.promote();
    await using its = new SQL(other.url, { max: 1 });
    toPrimary.cut();
    const title = await untilWritten(() => retitle(7007, its));
    expect(await readTitle(service, 7007)).toBe(title);
    const before = provider.countOf("product");
    toPrimary.restore();
    await untilEqual(() => readTitle(service, 7007), "Plate 7007");
    await until("everything is purged again, twice", () => provider.countOf("product") >= before + 2);
  } finally {
    await other.remove();
  }
});
