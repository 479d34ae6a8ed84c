import { describe, expect, test } from "bun:test";
import { toProduct } from "../support/catalog.ts";
import { importHere } from "../support/import-here.ts";
import {
  connectTo,
  createStore,
  type Environment,
  enginesOf,
  pds,
  type RunningService,
  serveUntilEnd,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import {
  countPlatformRequests,
  environmentOf,
  readAnswers,
  relay,
  type StandIn,
  shop,
  startPlatform,
} from "../support/platform.ts";
import { until, untilEqual } from "../support/until.ts";

const folder = await temporaryFolder();
const [configPath = ""] = await writeFiles(folder, { "pds.toml": "[jobs.catalog-sync]\n[jobs.catalog-reconcile]\n" });

// Tests run concurrently, because they mostly wait for edits to settle.

const path = (id: string) => `/api/v1/products/${id}`;
const otherShop = "gid://shopify/Shop/2";
const titled = (title: string) => ({ product: { title } });

async function run(job: string, environment: Environment) {
  const finished = await importHere(["run", job, "--json"], { PDS_CONFIG: configPath, ...environment });
  const { notes, counts } = JSON.parse(finished.stdout) as { notes: string[]; counts: number };
  return { ...finished, notes, counts };
}

const answerOf = async (service: RunningService, id: string) => (await service.get(path(id))).text();
const statusOf = async (service: RunningService, id: string) => (await service.get(path(id))).status;
const statusesOf = async (service: RunningService, ids: readonly string[]) =>
  Promise.all(ids.map((id) => statusOf(service, id)));
const countOf = <T>(values: readonly T[], wanted: T) => values.filter((value) => value === wanted).length;
const idsOf = ({ catalog }: StandIn) => catalog.ids(0, catalog.count);

/** The current second. A second change within it keeps `updatedAt`, as on the real platform. */
const currentSecond = () => Math.floor(Date.now() / 1000);

/**
 * A proxy that edits a product when it is first read, so that it cannot have settled. The next read
 * waits for the second edit.
 * @returns the address, and a function for another edit in the same second
 */
function editWhenRead(platform: StandIn, id: string) {
  let at: number | undefined;
  const edited = Promise.withResolvers<void>();
  const { origin } = relay(platform, async (document) => {
    if (!document.includes("query ProductById")) return document;
    if (at === undefined) {
      at = currentSecond();
      platform.catalog.touch(id, titled("First edit"), { at });
    } else await edited.promise;
    return document;
  });
  const editAgain = () => {
    platform.catalog.touch(id, titled("Second edit"), { at: at ?? currentSecond() });
    edited.resolve();
  };
  return { origin, editAgain };
}

/** A service that reads each product from the store, without a way to the platform. */
const startReader = (DATABASE_URL: string) =>
  serveUntilEnd({ DATABASE_URL, SHOP_DOMAIN: shop, MEMORY_MEGABYTES: "0", VISIBLE: "all" });

const livePlatform = (options: Parameters<typeof startPlatform>[0]) => startPlatform({ now: Date.now, ...options });

describe.each([...enginesOf("sqlite")])("on %s, two changes within one second of the platform's clock", (engine) => {
  test.concurrent("are both stored by catalog-sync, even when it reads the first one alone", async () => {
    const platform = livePlatform({ products: 3 });
    const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine) };
    const service = await startReader(environment.DATABASE_URL);
    await run("catalog-sync", environment);
    const [id = ""] = idsOf(platform);
    platform.catalog.touch(id, titled("Listed"));
    const { origin, editAgain } = editWhenRead(platform, id);
    const syncing = run("catalog-sync", { ...environment, SHOPIFY_API_URL: origin });
    await until("the first edit is stored", async () => (await answerOf(service, id)).includes("First edit"));
    editAgain();
    expect(await syncing).toMatchObject({ code: 0, counts: 1 });
    expect(await answerOf(service, id)).toBe((await readAnswers(platform, [id])).get(id) ?? "");
    expect(await answerOf(service, id)).toContain("Second edit");
  });

  test.concurrent("are both stored by a lookup, without any job", async () => {
    const platform = livePlatform({ products: 3 });
    const [id = ""] = idsOf(platform);
    const { origin, editAgain } = editWhenRead(platform, id);
    const service = await serveUntilEnd({ ...environmentOf({ origin }), DATABASE_URL: await createStore(engine) });
    expect(await answerOf(service, id)).toContain("First edit");
    editAgain();
    await until("the second edit is served", async () => (await answerOf(service, id)).includes("Second edit"));
  });

  test.concurrent("never mix in one response when the second comes between two pages", async () => {
    const platform = livePlatform({ products: 1, specials: ["manyMetafields"] });
    const id = platform.catalog.idOfSpecial("manyMetafields");
    let at = 0;
    let edits = 0;
    const { origin } = relay(platform, (document) => {
      if (at === 0 && document.includes("query ProductById")) {
        at = currentSecond();
        platform.catalog.touch(id, titled("First edit"), { at });
      } else if (at > 0 && edits++ === 0) {
        const variantMetafields = { 1: { sku_status: "Second" } };
        platform.catalog.touch(id, { ...titled("Second edit"), variantMetafields }, { at });
      }
      return document;
    });
    const service = await serveUntilEnd({ ...environmentOf({ origin }), DATABASE_URL: await createStore(engine) });
    await until("the product is served", async () => (await statusOf(service, id)) === 200);
    expect(edits).toBeGreaterThan(0);
    expect(await answerOf(service, id)).toBe((await readAnswers(platform, [id])).get(id) ?? "");
  });

  test.concurrent("are both stored by catalog-reconcile during the bulk operations", async () => {
    const platform = livePlatform({ products: 3, bulk: { createdMs: 0, runningMs: 500 } });
    const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine) };
    const service = await startReader(environment.DATABASE_URL);
    const [id = ""] = idsOf(platform);
    const { origin, editAgain } = editWhenRead(platform, id);
    const comparing = run("catalog-reconcile", { ...environment, SHOPIFY_API_URL: origin });
    await until("both bulk operations have started", () => platform.counters.bulkRuns === 2);
    platform.catalog.touch(id, titled("Listed"));
    await until("the first edit is stored", async () => (await answerOf(service, id)).includes("First edit"));
    editAgain();
    expect(await comparing).toMatchObject({ code: 0 });
    expect(await answerOf(service, id)).toBe((await readAnswers(platform, [id])).get(id) ?? "");
    expect(await answerOf(service, id)).toContain("Second edit");
  });
});

describe.each([...enginesOf("sqlite")])("on %s, catalog-reconcile", (engine) => {
  test.concurrent("mixes no states, though bulk operations and the list of changes lag behind", async () => {
    const platform = livePlatform({ products: 40, lag: { lagMs: 9000, probability: 0.5, lists: true } });
    const ids = idsOf(platform);
    const { origin } = relay(platform, (document) => {
      platform.lag.change({ probability: document.includes("query ProductsUpdatedSince") ? 1 : 0.5 });
      return document;
    });
    for (const id of ids) {
      platform.catalog.touch(id, { ...titled("After"), variants: { 1: { sku: "AFTER" }, 2: { sku: "AFTER" } } });
    }
    const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine) };
    expect((await run("catalog-reconcile", { ...environment, SHOPIFY_API_URL: origin })).code).toBe(0);
    await using sql = await connectTo(environment.DATABASE_URL);
    const stored: { document: string }[] = await sql`SELECT document FROM product`;
    const states = stored.map(({ document }) => document.match(/AFTER|"title":"After"/g)?.length);
    expect(states).toEqual(ids.map(() => 3));
  });
});

describe.each([...enginesOf("sqlite")])("on %s, catalog-sync", (engine) => {
  const createWorld = async (options: Parameters<typeof startPlatform>[0]) => {
    const platform = livePlatform(options);
    const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine) };
    const service = await serveUntilEnd({ ...environment, LOOKUPS_PER_MINUTE: "0", MEMORY_MEGABYTES: "0" });
    return { platform, environment, service };
  };

  test.concurrent("reads a change again whose parts became visible after its updatedAt", async () => {
    const { platform, environment, service } = await createWorld({ products: 2 });
    const [id = ""] = idsOf(platform);
    expect((await run("catalog-sync", environment)).code).toBe(0);
    platform.catalog.touch(id, titled("Parent"));
    expect((await run("catalog-sync", environment)).code).toBe(0);
    platform.catalog.touch(id, { variants: { 1: { sku: "LATE-CHILD" } } }, { keepUpdatedAt: true });
    expect(await answerOf(service, id)).not.toContain("LATE-CHILD");
    expect(await run("catalog-sync", environment)).toMatchObject({ code: 0, counts: 1 });
    expect(await answerOf(service, id)).toBe((await readAnswers(platform, [id])).get(id) ?? "");
    let metrics = "";
    await until("metrics show no unsettled product", async () => {
      metrics = await (await fetch(`${service.adminUrl}/metrics`)).text();
      return metrics.includes("pds_catalog_unsettled_products 0");
    });
    // A busy machine may have taken more than a minute since the sync.
    expect(metrics).toContain('pds_catalog_verified_ratio{within="600"} 1');
    const page = await (await fetch(`${service.adminUrl}/products/${id}`)).text();
    expect(page).toMatch(/sync, in [\d,]+ ms/);
  });

  test.concurrent("stores a change after the platform's clock was set back", async () => {
    const { platform, environment, service } = await createWorld({ products: 2 });
    const [id = ""] = idsOf(platform);
    expect((await run("catalog-sync", environment)).code).toBe(0);
    const ahead = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, "");
    await using sql = await connectTo(environment.DATABASE_URL);
    // As if all had been read long ago, with that clock an hour ahead.
    await sql`UPDATE cursor SET value = ${ahead} WHERE name = 'catalog-sync'`;
    await sql`UPDATE product SET updated_at = ${ahead}, read_from = '2026-01-01T00:00:00.000Z' WHERE id = ${id}`;
    platform.catalog.touch(id, titled("After"));
    expect(await run("catalog-sync", environment)).toMatchObject({ code: 0, counts: 1 });
    expect(await answerOf(service, id)).toBe((await readAnswers(platform, [id])).get(id) ?? "");
  });

  test.concurrent("keeps a new product while the platform's reads lag behind its lists", async () => {
    const { platform, environment, service } = await createWorld({ products: 2 });
    expect((await run("catalog-sync", environment)).code).toBe(0);
    const id = platform.catalog.add(titled("New"));
    expect((await run("catalog-sync", environment)).code).toBe(0);
    expect(await statusOf(service, id)).toBe(200);
    platform.lag.change({ lagMs: 8000, probability: 1 });
    platform.catalog.touch(id, titled("Newer"));
    const statuses = new Set<number>();
    const syncing = run("catalog-sync", environment);
    const isDone = syncing.then(() => true);
    while (!(await Promise.race([isDone, Bun.sleep(50)]))) statuses.add(await statusOf(service, id));
    expect(await syncing).toMatchObject({ code: 0, counts: 1 });
    expect([...statuses]).toEqual([200]);
    expect(await answerOf(service, id)).toContain('"Newer"');
  });

  test.concurrent("names a product whose pages do not agree, and reports it after a minute", async () => {
    const { platform, environment, service } = await createWorld({ products: 1, specials: ["manyMetafields"] });
    const id = platform.catalog.idOfSpecial("manyMetafields");
    platform.faults.add({ kind: "changeBetweenPages", count: 999 });
    const { code, notes } = await run("catalog-sync", environment);
    expect(code).toBe(0);
    expect(notes).toContain(`product ${id} is not stored, because it changes while it is read`);
    await using sql = await connectTo(environment.DATABASE_URL);
    const waiting = async () =>
      (await (await fetch(`${service.adminUrl}/metrics`)).text()).match(/^pds_catalog_waiting_products (\d+)$/m)?.[1];
    const waitSince = (instant: string) =>
      sql`UPDATE product_news SET waiting_since = ${instant} WHERE waiting_since IS NOT NULL`;
    // On a busy machine, that run may have taken a minute.
    await waitSince(new Date().toISOString());
    await untilEqual(waiting, "0");
    await waitSince("2026-01-01T00:00:00.000Z");
    await untilEqual(waiting, "1");
    platform.faults.clear();
    expect((await run("catalog-sync", environment)).code).toBe(0);
    await untilEqual(waiting, "0");
    expect(await answerOf(service, id)).toBe((await readAnswers(platform, [id])).get(id) ?? "");
  });
});

describe("a product that keeps changing", () => {
  test.concurrent("is served as last read, with a note that the next run reads it again", async () => {
    const platform = livePlatform({ products: 3 });
    const environment = { ...environmentOf(platform), DATABASE_URL: await createStore("sqlite") };
    const [id = ""] = idsOf(platform);
    let edits = 0;
    const edit = () => platform.catalog.touch(id, titled(`Edit ${++edits}`), { at: currentSecond() });
    edit();
    const editing = setInterval(edit, 100);
    const { code, notes } = await run("catalog-sync", environment);
    clearInterval(editing);
    platform.catalog.touch(id, titled("The last edit"));
    expect({ code, notes }).toEqual({
      code: 0,
      notes: ["products that keep changing, which the next run reads again: 1"],
    });
    const service = await serveUntilEnd({ DATABASE_URL: environment.DATABASE_URL, SHOP_DOMAIN: shop, VISIBLE: "all" });
    expect(await answerOf(service, id)).toMatch(/Edit \d+/);
    expect(await run("catalog-sync", environment)).toMatchObject({ code: 0, counts: 1 });
  });
});

describe.each([...enginesOf("sqlite")])("on %s, removals", (engine) => {
  test.concurrent("are refused by lookups and jobs when another shop answers", async () => {
    const platform = startPlatform({ products: 40 });
    const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine), PRODUCT_MAX_AGE: "0" };
    expect((await run("catalog-reconcile", environment)).code).toBe(0);
    const ids = idsOf(platform);

    const other = startPlatform({ products: 0, shop: { id: otherShop } });
    const wrong = { ...environment, SHOPIFY_API_URL: other.origin };
    const service = await serveUntilEnd(wrong);
    expect(countOf(await statusesOf(service, ids), 200)).toBe(40);
    await until("all are looked up at the other shop", () => countPlatformRequests(other, "ProductById") >= 40);
    await until("the log names the shop", () => service.log().includes(otherShop));
    for (const job of ["catalog-sync", "catalog-reconcile"]) {
      const { code, stderr } = await run(job, wrong);
      expect(code).toBe(1);
      expect(stderr).toContain(`the platform answers as shop ${otherShop}`);
      expect(stderr).toContain("nothing was changed");
    }
    expect(await statusOf(service, `${2n ** 62n}`)).toBe(503);
    const again = await serveUntilEnd({ ...environment, PRODUCT_MAX_AGE: "86400" });
    expect(countOf(await statusesOf(again, ids), 200)).toBe(40);
  });

  test.concurrent("need another shop to be accepted on purpose, by its id", async () => {
    const environment = { DATABASE_URL: await createStore(engine) };
    const first = { ...environment, ...environmentOf(startPlatform({ products: 3 })) };
    const otherPlatform = startPlatform({ products: 0, shop: { id: otherShop } });
    const other = { ...environment, ...environmentOf(otherPlatform) };
    expect((await run("catalog-reconcile", first)).code).toBe(0);
    const added = otherPlatform.catalog.add({}, "1000");
    const stored = "gid://shopify/Shop/53320891";
    const platformShop = async (...options: string[]) => pds(["platform", "shop", ...options], other);
    expect(await platformShop("--json")).toMatchObject({
      code: 1,
      stdout: `${JSON.stringify({ stored, answering: otherShop }, null, 2)}\n`,
    });
    const refused = await platformShop("--change-to", stored);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`answers as shop ${otherShop}, not as ${stored}: nothing was changed`);
    expect((await run("catalog-reconcile", other)).code).toBe(1);
    expect((await platformShop("--change-to", otherShop)).code).toBe(0);
    // It is older than the products of the first shop, which says nothing of this one.
    const service = await serveUntilEnd({ ...other, SCHEDULER: "off" });
    expect(await statusesOf(service, [added])).toEqual([200]);
    expect(await run("catalog-reconcile", other)).toMatchObject({
      code: 0,
      notes: ["removed 3 products that the platform no longer has"],
    });
    expect((await run("catalog-sync", first)).stderr).toContain(`the stored products are from shop ${otherShop}`);
  });

  test.concurrent("continue when the shop moves to another domain", async () => {
    const platform = startPlatform({ products: 3 });
    const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine) };
    expect((await run("catalog-sync", environment)).code).toBe(0);
    const moved = startPlatform({ products: 3, shop: { myshopifyDomain: "moved.myshopify.com" } });
    const there = { ...environment, SHOP_DOMAIN: "moved.myshopify.com", SHOPIFY_API_URL: moved.origin };
    expect((await run("catalog-sync", there)).code).toBe(0);
  });

  test.concurrent("one by one stop at the allowed share, which counts those of all ways", async () => {
    const platform = startPlatform({ products: 40 });
    const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine), PRODUCT_MAX_AGE: "0" };
    expect((await run("catalog-reconcile", environment)).code).toBe(0);
    const ids = idsOf(platform);
    for (const id of ids) platform.catalog.remove(id);
    const service = await serveUntilEnd(environment);
    await statusesOf(service, ids);
    await until("the guard stops the removals", () =>
      service.log().includes("too many products were removed in the last 24 hours"),
    );
    await until("all have been looked up", () => countPlatformRequests(platform, "ProductById") >= 40);
    await until("eight are removed", async () => countOf(await statusesOf(service, ids), 404) === 8);
    // A new process and other ways count them too.
    const { code, stderr } = await run("catalog-reconcile", environment);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(
        "32 of 32 products would be removed, more than 20% together with the 8 products of the last 24 hours",
      ),
    });
    const synced = await run("catalog-sync", environment);
    expect(synced.notes.filter((note) => note.includes("no longer exists on the platform"))).toHaveLength(32);
    expect(countOf(await statusesOf(service, ids), 404)).toBe(8);
    const [bold = ""] = await writeFiles(folder, {
      [`bold-${engine}.toml`]: "[jobs.catalog-reconcile]\nmax_removed_share = 1\n",
    });
    expect((await run("catalog-reconcile", { ...environment, PDS_CONFIG: bold })).code).toBe(0);
    await until("all are removed", async () => countOf(await statusesOf(service, ids), 404) === 40);
  });

  test.concurrent.each([
    ["catalog-reconcile", ["removed 1 product that the platform no longer has"]],
    ["catalog-sync", []],
  ])("of one in four are allowed in a shop of four, and happen in the next %s", async (job, notes) => {
    const platform = startPlatform({ products: 4 });
    const environment = { ...environmentOf(platform), DATABASE_URL: await createStore(engine) };
    for (const first of ["catalog-reconcile", "catalog-sync"]) expect((await run(first, environment)).code).toBe(0);
    const [id = ""] = idsOf(platform);
    platform.catalog.remove(id);
    expect(await run(job, environment)).toMatchObject({ code: 0, notes });
    const service = await serveUntilEnd({ DATABASE_URL: environment.DATABASE_URL, SHOP_DOMAIN: shop, VISIBLE: "all" });
    expect(await statusOf(service, id)).toBe(404);
    expect(countOf(await statusesOf(service, idsOf(platform)), 200)).toBe(3);
  });
});

describe.each([...enginesOf("sqlite")])("on %s, a hidden product", (engine) => {
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, "+00:00");

  test.concurrent("is a 404 unless all are served, and the import counts them", async () => {
    const hidden = [
      { ...toProduct(2), status: "draft" },
      { ...toProduct(3), status: "archived" },
      { ...toProduct(4), published_at: null },
      { ...toProduct(5), published_at: inAnHour() },
    ];
    const shown = [toProduct(1), ...Array.from({ length: 5 }, (_, index) => toProduct(10 + index))];
    const [file = ""] = await writeFiles(folder, {
      "hidden.ndjson": [...shown, ...hidden].map((product) => JSON.stringify(product)).join("\n"),
    });
    const environment = { DATABASE_URL: await createStore(engine), SHOP_DOMAIN: shop };
    const { code, stderr } = await importHere(["import", "products", file], environment);
    expect(code).toBe(0);
    expect(stderr).toContain("warning: hidden products: 4 of 10,");
    expect(stderr).toContain("VISIBLE=all");

    const service = await serveUntilEnd(environment);
    expect(await statusOf(service, "1")).toBe(200);
    expect(await statusesOf(service, ["2", "3", "4", "5"])).toEqual([404, 404, 404, 404]);
    const withoutReference = (body: string) => body.replace(/this id: .*$/, "");
    const [draft, unknown] = [await answerOf(service, "2"), await answerOf(service, "6")];
    expect(withoutReference(draft).replace("with id 2 ", "with id 6 ")).toBe(withoutReference(unknown));
    const open = await serveUntilEnd({ ...environment, VISIBLE: "all" });
    expect(await statusesOf(open, ["1", "2", "3", "4", "5"])).toEqual([200, 200, 200, 200, 200]);
  });

  test.concurrent("appears when it is published, and disappears when it is unpublished", async () => {
    const platform = startPlatform({ products: 30 });
    const { VISIBLE: _, ...rest } = environmentOf(platform);
    const environment = { ...rest, DATABASE_URL: await createStore(engine) };
    const ids = idsOf(platform);
    const publishedAt = "2026-01-01T00:00:00Z";
    for (const id of ids) platform.catalog.touch(id, { product: { status: "ACTIVE", publishedAt } });
    const [id = "", unlisted = ""] = ids;
    platform.catalog.touch(id, { product: { status: "DRAFT" } });
    platform.catalog.touch(unlisted, { product: { status: "UNLISTED" } });
    const { code, notes } = await run("catalog-reconcile", environment);
    expect({ code, notes }).toEqual({
      code: 0,
      notes: ["hidden products: 1 of 30, because they are drafts, archived, or not published"],
    });
    const service = await serveUntilEnd(environment);
    expect(await statusesOf(service, [id, unlisted])).toEqual([404, 200]);
    platform.catalog.touch(id, { product: { status: "ACTIVE" } });
    expect((await run("catalog-sync", environment)).code).toBe(0);
    await until("it is served", async () => (await statusOf(service, id)) === 200);
    platform.catalog.touch(id, { product: { publishedAt: null } });
    expect((await run("catalog-sync", environment)).code).toBe(0);
    await until("it is hidden", async () => (await statusOf(service, id)) === 404);
  });
});
