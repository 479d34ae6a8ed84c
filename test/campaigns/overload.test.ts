import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { SQL } from "bun";
import { toJson } from "../../src/json.ts";
import { toProduct } from "../support/catalog.ts";
import { writeFeed } from "../support/feed.ts";
import {
  createStore,
  isCampaign,
  pds,
  type RunningService,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { asked, environmentOf, shop, startPlatform } from "../support/platform.ts";
import { createPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";

/** How long a store is away. */
const awayMs = isCampaign ? 10_000 : 2500;
/** By then it has been noticed, and everything is answered at once. */
const noticedMs = 1500;
const atOnceMs = 100;
/** So long after its return everything is as before. */
const recoveredMs = 2000;
const crowdSize = 2000;

const folder = await temporaryFolder();
const known = Array.from({ length: 3000 }, (_, index) => `SKU-${index}`);
const feed = await writeFeed(folder, "feed", {
  "pzlines.csv": [
    "sku_id,style_code,style_display_seq,style_sku_status",
    ...known.map((sku) => `${sku},S,1,A`),
    "",
  ].join("\n"),
  "pzstyles.csv": "style_code,line_status,line_display_seq,choice_type,instruct_text\nS,A,1,G,Choose\n",
  "pzchoices.csv": "choice_type,choice_status,choice_display_seq,choice_value\nG,A,1,Serif\n",
});
const [products = ""] = await writeFiles(folder, {
  "products.ndjson": Array.from({ length: 20 }, (_, index) => toJson(toProduct(index + 1))).join("\n"),
});
const hotSkus = Array.from({ length: 20 }, (_, index) => `/api/v1/products/pz/SKU-${index}`);
const hot = [...hotSkus, ...Array.from({ length: 20 }, (_, index) => `/api/v1/products/${index + 1}`)];
const platform = startPlatform({ products: 5 });

async function start(url: string, also = {}): Promise<RunningService> {
  const environment = { DATABASE_URL: url, BRAND: "acme", SHOP_DOMAIN: shop, SCHEDULER: "off" };
  for (const args of [
    ["products", products],
    ["personalization", feed],
  ]) {
    expect((await pds(["import", ...args], environment)).code).toBe(0);
  }
  const service = await serve({ ...environment, ...also });
  afterAll(async () => {
    // Some of its answers would wait for what never comes.
    service.process.kill("SIGKILL");
    await service.stop();
  });
  return service;
}

const postgres = await createPostgres();
afterAll(() => postgres.remove());
const sqliteUrl = await createStore("sqlite");
const [onPostgres, onSqlite] = await Promise.all([
  start(postgres.url),
  start(sqliteUrl, { ...environmentOf(platform), LOOKUPS_PER_MINUTE: "200" }),
]);

/** Values of metrics by name with labels. */
async function measure({ adminUrl }: RunningService): Promise<(name: string) => number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const values = new Map(
    text.split("\n").map((line) => [line.slice(0, line.lastIndexOf(" ")), line.slice(line.lastIndexOf(" "))]),
  );
  return (name) => Number(values.get(name) ?? Number.NaN);
}

/** What is told of the service is told in time, whatever hangs. */
const soon = <Value>(answer: Promise<Value>): Promise<Value> =>
  Promise.race([answer, Bun.sleep(2000).then(() => Promise.reject(new Error("it was not told in time")))]);

interface Given {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** When it was asked, and for how long. */
  readonly atMs: number;
  readonly ms: number;
}

async function ask(service: RunningService, path: string): Promise<Given> {
  const atMs = performance.now();
  const { status, headers, ...response } = await service
    .get(path)
    .then(async (got) => ({ status: got.status, headers: got.headers, body: await got.text() }));
  return { status, headers, ...response, atMs, ms: performance.now() - atMs };
}

/**
 * Asks for what is hot, and for names that nobody asked for before, again and again until it is
 * told to stop.
 */
function load(service: RunningService, cold: () => string) {
  const given = { hot: [] as Given[], cold: [] as Given[] };
  let isOver = false;
  const run = async (into: Given[], next: (turn: number) => string) => {
    for (let turn = 0; !isOver; turn++) {
      into.push(await ask(service, next(turn)));
      await Bun.sleep(10);
    }
  };
  // Several at once: before it is noticed that the store is away, who asks for what is cold waits.
  const running = [
    run(given.hot, (turn) => hot[turn % hot.length] as string),
    ...[1, 2, 3, 4].map(() => run(given.cold, cold)),
  ];
  return {
    given,
    stop: async () => {
      isOver = true;
      await Promise.all(running);
    },
  };
}

/**
 * Most of them, and none by far: a machine that does much else at once stands still now and then.
 */
function expectAtOnce(given: readonly Given[]): void {
  const times = given.map(({ ms }) => ms).sort((a, b) => a - b);
  expect(times[Math.floor(times.length * 0.95)] ?? 0).toBeLessThan(atOnceMs);
  expect(times.at(-1) ?? 0).toBeLessThan(5 * atOnceMs);
}

/**
 * Many connections at once, each with one request.
 * @returns status, Retry-After and how long it took, in the order of their ends
 */
function crowd(service: RunningService, pathOf: (index: number) => string) {
  const { hostname, port } = new URL(service.url);
  const answers: { status: number; retryAfter: string | undefined; body: string; ms: number }[] = [];
  const begunMs = performance.now();
  const connections = Array.from({ length: crowdSize }, async (_, index) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let said = "";
    await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: (socket) => void socket.write(`GET ${pathOf(index)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
        data: (_, data) => {
          said += data.toString("latin1");
        },
        close: () => resolve(said),
        connectError: (_, error) => reject(error),
      },
    });
    const text = await promise;
    answers.push({
      status: Number(text.match(/^HTTP\/1\.1 (\d+)/)?.[1]),
      retryAfter: text.match(/^retry-after: (.+)$/im)?.[1]?.trim(),
      body: text.slice(text.indexOf("\r\n\r\n") + 4),
      ms: performance.now() - begunMs,
    });
  });
  return { answers, done: Promise.all(connections) };
}

/** Keeps everybody from reading the personalization until it is told otherwise. */
async function lockRows() {
  const sql = new SQL(postgres.url, { max: 1 });
  const mayEnd = Promise.withResolvers<void>();
  const isLocked = Promise.withResolvers<void>();
  const locking = sql.begin(async (transaction) => {
    await transaction`LOCK TABLE personalization_line IN ACCESS EXCLUSIVE MODE`;
    isLocked.resolve();
    await mayEnd.promise;
  });
  await isLocked.promise;
  return async () => {
    mayEnd.resolve();
    await locking;
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

/** Some of a server's processes live for a moment only. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

describe("a crowd", () => {
  test("that wants one cold name has the store asked once", async () => {
    const service = onPostgres;
    await Promise.all(hot.map((path) => ask(service, path)));
    const before = await measure(service);
    const unlock = await lockRows();
    const { answers, done } = crowd(service, () => "/api/v1/products/pz/SKU-2999");
    const all = 'pds_cache_responses_total{result="collapsed"}';
    await until("all wait", async () => (await measure(service))(all) - before(all) === crowdSize - 1, 5000);
    await unlock();
    await done;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    const after = await measure(service);
    const counts = [
      'pds_limiter_calls_total{limiter="store"}',
      'pds_cache_responses_total{result="miss"}',
      'pds_limiter_rejected_total{limiter="store"}',
    ];
    expect(counts.map((name) => after(name) - before(name))).toEqual([1, 1, 0]);
  });

  test("that wants more than the store can give is turned away at once, while what is hot is given", async () => {
    const service = onPostgres;
    await Promise.all(hot.map((path) => ask(service, path)));
    const before = await measure(service);
    const unlock = await lockRows();
    const { answers, done } = crowd(service, (index) => `/api/v1/products/pz/SKU-${100 + index}`);
    // Five are inside, and a thousand may wait.
    const refused = crowdSize - 1005;
    await until("the others are turned away", () => answers.length === refused, 5000);
    expect(answers.every(({ status, retryAfter }) => status === 503 && Number(retryAfter) > 0)).toBe(true);
    expect(answers.at(-1)?.ms).toBeLessThan(1000);
    const meanwhile: Given[] = [];
    for (const path of hot) meanwhile.push(await ask(service, path));
    expect(new Set(meanwhile.map(({ status }) => status))).toEqual(new Set([200]));
    expectAtOnce(meanwhile);
    const during = await measure(service);
    expect([during('pds_limiter_active{limiter="store"}'), during('pds_limiter_queued{limiter="store"}')]).toEqual([
      5, 1000,
    ]);
    await unlock();
    await done;
    expect(answers.slice(refused).every(({ status }) => status === 200)).toBe(true);
    const after = await measure(service);
    expect(
      after('pds_limiter_rejected_total{limiter="store"}') - before('pds_limiter_rejected_total{limiter="store"}'),
    ).toBe(refused);
    expect(after('pds_cache_responses_total{result="hit"}') - before('pds_cache_responses_total{result="hit"}')).toBe(
      hot.length,
    );
    expect(after("pds_cache_load_failures_total") - before("pds_cache_load_failures_total")).toBe(refused);
    const megabytes =
      (after("pds_process_resident_memory_bytes") - before("pds_process_resident_memory_bytes")) / 2 ** 20;
    expect(megabytes).toBeLessThan(100);
  });
});

describe("a PostgreSQL", () => {
  let cold = 0;
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
    "%s leaves what is in memory, with its age, and a refusal at once for the rest; after it all is as before",
    async (_, stop) => {
      const service = onPostgres;
      // Memory may have forgotten some of it over what came before.
      await Promise.all(hot.map((path) => ask(service, path)));
      const loading = load(service, () => `/api/v1/products/pz/cold-${cold++}`);
      await Bun.sleep(200);
      const resume = await stop();
      const stoppedMs = performance.now();
      let resumedMs = 0;
      let backMs = 0;
      try {
        await Bun.sleep(noticedMs);
        const [ready, alive, metric] = await soon(
          Promise.all([service.get("/readyz"), service.get("/livez"), measure(service)]),
        );
        expect([ready.status, alive.status, metric("pds_store_unreachable")]).toEqual([200, 200, 1]);
        expect(await ready.json()).toMatchObject({ status: "degraded", checks: { service: "ok" } });
        await Bun.sleep(stoppedMs + awayMs - performance.now());
      } finally {
        resumedMs = performance.now();
        await resume();
        backMs = performance.now();
        await Bun.sleep(recoveredMs + 300);
        await loading.stop();
      }

      const { given } = loading;
      const isAway = ({ atMs }: Given) => atMs > stoppedMs + noticedMs && atMs < resumedMs;
      expect(given.hot.filter(({ status }) => status !== 200)).toEqual([]);
      expectAtOnce(given.hot);
      const old = given.hot.filter(isAway);
      expect(old.length).toBeGreaterThan(10);
      for (const { headers } of old) {
        expect(headers.get("cache-status")).toBe("pds; hit; detail=unverified");
        expect(Number(headers.get("age"))).toBeWithin(1, awayMs / 1000 + 2);
      }
      const refused = given.cold.filter(isAway);
      expect(refused.length).toBeGreaterThan(10);
      for (const { status, headers } of refused) {
        expect([status, Number(headers.get("retry-after")) > 0, headers.get("age")]).toEqual([503, true, null]);
      }
      expectAtOnce(refused);
      // Nobody waited for longer than it took to notice.
      expect(
        Math.max(
          ...given.cold
            .filter(({ atMs }) => atMs < resumedMs)
            .map(({ ms, atMs }) => atMs + ms - Math.max(atMs, stoppedMs)),
        ),
      ).toBeLessThan(noticedMs + 500);
      const isBack = ({ atMs }: Given) => atMs > backMs + recoveredMs;
      const again = given.cold.filter(isBack);
      expect(again.length).toBeGreaterThan(5);
      expect(again.filter(({ status }) => status !== 200)).toEqual([]);
      expect(given.hot.filter(isBack).map(({ headers }) => headers.get("age"))).toEqual(
        given.hot.filter(isBack).map(() => null),
      );
      expect((await service.get("/readyz")).status).toBe(200);
      expect((await measure(service))("pds_store_unreachable")).toBe(0);
    },
    40_000,
  );
});

describe("an embedded store that somebody else writes for long", () => {
  test("is read all the same, and whoever waits to write it stops nobody", async () => {
    const service = onSqlite;
    const [id = ""] = platform.catalog.ids(0, 1);
    await Promise.all(hotSkus.map((path) => ask(service, path)));
    await using sql = new SQL(sqliteUrl, { max: 1 });
    await sql`BEGIN EXCLUSIVE`;
    await sql`INSERT INTO cursor (name, value) VALUES ('long', 'writing')`;
    const lookup = ask(service, `/api/v1/products/${id}`);
    let isAnswered = false;
    void lookup.then(() => {
      isAnswered = true;
    });
    await until("the platform was asked", () => asked(platform, "ProductById") > 0);
    const given: Given[] = [];
    for (const [index, path] of hotSkus.entries()) {
      given.push(await ask(service, path), await ask(service, `/api/v1/products/pz/SKU-${1000 + index}`));
      given.push(await ask(service, "/livez"), await ask(service, "/api/v1/histories"));
      await Bun.sleep(5);
    }
    expect(given.filter(({ status }) => status !== 200)).toEqual([]);
    expectAtOnce(given);
    expect(isAnswered).toBe(false);
    expect((await measure(service))("pds_store_unreachable")).toBe(0);
    await sql`ROLLBACK`;
    expect(await lookup).toMatchObject({ status: 200, body: expect.stringContaining(`{"product":{"id":${id},`) });
  });
});

describe("a platform that hangs", () => {
  test("is asked for a few at once, however many unknown products are wanted, and others are answered", async () => {
    const service = onSqlite;
    platform.faults.add({ kind: "hang", operation: "ProductById", count: 1_000_000 });
    platform.counters.reset();
    const before = await measure(service);
    const refused: Given[] = [];
    const giveUp = new AbortController();
    const unknown = Array.from({ length: 300 }, async (_, index) => {
      const path = `/api/v1/products/${7_000_000_000_001 + index}`;
      const atMs = performance.now();
      const got = await service.get(path, { signal: giveUp.signal });
      refused.push({
        status: got.status,
        headers: got.headers,
        body: await got.text(),
        atMs,
        ms: performance.now() - atMs,
      });
    });
    const ended = Promise.allSettled(unknown);
    // Of the budget of 200 one may be spent; 8 are being asked for, and 100 wait.
    await until("the others are refused", () => refused.length >= 300 - 108, 3000);
    await Bun.sleep(100);
    expect(refused).toHaveLength(300 - 108);
    for (const { status, headers } of refused) {
      expect([status, Number(headers.get("retry-after")) > 0]).toEqual([503, true]);
    }
    const during = await measure(service);
    expect([
      during('pds_limiter_active{limiter="platform"}'),
      during('pds_limiter_queued{limiter="platform"}'),
    ]).toEqual([8, 100]);
    expect(
      during('pds_limiter_calls_total{limiter="platform"}') - before('pds_limiter_calls_total{limiter="platform"}'),
    ).toBe(8);
    expect(during('pds_limiter_rejected_total{limiter="platform"}')).toBeGreaterThan(80);
    expect(asked(platform)).toBe(8);
    const given: Given[] = [];
    for (const [index, path] of hotSkus.entries()) {
      given.push(await ask(service, path), await ask(service, `/api/v1/products/pz/SKU-${2000 + index}`));
    }
    expect(given.filter(({ status }) => status !== 200)).toEqual([]);
    expectAtOnce(given);
    expect(asked(platform)).toBe(8);
    giveUp.abort();
    await ended;
  });
});
