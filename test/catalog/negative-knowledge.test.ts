import { afterAll, describe, expect, test } from "bun:test";
import { forgetKnownIds } from "../../src/catalog/known-ids.ts";
import { LookupBudget } from "../../src/catalog/lookup-budget.ts";
import { noteUpdates } from "../../src/catalog/product.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { importHere } from "../support/import-here.ts";
import { createStore, enginesOf, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { countPlatformRequests, environmentOf, startPlatform } from "../support/platform.ts";

const path = (id: string | bigint) => `/api/v1/products/${id}`;
const jobs = "[jobs.catalog-reconcile]\nschedule = 'off'\n[jobs.catalog-sync]\nschedule = 'off'\n";
const [configPath = ""] = await writeFiles(await temporaryFolder(), { "pds.toml": jobs });

for (const engine of enginesOf("sqlite")) {
  describe.each([["in bulk"], ["page by page"]])(`on ${engine}, once the catalog was compared %s`, async (how) => {
    const platform = startPlatform({ products: 12 });
    const environment = {
      ...environmentOf(platform),
      DATABASE_URL: await createStore(engine),
      PDS_CONFIG: configPath,
      MEMORY_MEGABYTES: "0",
    };
    /** The highest id. Tests add products above it. */
    const highest = () =>
      platform.catalog.ids(0, 100).reduce((id, other) => (BigInt(other) > id ? BigInt(other) : id), 0n);
    const newest = highest();
    const [bad = ""] = platform.catalog.ids(4, 1);
    platform.catalog.touch(bad, { product: { publishedAt: "yesterday" } });
    const service = await serve({ ...environment, SCHEDULER: "off" });
    const database = await openDatabase(environment.DATABASE_URL);
    afterAll(() => Promise.all([service.stop(), closeDatabase(database)]));
    let isCompared = false;
    const compare = async () => {
      if (how === "page by page") platform.faults.add({ kind: "bulkFailed", count: 4 });
      expect((await importHere(["run", "catalog-reconcile"], environment)).code).toBe(0);
      isCompared = true;
    };
    const lookUp = async (id: string | bigint) => {
      platform.counters.reset();
      const { status } = await service.get(path(id));
      return [status, countPlatformRequests(platform)];
    };

    test("an unknown product is no longer asked for, but 404", async () => {
      await forgetKnownIds(database);
      expect(await lookUp(newest - 1n)).toEqual([404, 1]);
      await compare();
      expect(await lookUp(newest - 2n)).toEqual([404, 0]);
      expect(await lookUp(1n)).toEqual([404, 0]);
    });

    test("one that may be newer than the comparison is asked for", async () => {
      if (!isCompared) await compare();
      const last = highest();
      expect(await lookUp(last + 1n)).toEqual([404, 1]);
      const added = platform.catalog.add();
      expect(BigInt(added)).toBeGreaterThan(last);
      platform.catalog.touch(added, {}, { at: Math.floor(Date.now() / 1000) - 30 });
      expect(await lookUp(added)).toEqual([200, 1]);
    });

    test("one below a product of the last two minutes is asked for, for lists may be out of order", async () => {
      const last = highest();
      const added = platform.catalog.add({}, `${last + 50n}`);
      platform.catalog.touch(added, {}, { at: Math.floor(Date.now() / 1000) - 30 });
      await compare();
      expect(await lookUp(last + 49n)).toEqual([404, 1]);
      expect(await lookUp(newest - 2n)).toEqual([404, 0]);
    });

    test("one that could not be stored is asked for", async () => {
      if (!isCompared) await compare();
      expect(await lookUp(bad)).toEqual([503, 1]);
      platform.catalog.touch(bad, { product: { publishedAt: "2026-01-01T00:00:00Z" } });
    });

    test("one that something reported since is asked for", async () => {
      if (!isCompared) await compare();
      await noteUpdates(database, [{ id: newest - 3n, updatedAt: "2026-11-01T00:00:00Z" }]);
      expect(await lookUp(newest - 3n)).toEqual([404, 1]);
      expect(await lookUp(newest - 4n)).toEqual([404, 0]);
    });

    test("a sync knows of further products that were created a while ago", async () => {
      if (!isCompared) await compare();
      const last = highest();
      const old = platform.catalog.add({}, `${last + 100n}`);
      platform.catalog.touch(old, {}, { at: Math.floor(Date.now() / 1000) - 600 });
      expect((await importHere(["run", "catalog-sync"], environment)).code).toBe(0);
      expect(await lookUp(last + 2n)).toEqual([404, 0]);
      // The service remembers what was not found, so no other test asks for this id.
      expect(await lookUp(last + 110n)).toEqual([404, 1]);
    });
  });
}

test("one network of clients cannot use up the lookups of the others", async () => {
  const platform = startPlatform({ products: 30 });
  await using service = await serve({
    ...environmentOf(platform),
    DATABASE_URL: await createStore("sqlite"),
    LOOKUPS_PER_MINUTE: "40",
    TRUSTED_PROXIES: "127.0.0.1",
  });
  const statuses = async (client: (index: number) => string, count: number) => {
    const found: number[] = [];
    for (let index = 0; index < count; index++) {
      const headers = { "X-Forwarded-For": client(index) };
      found.push((await service.get(path(BigInt(9_000_000_000_000 + found.length)), { headers })).status);
    }
    return found;
  };
  // The walker changes its address within its network.
  const walked = await statuses((index) => `2001:db8:1:2::${index.toString(16)}`, 60);
  expect(walked.filter((status) => status === 404).length).toBeWithin(10, 20);
  for (const client of ["2001:db8:1:3::1", "192.0.2.1"]) {
    const [next = ""] = platform.catalog.ids(client.length, 1);
    expect((await service.get(path(next), { headers: { "X-Forwarded-For": client } })).status).toBe(200);
  }
  // One of the first network's lookups may have been given back by now.
  expect(await statuses(() => "2001:db8:1:2::1", 20)).toContain(503);
});

test("the budget of lookups refills evenly, for each network and for all", () => {
  const budget = new LookupBudget(40);
  const take = (network: string, nowMs: number) =>
    Array.from({ length: 100 }, () => budget.take(network, nowMs)).filter(Boolean).length;
  expect(["a", "b", "c", "d", "e"].map((network) => take(network, 0))).toEqual([10, 10, 10, 10, 0]);
  expect(take("a", 30_000)).toBe(5);
  expect(take("b", 60_000)).toBe(10);
  expect(new LookupBudget(0).take("a", 60_000)).toBe(false);
});
