import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { SQL } from "bun";
import { percentile } from "../../bench/support/statistics.ts";
import { toProduct } from "../support/catalog.ts";
import { feedOf } from "../support/feed.ts";
import { listGenerationTables } from "../support/generation-tables.ts";
import { fillStore } from "../support/import-here.ts";
import { connectTo, createStore, isCampaign, type RunningService, serve } from "../support/pds.ts";
import { countPlatformRequests, environmentOf, shop, startPlatform } from "../support/platform.ts";
import { createPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { parseResponse, Wire } from "../support/wire.ts";

/** How long a store is unreachable. */
const outageMs = isCampaign ? 10_000 : 6000;
/** By then the outage is detected, and every request gets a response at once. */
const detectionMs = 4000;
const promptMs = 100;
/** How long after the outage the service has recovered. */
const recoveredMs = 2000;
const longestWaitMs = 2000;

const known = Array.from({ length: 3000 }, (_, index) => `SKU-${index}`);
const cachedSkus = Array.from({ length: 20 }, (_, index) => `/api/v1/products/pz/SKU-${index}`);
const cached = [...cachedSkus, ...Array.from({ length: 20 }, (_, index) => `/api/v1/products/${index + 1}`)];
const platform = startPlatform({ products: 5 });

async function start(url: string, also = {}): Promise<RunningService> {
  const environment = { DATABASE_URL: url, BRAND: "acme", SHOP_DOMAIN: shop, SCHEDULER: "off" };
  await fillStore(
    environment,
    Array.from({ length: 20 }, (_, index) => toProduct(index + 1)),
    feedOf(known),
  );
  const service = await serve({ ...environment, SERVER_TIMING: "on", ...also });
  afterAll(async () => {
    // Some of its requests would wait for a platform that never responds.
    service.process.kill("SIGKILL");
    await service.stop();
  });
  return service;
}

const postgres = await createPostgres();
afterAll(() => postgres.remove());
const sqliteUrl = await createStore("sqlite");
const [onPostgres, onSqlite] = await Promise.all([
  start(postgres.url, { TRUSTED_PROXIES: "127.0.0.1" }),
  start(sqliteUrl, { ...environmentOf(platform), LOOKUPS_PER_MINUTE: "800" }),
]);

/** Values of metrics by name with labels. */
async function measure({ adminUrl }: RunningService): Promise<(name: string) => number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const values = new Map(
    text.split("\n").map((line) => [line.slice(0, line.lastIndexOf(" ")), line.slice(line.lastIndexOf(" "))]),
  );
  return (name) => Number(values.get(name) ?? Number.NaN);
}

interface TimedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** When the request was sent, and how long the response took. */
  readonly atMs: number;
  readonly ms: number;
}

async function request(service: RunningService, path: string, init: RequestInit = {}): Promise<TimedResponse> {
  const atMs = performance.now();
  const got = await service.get(path, init);
  const body = await got.text();
  return { status: got.status, headers: got.headers, body, atMs, ms: performance.now() - atMs };
}

/** Requests cached and uncached names in turn until it is stopped. */
function load(service: RunningService, uncached: () => string) {
  const responses = { cached: [] as TimedResponse[], uncached: [] as TimedResponse[] };
  let isOver = false;
  const run = async (into: TimedResponse[], next: (turn: number) => string) => {
    for (let turn = 0; !isOver; turn++) {
      into.push(await request(service, next(turn)));
      await Bun.sleep(10);
    }
  };
  // Several at once: until the outage is detected, requests for uncached names wait.
  const running = [
    run(responses.cached, (turn) => cached[turn % cached.length] as string),
    ...[1, 2, 3, 4].map(() => run(responses.uncached, uncached)),
  ];
  return {
    responses,
    stop: async () => {
      isOver = true;
      await Promise.all(running);
    },
  };
}

/**
 * Allows a few slow responses, because a machine pauses now and then. In short, other tests run
 * beside this one, so that times say nothing.
 */
function expectPrompt(responses: readonly { readonly ms: number }[]): void {
  if (!isCampaign) return;
  const times = responses.map(({ ms }) => ms);
  if (times.length > 0) expect(percentile(times, 0.95)).toBeLessThan(promptMs);
  expect(Math.max(0, ...times)).toBeLessThan(5 * promptMs);
}

/**
 * Many connections, each with one request, all of which arrive at once.
 * @returns the responses, in the order in which they ended
 */
async function sendBurst(service: RunningService, size: number, pathOf: (index: number) => string) {
  const responses: { status: number; retryAfter: string | undefined; ms: number }[] = [];
  const connections = await Promise.all(Array.from({ length: size }, () => Wire.open(service.url)));
  // Otherwise, the first may have waited too long on a busy machine before the last has arrived.
  service.process.kill("SIGSTOP");
  for (const [index, connection] of connections.entries()) {
    connection.write(`GET ${pathOf(index)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  }
  const begunMs = performance.now();
  service.process.kill("SIGCONT");
  const receiving = connections.map(async (connection) => {
    const { status = 0, headers } = parseResponse(await connection.untilClosed()) ?? {};
    responses.push({ status, retryAfter: headers?.get("retry-after"), ms: performance.now() - begunMs });
  });
  return { responses, begunMs, done: Promise.all(receiving) };
}

/** Blocks all reads of personalization. @returns a function that ends the lock */
async function lockRows() {
  const sql = await connectTo(postgres.url);
  await sql`BEGIN`;
  await sql.unsafe(`LOCK TABLE ${(await listGenerationTables(sql)).join(", ")} IN ACCESS EXCLUSIVE MODE`);
  return async () => {
    await sql`COMMIT`;
    await sql.close();
  };
}

/** The processes of the PostgreSQL server. */
async function serverProcesses(): Promise<number[]> {
  await using sql = new SQL(postgres.url, { max: 1 });
  const [{ pid }] = await sql`SELECT CAST(split_part(pg_read_file('postmaster.pid'), chr(10), 1) AS INTEGER) AS pid`;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return [pid, ...children.trim().split(" ").map(Number)];
}

/** Sends a signal, unless the process has ended: some of a server's processes are short-lived. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

describe("a burst of requests", () => {
  test("beyond the share of a network is rejected at once, while cached responses and others are served", async () => {
    let attempt = 0;
    while (!(await isShared(++attempt)));
  });

  /** @returns false if queued requests have timed out before the others were sent */
  async function isShared(attempt: number): Promise<boolean> {
    const service = onPostgres;
    await Promise.all(cached.map((path) => request(service, path)));
    const before = await measure(service);
    const unlock = await lockRows();
    const size = 600;
    const pathOf = (index: number) => `/api/v1/products/pz/BURST-${attempt}-${index}`;
    const { responses, begunMs, done } = await sendBurst(service, size, pathOf);
    const isLate = () => performance.now() - begunMs > longestWaitMs;
    // Sixteen reads are running, and half of a thousand places are for others.
    const rejected = size - 516;
    await until("the others are rejected", () => responses.length >= rejected);
    expect(responses.every(({ status, retryAfter }) => status === 503 && Number(retryAfter) > 0)).toBe(true);
    expectPrompt(responses.slice(0, rejected));
    const meanwhile = await Promise.all(cached.map((path) => request(service, path)));
    expect(new Set(meanwhile.map(({ status }) => status))).toEqual(new Set([200]));
    expectPrompt(meanwhile);
    const during = await measure(service);
    if (isLate()) {
      await unlock();
      await done;
      return false;
    }
    expect([during('pds_limiter_active{limiter="store"}'), during('pds_limiter_queued{limiter="store"}')]).toEqual([
      16, 500,
    ]);
    const headers = { "X-Forwarded-For": "192.0.2.1" };
    const others = [1, 2, 3].map((index) => request(service, pathOf(-index), { headers }));
    const areQueued = async () => (await measure(service))('pds_limiter_queued{limiter="store"}') === 503;
    await until("they wait too", async () => isLate() || (await areQueued()));
    await unlock();
    const statuses = await Promise.all(others.map(async (other) => (await other).status));
    const isInTime = !isLate();
    await done;
    if (!isInTime) return false;
    expect(statuses).toEqual([200, 200, 200]);
    // On a busy machine, some have waited too long.
    const late = responses.slice(rejected).filter(({ status, ms }) => status === 503 && ms > longestWaitMs);
    expect(responses.slice(rejected).filter(({ status }) => status === 200)).toHaveLength(516 - late.length);
    const after = await measure(service);
    const growthOf = (name: string) => after(name) - before(name);
    expect(growthOf('pds_limiter_rejected_total{limiter="store"}')).toBe(rejected + late.length);
    expect(growthOf('pds_cache_responses_total{result="hit"}')).toBe(cached.length);
    expect(growthOf("pds_cache_load_failures_total")).toBe(rejected + late.length);
    expect(growthOf("pds_process_resident_memory_bytes") / 2 ** 20).toBeLessThan(100);
    return true;
  }
});

describe("a PostgreSQL", () => {
  let uncached = 0;
  test.each([
    [
      "that is stopped",
      async () => {
        await postgres.stop();
        return postgres.start;
      },
    ],
    [
      "that hangs",
      async () => {
        const pids = await serverProcesses();
        for (const pid of pids) send(pid, "SIGSTOP");
        return async () => {
          for (const pid of pids) send(pid, "SIGCONT");
        };
      },
    ],
  ])(
    "%s leaves cached responses, with their age, and rejects the rest at once; afterward all is as before",
    async (_, stop) => {
      const service = onPostgres;
      // Earlier tests may have evicted some of the responses.
      await Promise.all(cached.map((path) => request(service, path)));
      const loading = load(service, () => `/api/v1/products/pz/cold-${uncached++}`);
      await Bun.sleep(200);
      const resume = await stop();
      const stoppedMs = performance.now();
      let resumedMs = 0;
      let backMs = 0;
      try {
        await Bun.sleep(detectionMs);
        const [ready, alive, metric] = await Promise.all([
          service.get("/readyz"),
          service.get("/livez"),
          measure(service),
        ]);
        expect([ready.status, alive.status, metric("pds_store_unreachable")]).toEqual([200, 200, 1]);
        expect(await ready.json()).toMatchObject({ status: "degraded", checks: { service: "ok" } });
        await Bun.sleep(stoppedMs + outageMs - performance.now());
      } finally {
        resumedMs = performance.now();
        await resume();
        backMs = performance.now();
        await Bun.sleep(recoveredMs + 300);
        await loading.stop();
      }

      const { responses } = loading;
      const isDuringOutage = ({ atMs }: TimedResponse) => atMs > stoppedMs + detectionMs && atMs < resumedMs;
      expect(responses.cached.filter(({ status }) => status !== 200)).toEqual([]);
      expectPrompt(responses.cached);
      const old = responses.cached.filter(isDuringOutage);
      expect(old.length).toBeGreaterThan(10);
      for (const { headers } of old) {
        expect(headers.get("cache-status")).toBe("pds; hit; detail=unverified");
        expect(Number(headers.get("age"))).toBeWithin(1, outageMs / 1000 + 2);
      }
      const rejected = responses.uncached.filter(isDuringOutage);
      expect(rejected.length).toBeGreaterThan(10);
      for (const { status, headers } of rejected) {
        expect([status, Number(headers.get("retry-after")) > 0, headers.get("age")]).toEqual([503, true, null]);
      }
      expectPrompt(rejected);
      if (isCampaign) {
        // No request waited longer than it took to detect the outage.
        const before = responses.uncached.filter(({ atMs }) => atMs < resumedMs);
        const waitedMs = before.map(({ ms, atMs }) => atMs + ms - Math.max(atMs, stoppedMs));
        expect(Math.max(...waitedMs)).toBeLessThan(detectionMs + 500);
      }
      const isAfterRecovery = ({ atMs }: TimedResponse) => atMs > backMs + recoveredMs;
      const again = responses.uncached.filter(isAfterRecovery);
      expect(again.length).toBeGreaterThan(5);
      expect(again.filter(({ status }) => status !== 200)).toEqual([]);
      expect(responses.cached.filter(isAfterRecovery).map(({ headers }) => headers.get("age"))).toEqual(
        responses.cached.filter(isAfterRecovery).map(() => null),
      );
      expect((await service.get("/readyz")).status).toBe(200);
      expect((await measure(service))("pds_store_unreachable")).toBe(0);
    },
  );
});

describe("an embedded store during a long write by another process", () => {
  test("is still read, and a request that waits to write blocks no other", async () => {
    const service = onSqlite;
    const [id = ""] = platform.catalog.ids(0, 1);
    await Promise.all(cachedSkus.map((path) => request(service, path)));
    await using sql = await connectTo(sqliteUrl);
    await sql`BEGIN EXCLUSIVE`;
    await sql`INSERT INTO cursor (name, value) VALUES ('long', 'writing')`;
    const lookup = request(service, `/api/v1/products/${id}`);
    let hasResponse = false;
    void lookup.then(() => {
      hasResponse = true;
    });
    // It takes the platform's points from the store first.
    const waiting = 'pds_limiter_active{limiter="platform"}';
    await until("the lookup waits", async () => (await measure(service))(waiting) === 1);
    const responses: TimedResponse[] = [];
    for (const [index, path] of cachedSkus.entries()) {
      responses.push(await request(service, path), await request(service, `/api/v1/products/pz/SKU-${1000 + index}`));
      responses.push(await request(service, "/livez"), await request(service, "/api/v1/histories"));
      await Bun.sleep(5);
    }
    expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
    expectPrompt(responses);
    expect(hasResponse).toBe(false);
    expect((await measure(service))("pds_store_unreachable")).toBe(0);
    await sql`ROLLBACK`;
    expect(await lookup).toMatchObject({ status: 200, body: expect.stringContaining(`{"product":{"id":${id},`) });
  });
});

describe("a platform that hangs", () => {
  test("gets at most eight lookups at once, while cached responses are served", async () => {
    const service = onSqlite;
    platform.faults.add({ kind: "hang", operation: "ProductById", count: 1_000_000 });
    platform.counters.reset();
    const before = await measure(service);
    const rejected: TimedResponse[] = [];
    const giveUp = new AbortController();
    const unknown = Array.from({ length: 300 }, async (_, index) => {
      const path = `/api/v1/products/${7_000_000_000_001 + index}`;
      rejected.push(await request(service, path, { signal: giveUp.signal }));
    });
    const ended = Promise.allSettled(unknown);
    // A network may use 200 of the budget of 800, of which one may be spent; 8 lookups are running,
    // and 50 wait for two seconds.
    await until("the others are rejected", () => rejected.length >= 300 - 58);
    for (const { status, headers } of rejected) {
      expect([status, Number(headers.get("retry-after")) > 0]).toEqual([503, true]);
    }
    const during = await measure(service);
    expect(during('pds_limiter_active{limiter="platform"}')).toBe(8);
    expect(during('pds_limiter_queued{limiter="platform"}')).toBeLessThanOrEqual(50);
    expect(
      during('pds_limiter_calls_total{limiter="platform"}') - before('pds_limiter_calls_total{limiter="platform"}'),
    ).toBe(8);
    expect(during('pds_limiter_rejected_total{limiter="platform"}')).toBeGreaterThan(80);
    expect(countPlatformRequests(platform)).toBe(8);
    const responses: TimedResponse[] = [];
    for (const [index, path] of cachedSkus.entries()) {
      responses.push(await request(service, path), await request(service, `/api/v1/products/pz/SKU-${2000 + index}`));
    }
    expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
    expectPrompt(responses);
    await until("no lookup waits any longer", () => rejected.length >= 300 - 8);
    expect(countPlatformRequests(platform)).toBe(8);
    giveUp.abort();
    await ended;
  });
});
