import { describe, expect, test } from "bun:test";
import {
  begin,
  casesFor,
  createStore,
  type Engine,
  type Environment,
  engines,
  type Finished,
  isCampaign,
  killRun,
  pds,
  type RunningService,
  serveUntilEnd,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import {
  countPlatformRequests,
  environmentOf,
  getAnswers,
  readAnswers,
  relay,
  type StandIn,
  shop,
  startPlatform,
} from "../support/platform.ts";
import { until } from "../support/until.ts";

const folder = await temporaryFolder();
const [configPath = "", boldConfigPath = ""] = await writeFiles(folder, {
  "pds.toml": "[jobs.catalog-sync]\n[jobs.catalog-reconcile]\n",
  "bold.toml": "[jobs.catalog-sync]\n[jobs.catalog-reconcile]\nmax_removed_share = 1\n",
});

/** A platform, a store, and a service that reads only that store. */
interface World {
  readonly platform: StandIn;
  readonly environment: Environment;
  readonly service: RunningService;
}

async function createWorld(engine: Engine, options: Parameters<typeof startPlatform>[0]): Promise<World> {
  const platform = startPlatform(options);
  const store = { DATABASE_URL: await createStore(engine), BRAND: "acme" };
  const service = await serveUntilEnd({ ...store, SHOP_DOMAIN: shop, MEMORY_MEGABYTES: "0", VISIBLE: "all" });
  return { platform, environment: { ...environmentOf(platform), ...store, PDS_CONFIG: configPath }, service };
}

interface Report {
  readonly outcome: string;
  readonly counts: number;
  readonly notes: readonly string[];
  readonly reason?: string;
}

/** Runs a job to its end. */
async function run({ environment }: World, job: string, also: Environment = {}): Promise<Finished & Report> {
  const finished = await pds(["run", job, "--json"], { ...environment, ...also });
  return { ...finished, ...(JSON.parse(finished.stdout) as Report) };
}

/** Runs a job and expects success. */
async function succeed(world: World, job: string, also: Environment = {}): Promise<Report> {
  const result = await run(world, job, also);
  expect(result).toMatchObject({ code: 0, outcome: "succeeded" });
  return result;
}

const allIds = ({ platform }: World) => platform.catalog.ids(0, platform.catalog.count);

/** Expects that every product, and those besides, is served in the platform's current state. */
const expectRight = (world: World, besides: readonly string[] = []) =>
  expectRightOf(world, [...allIds(world), ...besides]);

async function expectRightOf(world: World, ids: readonly string[]): Promise<void> {
  expect(differing(await getAnswers(world.service, ids), await readAnswers(world.platform, ids))).toEqual([]);
}

/** Identifiers whose responses differ; the responses themselves would fill pages. */
function differing(answers: ReadonlyMap<string, string | undefined>, others: ReadonlyMap<string, string | undefined>) {
  return [...new Set([...answers.keys(), ...others.keys()])].filter((id) => answers.get(id) !== others.get(id));
}

interface Run {
  readonly outcome: string;
  readonly counts: number;
}

async function lastRun({ environment, service }: World, job: string): Promise<Run> {
  const rows = JSON.parse((await pds(["jobs", "--json"], environment)).stdout) as (Run & { job: string })[];
  const { outcome = "", counts = -1 } = rows.find((row) => row.job === job) ?? {};
  const { histories } = (await (await service.get("/api/v1/histories/desc")).json()) as { histories: object[] };
  expect(histories[0]).toMatchObject({ brand: "acme", counts });
  return { outcome, counts };
}

const titled = (title: string) => ({ product: { title } });
const quietly = (value: string) => ({ variantMetafields: { 1: { sku_status: value } } });

/** Sends documents that make the platform refuse a bulk run. */
const refusingBulk = (document: string) => document.replace("groupObjects: true", "groupObjects: true, colour: 1");

/** An instant before now, in seconds since 1970. */
const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;

const tiny = { variants: 1, images: 0, metafields: 0, variantMetafields: 0 } as const;

const specials = ["manyMetafields", "manyImages", "hugeId", "nulls", "hostile", "movedMedia", "bare"] as const;

for (const engine of engines) {
  const world = await createWorld(engine, {
    products: 60,
    variants: [1, 4],
    images: [0, 4],
    metafields: [0, 5],
    specials,
  });
  const { platform, service } = world;
  const { catalog } = platform;
  const syncedFirst = await createWorld(engine, { products: 10, specials });

  describe(`on ${engine}, catalog-reconcile`, () => {
    test("stores every product as a lookup would", async () => {
      expect((await succeed(world, "catalog-reconcile")).counts).toBe(67);
      expect(await lastRun(world, "catalog-reconcile")).toEqual({ outcome: "succeeded", counts: 67 });
      expect(countPlatformRequests(platform, "ProductById")).toBe(0);
      expect(platform.counters.bulkRuns).toBe(2);
      await expectRight(world);
    });

    test("and catalog-sync store the same: the second one finds nothing to do", async () => {
      platform.counters.reset();
      expect((await succeed(world, "catalog-sync")).counts).toBe(0);
      expect(countPlatformRequests(platform, "ProductById")).toBe(0);
      expect((await succeed(syncedFirst, "catalog-sync")).counts).toBe(17);
      expect((await succeed(syncedFirst, "catalog-reconcile")).counts).toBe(0);
      await expectRight(syncedFirst);
    });

    test("stores edits, even without a new timestamp, and additions and removals", async () => {
      const ids = allIds(world);
      for (const id of ids.slice(0, 3)) catalog.touch(id, titled(`Edited ${id}`));
      for (const id of ids.slice(3, 5)) catalog.touch(id, quietly(`Edited ${id}`), { keepUpdatedAt: true });
      for (const id of ids.slice(5, 7)) catalog.remove(id);
      const added = [catalog.add(titled("Added")), catalog.add({}, "9223372036854671000")];
      const { counts, notes } = await succeed(world, "catalog-reconcile");
      expect(counts).toBe(7);
      expect(notes).toEqual(["removed 2 products that the platform no longer has"]);
      await expectRight(world, [...ids.slice(5, 7), ...added]);
    });

    test("starts a bulk operation again that failed", async () => {
      const ids = allIds(world);
      catalog.touch(ids[20] ?? "", titled("After a failure"));
      platform.faults.add({ kind: "bulkFailed", part: 0.5 });
      platform.counters.reset();
      expect(await succeed(world, "catalog-reconcile")).toMatchObject({ counts: 1, notes: [] });
      expect(platform.counters.bulkRuns).toBe(3);
      await expectRight(world, ids);
    });

    test.each(
      casesFor(engine, [
        ["in bulk", (document: string) => document],
        ["one by one", refusingBulk],
      ] as const),
    )("%s changes nothing when too many products would be removed, unless allowed", async (_, change) => {
      const ids = allIds(world);
      const before = await getAnswers(service, ids);
      const gone = ids.slice(-Math.ceil(ids.length / 4));
      for (const id of gone) catalog.remove(id);
      catalog.touch(ids[0] ?? "", titled("Edited meanwhile"));
      const added = catalog.add();
      const { origin } = relay(platform, change);

      const result = await run(world, "catalog-reconcile", { SHOPIFY_API_URL: origin });
      expect(result).toMatchObject({ code: 1, outcome: "failed", counts: 0 });
      // The removals of the tests before count, too.
      expect(result.stderr).toContain(
        `${gone.length} of ${ids.length} products would be removed, more than 20% together with the`,
      );
      expect(result.stderr).toContain("nothing was changed");
      expect(result.stderr).toContain("max_removed_share");
      expect(await lastRun(world, "catalog-reconcile")).toEqual({ outcome: "failed", counts: 0 });
      expect(differing(await getAnswers(service, [...ids, added]), before.set(added, undefined))).toEqual([]);

      await succeed(world, "catalog-reconcile", { SHOPIFY_API_URL: origin, PDS_CONFIG: boldConfigPath });
      await expectRight(world, ids);
    });
  });

  const few = await createWorld(engine, { products: 20, images: [0, 1], metafields: 1 });
  const looking = await serveUntilEnd({ ...few.environment, PDS_CONFIG: "/dev/null", PRODUCT_MAX_AGE: "0" });

  describe(`on ${engine}, a bulk result`, () => {
    test("does not restore a product that was removed meanwhile", async () => {
      const { catalog: edited, bulk, counters } = few.platform;
      await succeed(few, "catalog-reconcile");
      bulk.change({ runningMs: 400 });
      counters.reset();
      const [id = ""] = allIds(few);
      const running = run(few, "catalog-reconcile");
      await until("both bulk operations have started", () => counters.bulkRuns === 2);
      edited.remove(id);
      await until("it is removed", async () => (await getAnswers(looking, [id])).get(id) === undefined);
      expect(await running).toMatchObject({ code: 0 });
      await expectRight(few, [id]);
    });
  });

  // The platform lists 250 on a page: these take two.
  const many = await createWorld(engine, { ...tiny, products: 260 });

  describe(`on ${engine}, catalog-sync`, () => {
    test("stores everything at first, page by page", async () => {
      expect((await succeed(many, "catalog-sync")).counts).toBe(260);
      expect(await lastRun(many, "catalog-sync")).toEqual({ outcome: "succeeded", counts: 260 });
      expect(countPlatformRequests(many.platform, "ProductsUpdatedSince")).toBe(2);
      expect(many.platform.counters.productReads.size).toBe(260);
      await expectRight(many);
    });

    test("reads what was touched, and nothing else", async () => {
      const ids = allIds(many).filter((_, index) => index % 10 === 3);
      for (const id of ids) many.platform.catalog.touch(id, titled(`Touched ${id}`));
      many.platform.counters.reset();
      expect((await succeed(many, "catalog-sync")).counts).toBe(26);
      expect(Object.fromEntries(many.platform.counters.productReads)).toEqual(
        Object.fromEntries(ids.map((id) => [id, 1])),
      );
      for (const [id, answer] of await getAnswers(many.service, ids)) expect(answer).toContain(`"Touched ${id}"`);
      await expectRightOf(many, allIds(many).slice(0, 100));
    });

    test("removes a product that disappears after it was listed", async () => {
      const { platform: shopOf } = many;
      const ids = allIds(many).slice(0, 30);
      const last = ids.at(-1) ?? "";
      // As late as other edits, which the next runs must find.
      for (const id of ids) shopOf.catalog.touch(id, titled("Listed"), { at: secondsAgo(id === last ? 148 : 149) });
      shopOf.counters.reset();
      shopOf.faults.add({ kind: "slow", latencyMs: 300, operation: "ProductById" });
      const running = run(many, "catalog-sync");
      await until("the first is read", () => countPlatformRequests(shopOf, "ProductById") > 0);
      shopOf.catalog.remove(last);
      expect(await running).toMatchObject({ code: 0, counts: 29 });
      await expectRightOf(many, [...ids, ...allIds(many).slice(0, 60)]);
    });

    test("leaves only complete products when killed, and the next run stores the rest", async () => {
      const killed = many.platform;
      const moments = casesFor(engine, [40, 180]);
      await succeed(many, "catalog-sync");
      for (const [round, moment] of moments.entries()) {
        const ids = allIds(many).slice(0, 250);
        const before = await getAnswers(many.service, ids);
        for (const id of ids) killed.catalog.touch(id, titled(`Round ${round}`));
        killed.counters.reset();
        const child = begin(["run", "catalog-sync"], many.environment);
        await until("enough are read", () => countPlatformRequests(killed, "ProductById") >= moment);
        await killRun(child, many.environment.DATABASE_URL ?? "");
        const after = await getAnswers(many.service, ids);
        const right = await readAnswers(killed, ids);
        const neither = [...after].filter(([id, answer]) => answer !== before.get(id) && answer !== right.get(id));
        expect(neither.map(([id]) => id)).toEqual([]);
        const brought = ids.filter((id) => after.get(id) === right.get(id)).length;
        expect(brought).toBeWithin(0, 250);
        killed.counters.reset();
        expect((await succeed(many, "catalog-sync")).counts).toBeWithin(1, 251 - brought);
        expect(countPlatformRequests(killed, "ProductById")).toBeWithin(1, 251 - brought);
      }
      await expectRight(many);
    });
  });
}

describe("a list beyond the platform's limit", () => {
  test.if(isCampaign)("is read completely", async () => {
    const huge = await createWorld("sqlite", { ...tiny, products: 25_600 });
    const { catalog, counters } = huge.platform;
    expect((await succeed(huge, "catalog-reconcile")).counts).toBe(25_600);
    const [last = ""] = catalog.ids(12_345, 1);
    catalog.touch(last, titled("The very last"));
    counters.reset();
    expect((await succeed(huge, "catalog-sync")).counts).toBe(1);
    expect([...counters.productReads.keys()]).toEqual([last]);
    expect(countPlatformRequests(huge.platform, "ProductsUpdatedSince")).toBeGreaterThan(102);
  });
});
