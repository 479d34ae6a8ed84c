import { afterAll, describe, expect, test } from "bun:test";
import type { FaultEffect } from "../../packages/platform-stand-in/src/faults.ts";
import { createStore, type Environment, pds, type RunningService, serve, temporaryFolder } from "../support/pds.ts";
import {
  countPlatformRequests,
  environmentOf,
  getAnswers,
  readAnswers,
  type StandIn,
  startPlatform,
} from "../support/platform.ts";
import { until } from "../support/until.ts";

/** Products to look up in the worst storm; a full campaign sets more. */
const lookups = Number(process.env.STORM_LOOKUPS ?? 60);
const campaign = process.env.STORM_LOOKUPS !== undefined;

const weather: readonly FaultEffect[] = [
  { kind: "status", status: 429, retryAfter: "0.1" },
  { kind: "status", status: 430 },
  { kind: "status", status: 500 },
  { kind: "status", status: 503 },
  { kind: "slow", latencyMs: 60 },
  { kind: "reset" },
  { kind: "halfBody" },
  { kind: "halfJson" },
  { kind: "html" },
  { kind: "throttled" },
  { kind: "internalError" },
];

/** Maximum number of attempts of a request. */
const maxAttempts = 10;
/** A lookup times out after 8 s; the rest is for a busy machine. */
const maxLookupMs = 8000 + 4000;
/** Concurrent lookups; more would wait in the test's own client. */
const concurrency = 100;

// The same seed makes the same catalog: the responses of the twin, which has no faults, are the
// expected ones.
const shape = { products: Math.max(150, lookups), images: [0, 3], metafields: [0, 4], seed: 7 } as const;
const platform = startPlatform(shape);
const twin = startPlatform(shape);
const ids = twin.catalog.ids(0, twin.catalog.count);
const expected = await readAnswers(twin, ids);

const config = `${await temporaryFolder()}/pds.toml`;
await Bun.write(config, "[jobs.catalog-sync]\n");
const stores = await Promise.all(Array.from({ length: 4 }, () => createStore("sqlite")));
const nextStore = () => stores.pop() ?? "";
const environmentWith = (DATABASE_URL: string): Environment => ({ ...environmentOf(platform), DATABASE_URL });

function storm(at: StandIn, faults: readonly FaultEffect[], probability: number): void {
  at.faults.clear();
  at.counters.reset();
  for (const fault of faults) at.faults.add({ ...fault, probability });
}

/** Looks up products: each is right, or rejected with 503. @returns how many were rejected */
async function lookUp(service: RunningService, wanted: readonly string[]): Promise<number> {
  let rejected = 0;
  const queue = wanted.values();
  const lookUpNext = async () => {
    for (const id of queue) if (await isRejected(service, id)) rejected++;
  };
  await Promise.all(Array.from({ length: concurrency }, lookUpNext));
  return rejected;
}

async function isRejected(service: RunningService, id: string): Promise<boolean> {
  const begun = performance.now();
  const response = await service.get(`/api/v1/products/${id}`);
  const text = await response.text();
  expect(performance.now() - begun).toBeLessThan(maxLookupMs);
  if (response.status === 503) {
    expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(JSON.parse(text)).toMatchObject({ product: null, error: expect.stringContaining(`id ${id} could`) });
    return true;
  }
  expect(response.status).toBe(200);
  expect(text).toBe(expected.get(id) ?? "");
  return false;
}

async function expectHealthy(service: RunningService): Promise<void> {
  expect((await service.get("/readyz")).status).toBe(200);
  expect(service.log()).not.toMatch(/"level":60|TypeError|unhandled|shpat_/i);
}

afterAll(() => platform.faults.clear());

describe("in a storm", () => {
  test("of every kind, each a fifth of all requests, lookups are right or rejected in time", async () => {
    const store = nextStore();
    {
      await using service = await serve(environmentWith(store));
      storm(platform, weather, 0.2);
      const wanted = ids.slice(0, lookups);
      expect(await lookUp(service, wanted)).toBeLessThan(wanted.length);
      expect(countPlatformRequests(platform)).toBeLessThanOrEqual(maxAttempts * wanted.length);
      await expectHealthy(service);
    }
    platform.faults.clear();
    await using after = await serve(environmentWith(store));
    // While the platform's points are restored, some would wait too long, and are rejected.
    await until("all can be looked up", async () => (await lookUp(after, ids)) === 0);
  });

  test("of every kind, together a third of all requests, catalog-sync imports everything", async () => {
    const environment = { ...environmentWith(nextStore()), PDS_CONFIG: config };
    storm(platform, weather, 0.04);
    const begun = performance.now();
    expect(await pds(["run", "catalog-sync", "--json"], environment)).toMatchObject({ code: 0 });
    if (campaign) expect(performance.now() - begun).toBeLessThan(100 * ids.length);
    expect(countPlatformRequests(platform)).toBeLessThan(3 * ids.length);
    platform.faults.clear();
    await using service = await serve({ ...environment, SHOPIFY_ACCESS_TOKEN: undefined, PDS_CONFIG: "/dev/null" });
    expect(await getAnswers(service, ids)).toEqual(expected);
  });

  test("with permanent failures, catalog-sync fails, and the products that it could not read are stale", async () => {
    const store = nextStore();
    const environment = { ...environmentWith(store), PDS_CONFIG: config };
    storm(platform, [], 0);
    expect((await pds(["run", "catalog-sync"], environment)).code).toBe(0);
    for (const id of ids) platform.catalog.touch(id, { product: { title: "After the storm" } });
    // A locked shop would end the run at once.
    platform.faults.add({ kind: "status", status: 403, operation: "ProductById", probability: 0.1 });
    const { code, stdout } = await pds(["run", "catalog-sync", "--json"], environment);
    const { counts, notes, outcome } = JSON.parse(stdout) as { counts: number; notes: string[]; outcome: string };
    expect({ code, outcome }).toEqual({ code: 1, outcome: "failed" });
    expect(notes).toHaveLength(ids.length - counts);
    expect(counts).toBeWithin(1, ids.length);
    platform.faults.clear();

    // However recent the sync: a stale product is served at once and refreshed in the background.
    await using service = await serve(environmentWith(store));
    const isNew = (answer: string | undefined) => answer?.includes('"title":"After the storm"') === true;
    const old = [...(await getAnswers(service, ids))].filter(([, answer]) => !isNew(answer));
    expect(old).toHaveLength(ids.length - counts);
    for (const [id] of old) {
      await until("the product is refreshed", async () => isNew((await getAnswers(service, [id])).get(id)));
    }
    expect(await getAnswers(service, ids)).toEqual(await readAnswers(platform, ids));
  });
});
