import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseCsv } from "csv-parse/sync";
import { importHere } from "../support/import-here.ts";
import {
  createStore,
  engines,
  pds,
  type RunningService,
  root,
  serve,
  serveUntilEnd,
  temporaryFolder,
} from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { readinessOf, readMetric } from "../support/service-process.ts";
import { until, untilEqual } from "../support/until.ts";

const sample = join(root, "sample");
const products = readFileSync(join(sample, "products.ndjson"), "utf8").trimEnd().split("\n");
const ids = products.map((line) => JSON.parse(line).id as number);
const variantSkus = products.flatMap((line) => JSON.parse(line).variants.map(({ sku }: { sku: string }) => sku));

const services = await Promise.all(
  engines.map(async (engine) =>
    serveUntilEnd({ VISIBLE: "all", DATABASE_URL: await createStore(engine), PDS_CONFIG: join(root, "pds.toml") }),
  ),
);

/** A busy machine may need longer for the first runs than a start waits for them. */
const untilFirstRunsEnded = ({ get }: RunningService) =>
  until("the first runs have ended", async () => (await (await get("/readyz")).text()).includes('"data":"ok"'));
await Promise.all(services.map(untilFirstRunsEnded));

const emptyStore = await createStore("sqlite");
const folder = await temporaryFolder();

describe("the sample brand", () => {
  test("serves every product byte for byte as in the file, on every store", async () => {
    expect(ids.length).toBeGreaterThanOrEqual(60);
    for (const [index, id] of ids.entries()) {
      const expected = `{"product":${products[index]},"shop":"larkspur-finch.example","error":null}`;
      for (const service of services) expect(await (await service.get(`/api/v1/products/${id}`)).text()).toBe(expected);
    }
  });

  test("serves the same bytes for the personalization of every SKU on every store", async () => {
    let personalized = 0;
    for (const sku of [...variantSkus, "unknown"]) {
      const [one, ...others] = await Promise.all(
        services.map(async (service) => (await service.get(`/api/v1/products/pz/${encodeURIComponent(sku)}`)).text()),
      );
      for (const other of others) expect(other).toBe(one ?? "");
      if (JSON.parse(one ?? "").pzlines.length > 0) personalized++;
    }
    expect(personalized).toBeGreaterThanOrEqual(200);
  });

  const broken = join(sample, "broken");
  test.each([
    ["products", "missing-title.ndjson", /missing-title\.ndjson:2: title: is missing/],
    [
      "products",
      "price-number.json",
      /price-number\.json:\d+: variants\[\]\.price: expected string: product \d+, variants\[0\], got \d/,
    ],
    ["products", "truncated.json", /truncated\.json:\d+: the file ends inside the document that starts at line \d+/],
    ["products", "bad-timestamp.json", /bad-timestamp\.json:1: updated_at: expected a timestamp/],
    ["personalization", "short-row", /short-row\/pzlines\.csv:3: has 2 fields, but the header has 4/],
    ["personalization", "missing-column", /missing-column\/pzstyles\.csv:1: the header is missing choice_type/],
    ["personalization", "missing-file", /missing-file: file not found: expected one of pzchoices\.csv/],
    ["personalization", "empty-sku", /empty-sku\/pzlines\.csv:3: sku_id: is empty/],
  ])("has broken cases whose errors name the place: %s %s", async (noun, name, message) => {
    const args = ["import", noun, join(broken, name), "--dry-run"];
    const { code, stderr } = await importHere(args, { DATABASE_URL: emptyStore });
    expect(stderr).toMatch(message);
    expect(code).toBe(1);
  });

  test("has a presentation that names every code", async () => {
    const environment = { DATABASE_URL: await createStore("sqlite") };
    await importHere(["import", "personalization", join(sample, "personalization")], environment);
    await importHere(["import", "presentation", join(sample, "presentation.toml")], environment);
    const { code, stdout } = await pds(["presentation", "check", "--json"], environment);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ entries: 337, codes_without_names: [], names_without_codes: [] });
  });

  test("has the counts that its README states", () => {
    const readme = readFileSync(join(sample, "README.md"), "utf8");
    const rowsOf = (list: string) =>
      parseCsv<Record<string, string>>(readFileSync(join(sample, "personalization", `${list}.csv`)), { columns: true });
    const [lines, styles, choices] = [rowsOf("pzlines"), rowsOf("pzstyles"), rowsOf("pzchoices")];
    const distinct = (rows: readonly Record<string, string>[], column: string) =>
      new Set(rows.map((row) => row[column]));
    const [skus, groups] = [distinct(lines, "sku_id"), distinct(choices, "choice_type")];
    const withStatus = (status: string) => products.filter((line) => JSON.parse(line).status === status).length;
    const freeText = distinct(styles, "choice_type").difference(groups);
    for (const sentence of [
      `${products.length} products, one per line, with ${variantSkus.length} variants`,
      `${lines.length} lines of ${skus.size} SKUs`,
      `${styles.length} rows of ${distinct(styles, "style_code").size} styles`,
      `${choices.length} choices in ${groups.size} groups`,
      `Names of ${distinct(styles, "style_code").size} styles, ${styles.length} lines, and ${choices.length} choices`,
      `${withStatus("active")} products are active, ${withStatus("draft")} are drafts, and ${withStatus("archived")} are archived`,
      `${variantSkus.filter((sku) => !skus.has(sku)).length} SKUs offer no personalization`,
      `${freeText.size} choice types have no choices`,
    ]) {
      expect(readme).toContain(sentence);
    }
  });
});

describe("a store", () => {
  test.each([...engines])("on %s is created once by replicas that start together", async (engine) => {
    const environment = { DATABASE_URL: await createStore(engine) };
    const replicas = await Promise.all([1, 2, 3, 4].map(() => serve(environment)));
    try {
      for (const replica of replicas) expect((await replica.get("/readyz")).status).toBe(200);
    } finally {
      await Promise.all(replicas.map((replica) => replica.stop()));
    }
  });

  test("that cannot be opened is named in the error, without its password", async () => {
    for (const url of [`sqlite:${folder}`, "postgres://pds:s3cret-word@127.0.0.1:1/none"]) {
      const { code, stderr } = await pds(["serve"], { DATABASE_URL: url, PORT: "0", ADMIN_PORT: "0" });
      expect(code).toBe(1);
      expect(stderr).toContain("DATABASE_URL: cannot open");
      expect(stderr).not.toContain("s3cret-word");
    }
  });
});

describe("a lost PostgreSQL", () => {
  test("leaves replicas with a cache ready, with 503 for the rest, until it is back", async () => {
    const postgres = await createPostgres();
    const environment = { DATABASE_URL: postgres.url, PDS_CONFIG: join(root, "pds.toml") };
    // Imported first: the first start's own import would evict the cached responses.
    for (const job of ["catalog-import", "personalization-import"]) await importHere(["run", job], environment);
    // The strictest setting. It is about the age of the data, not about the store.
    const service = await serve({ ...environment, STALE_DATA: "fail", SERVER_TIMING: "on" });
    const strict = await serve({ ...environment, READINESS: "strict" });
    const empty = await serve(environment);
    const readiness = () => Promise.all([service.url, service.adminUrl].map(readinessOf));
    const storeLost = () => readMetric(service, "pds_store_unreachable");
    const ready = {
      code: 200,
      status: "ready",
      checks: { service: "ok", data: "ok", database: "ok", writes: "ok", jobs: "ok", clock: "ok", scheduler: "ok" },
    };
    const paths = ["/api/v1/histories/asc", "/api/v1/products/pz/OV.810794", `/api/v1/products/${ids[0]}`];
    const statuses = async () => Promise.all(paths.map(async (path) => (await service.get(path)).status));
    const cached = [
      `/api/v1/products/${ids[1]}`,
      "/api/v1/products/pz/OV.810795",
      "/api/v1/products/pz/unknown",
      "/api/v1/histories",
    ];
    try {
      const before = await Promise.all(cached.map(async (path) => (await service.get(path)).text()));
      expect((await strict.get(cached[0] ?? "")).status).toBe(200);
      await untilEqual(async () => [await readiness(), await storeLost()], [[ready, ready], 0]);
      await postgres.stop("SIGKILL");
      // Connection processes outlive the killed server process for a moment.
      await until("the loss is noticed", async () => (await storeLost()) === 1);
      await until("no query succeeds", async () => (await statuses()).every((status) => status !== 200));
      for (const path of paths) {
        const response = await service.get(path);
        expect(response.status).toBe(503);
        expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
        const body = (await response.json()) as Record<string, unknown>;
        const requestId = response.headers.get("x-request-id") ?? "";
        if (path.includes("pz") || path.includes("histories")) expect(body.request_id).toBe(requestId);
        else expect(body).toMatchObject({ product: null, shop: "larkspur-finch.example" });
        expect(JSON.stringify(body)).not.toMatch(/postgres|SELECT|127\.0\.0\.1/i);
      }
      expect((await service.get("/livez")).status).toBe(200);
      const database = "cannot be reached; only cached responses are served";
      const unknown = "the store cannot be reached";
      const degraded = {
        code: 200,
        status: "degraded",
        checks: { ...ready.checks, database, jobs: unknown, clock: unknown },
      };
      await untilEqual(readiness, [degraded, degraded]);
      for (const [replica, problem] of [
        [strict, "cannot be reached"],
        [empty, "cannot be reached, and nothing is cached"],
      ] as const) {
        const state = async () => {
          const { code, status, checks } = await readinessOf(replica.url);
          return { code, status, database: checks.database };
        };
        await untilEqual(state, { code: 503, status: "not ready", database: problem });
      }
      // Cached responses are still served, and with their age once they can no longer be verified.
      await until("responses have an age", async () => (await service.get(cached[0] ?? "")).headers.has("age"));
      for (const [index, path] of cached.entries()) {
        const response = await service.get(path);
        expect(response.status).toBe(200);
        expect(response.headers.get("age")).toMatch(/^\d+$/);
        expect(response.headers.get("cache-status")).toBe("pds; hit; detail=unverified");
        expect(await response.text()).toBe(before[index] ?? "");
      }
      await postgres.start();
      await untilEqual(statuses, [200, 200, 200]);
      const ages = () => Promise.all(cached.map(async (path) => (await service.get(path)).headers.has("age")));
      await untilEqual(ages, [false, false, false, false]);
      await untilEqual(async () => [await readiness(), await storeLost()], [[ready, ready], 0]);
    } finally {
      await Promise.all([service.stop(), strict.stop(), empty.stop()]);
      await postgres.remove();
    }
  });
});

test("several processes can open a new embedded store at once", async () => {
  const rounds = 20;
  const script = `
    const { closeDatabase, openDatabase } = await import(${JSON.stringify(join(root, "src", "database", "index.ts"))});
    const [folder, beginMs] = process.argv.slice(-2);
    for (let round = 0; round < ${rounds}; round++) {
      // Spinning only at the end starts all at the same moment and leaves the processors to other tests.
      await Bun.sleep(Math.max(0, Number(beginMs) + round * 60 - 3 - Date.now()));
      while (Date.now() < Number(beginMs) + round * 60);
      await closeDatabase(await openDatabase("sqlite:" + folder + "/" + round + ".sqlite"));
    }`;
  const folder = await temporaryFolder();
  const beginMs = `${Date.now() + 400}`;
  const opened = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const child = Bun.spawn([process.execPath, "-e", script, "--", folder, beginMs], {
        stdout: "ignore",
        stderr: "pipe",
      });
      return { errors: await child.stderr.text(), code: await child.exited };
    }),
  );
  expect(opened).toEqual(Array(3).fill({ errors: "", code: 0 }));
});
