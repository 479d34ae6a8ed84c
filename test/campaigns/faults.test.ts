import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { toJson } from "../../src/json.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { listGenerationTables } from "../support/generation-tables.ts";
import {
  connectTo,
  createStore,
  endLeases,
  engines,
  main,
  pds,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { until, untilEqual } from "../support/until.ts";

/** Number of kills; the full campaign has more. */
const kills = Number(process.env.FAULT_KILLS ?? 6);

for (const engine of engines) {
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL: await createStore(engine), SHOP_DOMAIN: "shop.example", BRAND: "acme" };
  const size = 3000;
  const catalog = (title: string) =>
    Array.from({ length: size }, (_, index) => toJson(toProduct(index + 1, { title }))).join("\n");
  const lines = (status: string) => {
    const rows = Array.from({ length: 5 * size }, (_, index) => `SKU-${index},SCRIPT,1,${status}`);
    return {
      ...feedFiles,
      "pzlines.csv": ["sku_id,style_code,style_display_seq,style_sku_status", ...rows].join("\n"),
    };
  };
  const [oldCatalog = "", newCatalog = ""] = await writeFiles(folder, {
    "old.ndjson": catalog("old"),
    "new.ndjson": catalog("new"),
  });
  const [oldFeed, newFeed] = await Promise.all([
    writeFeed(folder, "old", lines("old")),
    writeFeed(folder, "new", lines("new")),
  ]);
  await pds(["import", "products", oldCatalog], environment);
  await pds(["import", "personalization", oldFeed], environment);
  // One service without a cache, and one with it.
  const service = await serve({ ...environment, MEMORY_MEGABYTES: "0" });
  const remembering = await serve(environment);
  afterAll(() => Promise.all([service.stop(), remembering.stop()]));

  /** Returns which of the two sets the responses come from; both would be a mixture. */
  const marks = async (paths: string[], mark: RegExp, { get } = service) => {
    const answers = await Promise.all(paths.map(async (path) => (await get(`/api/v1/products/${path}`)).text()));
    return [...new Set(answers.map((answer) => answer.match(mark)?.[1]))];
  };
  const titles = (of = service) => marks([1, size / 2, size].map(String), /"title":"(\w+)","body_html"/, of);
  const statuses = (of = service) =>
    marks(
      [0, 2 * size, 5 * size - 1].map((index) => `pz/SKU-${index}`),
      /"style_sku_status":"(\w+)"/,
      of,
    );

  /**
   * Three generations of three tables, the incomplete one of a killed import, and the oldest, which
   * may still be there.
   */
  const mostTables = 5 * 3;
  const countTables = async () => {
    await using sql = await connectTo(environment.DATABASE_URL);
    return (await listGenerationTables(sql)).length;
  };

  describe(`on ${engine}, an import killed at any instant`, () => {
    test.each([
      ["products", [oldCatalog, newCatalog], titles, []],
      // An unchanged feed would not be imported again.
      ["personalization", [oldFeed, newFeed], statuses, ["--force"]],
    ])(
      "of %s leaves either the complete old set or the complete new set",
      async (noun, [old = "", changed = ""], seen, options) => {
        const importing = (source: string) => ["import", noun, source, ...options];
        const before = Date.now();
        expect(await pds(importing(changed), environment)).toMatchObject({ code: 0 });
        const wholeMs = Date.now() - before;
        expect(await seen()).toEqual(["new"]);
        expect(await pds(importing(old), environment)).toMatchObject({ code: 0 });
        for (let kill = 0; kill < kills; kill++) {
          const child = Bun.spawn([process.execPath, main, ...importing(kill % 2 ? old : changed)], {
            env: { PATH: "", PDS_CONFIG: "/dev/null", ...environment },
            stdio: ["ignore", "ignore", "ignore"],
          });
          await Bun.sleep((wholeMs * (kill + 0.5)) / kills);
          child.kill("SIGKILL");
          await child.exited;
          await endLeases(environment.DATABASE_URL);
          const left = await seen();
          expect(left).toBeOneOf([["old"], ["new"]]);
          await untilEqual(() => seen(remembering), left);
          expect((await service.get("/readyz")).status).toBe(200);
          expect(await countTables()).toBeLessThanOrEqual(mostTables);
        }
        expect((await pds(importing(changed), environment)).code).toBe(0);
        expect(await seen()).toEqual(["new"]);
        expect(await countTables()).toBeLessThanOrEqual(3 * 3);
      },
    );
  });
}

const fullDisk = await temporaryFolder();

test("a full disk fails the import with a clear message and changes nothing", async () => {
  const folder = fullDisk;
  const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, PDS_CONFIG: "/dev/null" };
  const [small = "", large = ""] = await writeFiles(folder, {
    "small.ndjson": toJson(toProduct(1)),
    "large.ndjson": Array.from({ length: 3000 }, (_, index) => toJson(toProduct(index + 2))).join("\n"),
  });
  await pds(["import", "products", small], environment);
  // A limit on the size of files makes writes fail like a full disk.
  const limited = Bun.spawn(
    ["sh", "-c", `trap "" XFSZ; ulimit -f 1024; exec "$0" "$@"`, process.execPath, main, "import", "products", large],
    { env: { PATH: process.env.PATH ?? "", ...environment }, stdio: ["ignore", "pipe", "pipe"] },
  );
  const [stderr, code] = await Promise.all([limited.stderr.text(), limited.exited]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/full|I\/O error/i);
  const service = await serve(environment);
  try {
    expect((await service.get("/api/v1/products/1")).status).toBe(200);
    expect((await service.get("/api/v1/products/2")).status).toBe(404);
  } finally {
    await service.stop();
  }
  expect((await pds(["import", "products", large], environment)).code).toBe(0);
});

const waiting = await temporaryFolder();

test("a service that is stopped during its first runs stops at once, with its job", async () => {
  let asked = 0;
  await using platform = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      asked++;
      return new Promise<Response>(() => {});
    },
  });
  const [config = ""] = await writeFiles(waiting, { "pds.toml": "[jobs.catalog-reconcile]\n" });
  const environment = {
    PDS_CONFIG: config,
    DATABASE_URL: `sqlite:${join(waiting, "pds.sqlite")}`,
    SHOPIFY_API_URL: platform.url.origin,
    SHOPIFY_ACCESS_TOKEN: "token",
    PORT: "0",
    ADMIN_PORT: "0",
  };
  const service = Bun.spawn([process.execPath, main, "serve"], {
    env: { PATH: process.env.PATH ?? "", ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await until("the first run has begun", () => asked > 0);
  const signaledMs = performance.now();
  service.kill("SIGTERM");
  expect(await service.exited).toBe(0);
  // Much less than the ten seconds that it waits for first runs.
  expect(performance.now() - signaledMs).toBeLessThan(6000);
  expect(await service.stderr.text()).toContain('"msg":"stopped"');
  const { stdout } = await pds(["jobs", "--json"], environment);
  expect(JSON.parse(stdout)).toMatchObject([{ job: "catalog-reconcile", outcome: "failed" }]);
});
