import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { importHere } from "../support/import-here.ts";
import {
  connectTo,
  createMigratedStore,
  createStore,
  type Environment,
  endLeases,
  enginesOf,
  main,
  type RunningService,
  root,
  serveUntilEnd,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { countPlatformRequests, environmentOf, type StandIn, shop, startPlatform } from "../support/platform.ts";
import { startServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const folder = await temporaryFolder();
const [configPath = ""] = await writeFiles(folder, {
  "pds.toml":
    '[jobs.catalog-sync]\nschedule = "off"\n[jobs.catalog-reconcile]\nschedule = "off"\nmax_removed_share = 1\n',
});

const run = (job: string, environment: Environment) =>
  importHere(["run", job], { PDS_CONFIG: configPath, ...environment });

const startStored = ({ DATABASE_URL }: Environment) =>
  serveUntilEnd({ DATABASE_URL, SHOP_DOMAIN: shop, MEMORY_MEGABYTES: "0", VISIBLE: "all" });

const statusesOf = (service: RunningService, ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await service.get(`/api/v1/products/${id}`)).status));
const idsOf = ({ catalog }: StandIn) => catalog.ids(0, catalog.count);

/** An address that first answers as one platform and then as another, as after a change of DNS. */
function switchPlatform(first: StandIn, second: StandIn, isFirst: (document: string) => boolean): { origin: string } {
  const origin = startServer(async (request) => {
    const body = await request.text();
    const headers = new Headers(request.headers);
    for (const name of ["content-length", "host"]) headers.delete(name);
    headers.set("accept-encoding", "identity");
    const { pathname } = new URL(request.url);
    return fetch(`${(isFirst(body) ? first : second).origin}${pathname}`, { method: request.method, headers, body });
  });
  return { origin };
}

describe.each([...enginesOf("sqlite")])(
  "on %s, a platform address that becomes another shop's during a run",
  (engine) => {
    test.each([
      ["catalog-sync", (body: string) => !body.includes("query ProductById")],
      ["catalog-reconcile", (body: string) => body.includes("query Shop") && !body.includes("BulkOperation")],
    ])("changes nothing: %s", async (job, answersFirst) => {
      const platform = startPlatform({ products: 15 });
      const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine) };
      expect((await run("catalog-reconcile", environment)).code).toBe(0);
      const ids = idsOf(platform);
      for (const id of ids) platform.catalog.touch(id, { product: { title: "Edited" } });
      const other = startPlatform({ products: 1, seed: 7, shop: { id: "gid://shopify/Shop/2" } });
      const foreign = other.catalog.add({}, "777");
      let shopReads = 0;
      const { origin } = switchPlatform(platform, other, (body) => {
        // A reconcile asks for the shop at its beginning; from then on the other shop answers.
        if (job === "catalog-reconcile") return body.includes("query Shop") && shopReads++ === 0;
        return answersFirst(body);
      });
      const { code, stderr } = await run(job, { ...environment, SHOPIFY_API_URL: origin });
      expect(code).toBe(1);
      expect(stderr).toContain("gid://shopify/Shop/2");
      const service = await startStored(environment);
      expect(await statusesOf(service, [...ids, foreign])).toEqual([...ids.map(() => 200), 404]);
    });
  },
);

describe.each([...enginesOf("sqlite")])(
  "on %s, a product that changes while the bulk runs read the catalog",
  (engine) => {
    test("is not stored from their result, which may hold half of the change", async () => {
      const platform = startPlatform({ products: 3, now: Date.now, bulk: { createdMs: 0, runningMs: 500 } });
      const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine) };
      const [changed = "", ...others] = idsOf(platform);
      platform.faults.add({ kind: "status", status: 403, operation: "ProductsUpdatedSince", count: 99 });
      platform.faults.add({ kind: "status", status: 403, operation: "ProductById", count: 99 });
      const comparing = run("catalog-reconcile", environment);
      await until("both bulk runs have begun", () => platform.counters.bulkRuns === 2);
      platform.catalog.touch(changed, { product: { title: "Changed meanwhile" } });
      expect((await comparing).code).toBe(1);
      const service = await startStored(environment);
      const [status] = await statusesOf(service, [changed]);
      expect(status).toBe(404);
      platform.faults.clear();
      expect((await run("catalog-reconcile", environment)).code).toBe(0);
      expect(await statusesOf(service, [changed, ...others])).toEqual([200, 200, 200]);
      expect(countPlatformRequests(platform, "BulkRun")).toBeGreaterThan(2);
    });
  },
);

describe.each([...enginesOf("sqlite")])("on %s, an import of product files", (engine) => {
  test.each([
    [19, 0],
    [20, 1],
  ])("with 5 of %d stored products ends with %d", async (stored, expected) => {
    const environment = { DATABASE_URL: await createStore(engine) };
    const lines = Array.from({ length: stored }, (_, index) => toJson(toProduct(index + 1)));
    const [all = "", few = ""] = await writeFiles(folder, {
      "all.ndjson": lines.join("\n"),
      "few.ndjson": lines.slice(0, 5).join("\n"),
    });
    expect((await importHere(["import", "products", all], environment)).code).toBe(0);
    expect((await importHere(["import", "products", few], environment)).code).toBe(expected);
  });

  test("is refused beyond the allowed share, by a dry run as for real, unless forced", async () => {
    const environment = { DATABASE_URL: await createStore(engine) };
    const lines = Array.from({ length: 30 }, (_, index) => toJson(toProduct(index + 1)));
    const [all = "", few = ""] = await writeFiles(folder, {
      "all.ndjson": lines.join("\n"),
      "few.ndjson": lines.slice(0, 10).join("\n"),
    });
    expect((await importHere(["import", "products", all], environment)).code).toBe(0);
    const service = await startStored(environment);
    for (const options of [["--dry-run"], []]) {
      const { code, stderr } = await importHere(["import", "products", few, ...options], environment);
      expect(code).toBe(1);
      expect(stderr).toContain("20 of 30 products would be removed, more than 20%: nothing was changed");
    }
    for (const options of [["--dry-run", "--force"], ["--force"]]) {
      expect(await statusesOf(service, ["30"])).toEqual([200]);
      const forced = await importHere(["import", "products", few, ...options, "--json"], environment);
      expect(forced.code).toBe(0);
      expect(JSON.parse(forced.stdout).overridden).toEqual(["20 of 30 products would be removed, more than 20%"]);
    }
    expect(await statusesOf(service, ["30"])).toEqual([404]);
  });
});

const large = join(folder, "large.ndjson");
await Bun.write(
  large,
  Array.from({ length: 4000 }, (_, index) =>
    toJson(toProduct(index + 1, { title: "Old", body_html: "x".repeat(4000) })),
  ).join("\n"),
);

describe.each([...enginesOf("sqlite")])(
  "on %s, an import of product files that stops while it reads them",
  (engine) => {
    /** Starts an import in a new store, and suspends it while it reads the file. */
    async function suspendImport(): Promise<{ importing: Bun.Subprocess<"ignore", "ignore", "pipe">; url: string }> {
      const temporary = await temporaryFolder();
      const url = await createMigratedStore(engine);
      const importing = Bun.spawn([process.execPath, main, "import", "products", large], {
        env: { PATH: process.env.PATH ?? "", PDS_CONFIG: "/dev/null", ...environmentOn(url), TMPDIR: temporary },
        stdio: ["ignore", "ignore", "pipe"],
      });
      await until("it reads the file", () => readdirSync(temporary).some((name) => name.startsWith("pds-import-")));
      importing.kill("SIGSTOP");
      await using sql = await connectTo(url);
      // On a busy machine it may have ended by then.
      if ((await sql`SELECT 1 FROM run WHERE finished_at IS NULL`).length === 0) return await suspendImport();
      return { importing, url };
    }
    const environmentOn = (DATABASE_URL: string) => ({ DATABASE_URL, LEASE_SECONDS: "3600" });

    test("keeps no other job from writing", async () => {
      const { importing, url } = await suspendImport();
      try {
        const feed = join(root, "sample", "personalization");
        expect((await importHere(["import", "personalization", feed], { DATABASE_URL: url })).code).toBe(0);
      } finally {
        importing.kill("SIGKILL");
        await importing.exited;
      }
    });

    test("changes nothing once another run has started", async () => {
      const [current = ""] = await writeFiles(folder, {
        "current.ndjson": toJson(toProduct(1, { title: "Current" })),
      });
      const { importing, url } = await suspendImport();
      try {
        await endLeases(url);
        expect((await importHere(["import", "products", current], environmentOn(url))).code).toBe(0);
        importing.kill("SIGCONT");
        expect(await new Response(importing.stderr).text()).toContain(
          "its lease expired, so another run may have started",
        );
        expect(await importing.exited).toBe(1);
      } finally {
        importing.kill("SIGKILL");
        await importing.exited;
      }
      const service = await startStored(environmentOn(url));
      const { product } = (await (await service.get("/api/v1/products/1")).json()) as { product: { title: string } };
      expect(product.title).toBe("Current");
      expect(await statusesOf(service, ["2", "4000"])).toEqual([404, 404]);
    });
  },
);
