import { afterAll, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { restorePoints, sharedPoints } from "../../src/catalog/points.ts";
import { catalogSync } from "../../src/catalog/sync.ts";
import { saveCursor } from "../../src/database/cursor.ts";
import { readNow } from "../../src/database/database.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { floors } from "../../src/platforms/shopify/throttle.ts";
import { doWork } from "../support/catalog.ts";
import { createStore, enginesOf } from "../support/pds.ts";
import { connectPlatform, startPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";

const report = (currentlyAvailable: number) => ({ currentlyAvailable, maximumAvailable: 2000, restoreRate: 0.001 });

test("points are restored over time, up to the maximum", () => {
  const points = { available: 100, maximum: 2000, restoreRate: 50, asOf: "2026-01-01T00:00:00.000Z" };
  const availableAt = (now: string) => restorePoints(points, now).available;
  expect(availableAt("2026-01-01T00:00:01.500Z")).toBe(175);
  expect(availableAt("2026-01-01T01:00:00.000Z")).toBe(2000);
  // The clock was set back.
  expect(availableAt("2025-12-31T23:59:00.000Z")).toBe(100);
});

for (const engine of enginesOf("postgres")) {
  describe(`on ${engine}, the points of a shop`, async () => {
    const url = await createStore(engine);
    // Connections in one process must not block its event loop.
    const [database, other] = [await openDatabase(url, "scheduling"), await openDatabase(url, "scheduling")];
    afterAll(() => Promise.all([closeDatabase(database), closeDatabase(other)]));
    /** Sets the stored budget; it does not change while a test runs. */
    const set = async (available: number) => {
      const points = { available, maximum: 2000, restoreRate: 0.001, asOf: await readNow(database) };
      await saveCursor(database, "platform-points", JSON.stringify(points));
    };

    test("are restored again after the clock was set back", async () => {
      const points = { available: 0, maximum: 2000, restoreRate: 1000, asOf: "2100-01-01T00:00:00.000Z" };
      await saveCursor(database, "platform-points", JSON.stringify(points));
      expect(await sharedPoints(database).take(5, 0)).toBeGreaterThan(0);
      await until("there are five points", async () => (await sharedPoints(database).take(5, 0)) === 0);
    });

    /** Keeps time from restoring points of the assumed budget. */
    const keep = async () => {
      const [row] = await database.read<{ value: string }>("SELECT value FROM cursor WHERE name = $1", [
        "platform-points",
      ]);
      const points = { ...JSON.parse(row?.value ?? ""), restoreRate: 0.001 };
      await saveCursor(database, "platform-points", JSON.stringify(points));
    };

    test("are those of the smallest plan, or fewer, until they are reported", async () => {
      await database.sql`DELETE FROM cursor WHERE name = 'platform-points'`;
      expect(await sharedPoints(database).take(900, 0)).toBe(0);
      await keep();
      expect(await sharedPoints(other).take(900, 0)).toBeGreaterThan(0);
      await sharedPoints(database).settle(0, report(1950));
      expect(await sharedPoints(other).take(1900, 0)).toBe(0);
    });

    test("are spent once, no matter which process asks", async () => {
      await set(1000);
      const taken = await Promise.all(
        Array.from({ length: 20 }, (_, index) => sharedPoints(index % 2 === 0 ? database : other).take(100, 0)),
      );
      expect(taken.filter((waitMs) => waitMs === 0)).toHaveLength(10);
    });

    test("are left for more urgent requests", async () => {
      await set(1499);
      const admits = async (floor: number) => (await sharedPoints(other).take(100, floor)) === 0;
      expect(await admits(floors.refresh)).toBe(false);
      expect(await admits(floors.sync)).toBe(true);
      await set(499);
      expect(await admits(floors.sync)).toBe(false);
      expect(await admits(floors.push)).toBe(true);
      await set(100);
      expect(await admits(floors.push)).toBe(false);
      expect(await admits(floors.live)).toBe(true);
    });

    test("are never more than reported, and grow by what was not spent", async () => {
      await set(1000);
      expect(await sharedPoints(database).take(800, 0)).toBe(0);
      await sharedPoints(database).settle(700, report(2000));
      expect(await sharedPoints(other).take(901, 0)).toBeGreaterThan(0);
      expect(await sharedPoints(other).take(899, 0)).toBe(0);
      await set(1500);
      await sharedPoints(database).settle(0, report(300));
      expect(await sharedPoints(other).take(400, 0)).toBeGreaterThan(0);
    });
  });
}

test("a process that was frozen while it took points hardly delays the others", async () => {
  const platform = startPlatform({ products: 6 });
  const url = await createStore("postgres");
  const database = await openDatabase(url, "scheduling");
  const points = sharedPoints(database);
  const done = Promise.withResolvers<void>();
  let isLocked = false;
  const attemptsAtMs: number[] = [];
  /** While the row is locked, an attempt lasts until the lock is released. */
  const take: typeof points.take = async (...request) => {
    if (isLocked) attemptsAtMs.push(performance.now());
    const taken = await Promise.allSettled([points.take(...request), isLocked ? done.promise : undefined]);
    return taken[0].status === "fulfilled" ? taken[0].value : Promise.reject(taken[0].reason);
  };
  const reader = await connectPlatform(platform, { ...points, take });
  const read = async (id = "") =>
    (await reader.readProduct(BigInt(id), { priority: "live", signal: new AbortController().signal }))?.found;
  const [first, ...ids] = platform.catalog.ids(0, 6);
  expect(await read(first)).toBeDefined();
  await using frozen = new SQL(url, { max: 1 });
  const holding = frozen.begin(async (sql) => {
    await sql`UPDATE cursor SET value = value WHERE name = 'platform-points'`;
    isLocked = true;
    await done.promise;
  });
  await until("the row is locked", () => isLocked);
  for (const id of ids) expect(await read(id)).toBeDefined();
  // A request gives up waiting for the lock, and those of the next five seconds do not wait at all.
  expect(attemptsAtMs.length).toBeGreaterThan(0);
  for (const [index, atMs] of attemptsAtMs.entries()) {
    expect(atMs - (attemptsAtMs[index - 1] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(5000);
  }
  done.resolve();
  await holding;
  await closeDatabase(database);
});

test("a refresh of a product with 2,048 variants takes no points that a sync needs", async () => {
  const bucket = { maximumAvailable: 2000, restoreRate: 700 };
  const platform = startPlatform({ products: 60, specials: ["manyVariants"], bucket });
  const { catalog, counters } = platform;
  const database = await openDatabase(await createStore("sqlite"));
  afterAll(() => closeDatabase(database));
  const signal = new AbortController().signal;
  await saveCursor(database, "catalog-sync", new Date(Date.now() - 50_000).toISOString());
  for (const id of catalog.ids(0, 60)) catalog.touch(id, { product: { title: "Edited" } });

  const large = BigInt(catalog.idOfSpecial("manyVariants"));
  const platformOfRefresh = await connectPlatform(platform, sharedPoints(database));
  const refreshed = platformOfRefresh.readProduct(large, { priority: "refresh", signal });
  await until("it is being read", () => (counters.requests.get("ProductVariantsPage") ?? 0) > 2);
  counters.lowest.clear();
  const platformOfSync = await connectPlatform(platform, sharedPoints(database));
  expect(await doWork(database, catalogSync(platformOfSync, 0.2))).toMatchObject({ counts: 60, error: undefined });
  expect((await refreshed).found?.product.variants).toHaveLength(2048);

  // The platform rounds what is left down.
  expect(counters.lowest.get("ProductVariantsPage")).toBeGreaterThanOrEqual(floors.refresh - 1);
  expect(counters.lowest.get("ProductById")).toBeGreaterThanOrEqual(floors.sync - 1);
  expect(counters.throttled).toBe(0);
});
