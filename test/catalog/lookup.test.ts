import { beforeAll, describe, expect, test } from "bun:test";
import { productAnswerSchema } from "../../src/contract/product.ts";
import { createStore, enginesOf, serve, serveUntilEnd } from "../support/pds.ts";
import { countPlatformRequests, environmentOf, readAnswers, relay, shop, startPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";

const path = (id: string) => `/api/v1/products/${id}`;

interface Envelope {
  readonly product: { readonly title: string } | null;
  readonly shop: string;
  readonly error: string | null;
}

const titleOf = async (response: Response) => ((await response.json()) as Envelope).product?.title;

/** A failed lookup: the envelope, the request reference at its end, and no internals. */
async function expectFailure(response: Response, id: string, status: number): Promise<void> {
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.has("retry-after")).toBe(status === 503);
  const text = await response.text();
  const body = JSON.parse(text) as Envelope;
  expect(Object.keys(body)).toEqual(["product", "shop", "error"]);
  expect(body).toMatchObject({ product: null, shop });
  expect(body.error).toStartWith(`The product with id ${id} could not be found: `);
  expect(body.error).toEndWith(` ${response.headers.get("x-request-id")}`);
  expect(text).not.toMatch(/shpat|127\.0\.0\.1|localhost|https?:|graphql|\.ts|status \d/i);
}

const unknownIds = Array.from({ length: 400 }, (_, index) => `${7_000_000_000_001 + index}`);

// This request takes as long as the timeout, so it starts first and is checked later.
const awayPlatform = startPlatform({ products: 2 });
const away = await serveUntilEnd({
  ...environmentOf(awayPlatform),
  DATABASE_URL: await createStore("sqlite"),
  PRODUCT_MAX_AGE: "0",
});
const awayIds = awayPlatform.catalog.ids(0, 2);
const beforeAway = await Promise.all(awayIds.map(async (id) => (await away.get(path(id))).text()));
await awayPlatform.stop();
const askedWhileAway = away.get(path("42"));

const agingPlatform = startPlatform({ products: 10 });
const agingStore = await createStore("sqlite");
/** When each product was read on the platform. */
const readAtMs: number[] = [];
/** Reads of products wait for it. */
let released = Promise.resolve();
const agingEnvironment = environmentOf(
  relay(agingPlatform, async (document) => {
    if (document.includes("query ProductById")) {
      readAtMs.push(performance.now());
      await released;
    }
    return document;
  }),
);
const aging = await serveUntilEnd({ ...agingEnvironment, DATABASE_URL: agingStore, PRODUCT_MAX_AGE: "0" });

for (const engine of enginesOf("sqlite")) {
  const platform = startPlatform({ products: 10, specials: ["hugeId", "hostile", "manyMetafields"] });
  const store = await createStore(engine);
  const service = await serveUntilEnd({ ...environmentOf(platform), DATABASE_URL: store });
  const plain = await serveUntilEnd({ SHOP_DOMAIN: shop, DATABASE_URL: store, VISIBLE: "all" });

  describe(`on ${engine}, a product that is not stored`, () => {
    test("is read once for concurrent requests, and served from the store afterward", async () => {
      const [id = ""] = platform.catalog.ids(0, 1);
      platform.counters.reset();
      platform.faults.add({ kind: "slow", latencyMs: 400, operation: "ProductById" });
      const responses = await Promise.all(Array.from({ length: 50 }, () => service.get(path(id))));
      const bodies = new Set(await Promise.all(responses.map((response) => response.text())));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
      expect(countPlatformRequests(platform)).toBe(1);
      const [body = ""] = bodies;
      expect(bodies.size).toBe(1);
      expect(productAnswerSchema.unwrap().strict().parse(JSON.parse(body))).toMatchObject({ shop, error: null });

      for (const each of [service, plain]) expect(await (await each.get(path(id))).text()).toBe(body);
      expect(countPlatformRequests(platform)).toBe(1);
      expect((await readAnswers(platform, [id])).get(id)).toBe(body);
    });

    test.each(["hugeId", "hostile", "manyMetafields"] as const)("is complete and exact: %s", async (special) => {
      const id = platform.catalog.idOfSpecial(special);
      const body = await (await service.get(path(id))).text();
      expect(body).toContain(`{"product":{"id":${id},`);
      expect(body).toBe((await readAnswers(platform, [id])).get(id) ?? "");
      expect(await (await plain.get(path(id))).text()).toBe(body);
    });

    test("and not on the platform is a cached 404", async () => {
      const id = unknownIds[0] ?? "";
      platform.counters.reset();
      for (let time = 0; time < 5; time++) await expectFailure(await service.get(path(id)), id, 404);
      expect(countPlatformRequests(platform)).toBe(1);
    });

    test("is found by its handle, read once for concurrent requests, and stored", async () => {
      const id = platform.catalog.ids(0, 2).at(-1) ?? "";
      const { handle = "" } = platform.catalog.findProduct(id) ?? {};
      platform.counters.reset();
      platform.faults.add({ kind: "slow", latencyMs: 400, operation: "ProductByHandle" });
      const responses = await Promise.all(Array.from({ length: 20 }, () => service.get(path(`handle/${handle}`))));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
      expect(Object.fromEntries(platform.counters.requests)).toEqual({ ProductByHandle: 1, ProductById: 1 });
      expect((await plain.get(path(`handle/${handle}`))).status).toBe(200);
      const body = (await readAnswers(platform, [id])).get(id) ?? "";
      for (const response of responses) expect(await response.text()).toBe(body);
    });

    test("has the handle that it was given on the platform, and no longer the one before", async () => {
      const id = platform.catalog.ids(0, 3).at(-1) ?? "";
      const { handle: before = "" } = platform.catalog.findProduct(id) ?? {};
      const statusOf = async (handle: string) => (await service.get(path(`handle/${handle}`))).status;
      expect([await statusOf(before), await statusOf("renamed")]).toEqual([200, 404]);
      platform.catalog.touch(id, { product: { handle: "renamed-again" } });
      // The store does not know of it yet.
      expect([await statusOf(before), await statusOf("renamed-again")]).toEqual([200, 200]);
      await until("the handle before is gone", async () => (await statusOf(before)) === 404);
      expect(await (await service.get(path("handle/renamed-again"))).text()).toBe(
        (await readAnswers(platform, [id])).get(id) ?? "",
      );
    });

    test("and whose handle is not on the platform is a cached 404", async () => {
      platform.counters.reset();
      for (let time = 0; time < 5; time++) {
        expect((await service.get(path("handle/no-such-handle"))).status).toBe(404);
        expect((await service.get(path("handle/a%0Ab"))).status).toBe(400);
      }
      expect(countPlatformRequests(platform)).toBe(1);
    });

    test("and cannot be converted is named, and not read again soon", async () => {
      const id = `${platform.catalog.add({ product: { publishedAt: "yesterday" } })}`;
      platform.counters.reset();
      for (let time = 0; time < 3; time++) {
        const response = await service.get(path(id));
        expect((await response.clone().json()) as Envelope).toMatchObject({
          error: expect.stringContaining("The platform has the product in a form that cannot be served"),
        });
        await expectFailure(response, id, 503);
      }
      expect(countPlatformRequests(platform)).toBe(1);
      await until("the log has the reason", () => service.log().includes('"cause":"cannot be read: '));
    });

    test("is not requested when its id is invalid", async () => {
      platform.counters.reset();
      const ids = [
        "0",
        "01",
        "abc",
        "1.0",
        "-1",
        "+1",
        "1e3",
        "0x10",
        "9223372036854775808",
        "１",
        "1%20",
        "%201",
        "1%00",
      ];
      for (const id of [...ids, encodeURIComponent("gid://shopify/Product/1"), "9".repeat(400)]) {
        expect([id, (await service.get(path(id))).status]).toEqual([id, 400]);
      }
      expect(countPlatformRequests(platform)).toBe(0);
    });
  });
}

describe("a stale product", () => {
  const platform = agingPlatform;
  const ids = platform.catalog.ids(0, 10);
  const service = aging;

  test("is served while the platform does not answer, and refreshed in the background", async () => {
    const [id = ""] = ids;
    const old = await titleOf(await service.get(path(id)));
    platform.catalog.touch(id, { product: { title: "New" } });
    const { promise, resolve: release } = Promise.withResolvers<void>();
    released = promise;
    readAtMs.length = 0;
    for (let time = 0; time < 3; time++) {
      const titles = await Promise.all(Array.from({ length: 20 }, async () => titleOf(await service.get(path(id)))));
      expect(new Set(titles)).toEqual(new Set([old]));
    }
    await until("it is being read", () => readAtMs.length > 0);
    expect(readAtMs).toHaveLength(1);
    release();
    await until("it is new", async () => (await titleOf(await service.get(path(id)))) === "New");
  });

  test("shows a change that kept the platform's timestamp", async () => {
    const id = ids[2] ?? "";
    await service.get(path(id));
    const changes = { variantMetafields: { 1: { sku_status: "Quietly changed" } } };
    platform.catalog.touch(id, changes, { keepUpdatedAt: true });
    const isNew = async () => (await (await service.get(path(id))).text()).includes("Quietly changed");
    await until("it is new", isNew);
    expect(await (await service.get(path(id))).text()).toBe((await readAnswers(platform, [id])).get(id) ?? "");
  });

  test("is removed by the refresh when the platform no longer has it", async () => {
    const id = ids[3] ?? "";
    expect((await service.get(path(id))).status).toBe(200);
    platform.catalog.remove(id);
    expect((await service.get(path(id))).status).toBe(200);
    await until("it is removed", async () => (await service.get(path(id))).status === 404);
    platform.counters.reset();
    await expectFailure(await service.get(path(id)), id, 404);
    expect(countPlatformRequests(platform)).toBe(0);
  });

  test("is not refreshed before the configured age", async () => {
    const id = ids[4] ?? "";
    await using other = await serve({ ...agingEnvironment, DATABASE_URL: agingStore, PRODUCT_MAX_AGE: "2" });
    readAtMs.length = 0;
    const ages = new Set<string | null>();
    const isReadAgain = async () => {
      const { headers } = await other.get(path(id));
      if (headers.get("cache-status")?.includes("unverified") !== true) ages.add(headers.get("age"));
      return readAtMs.length > 1;
    };
    await until("it is read again", isReadAgain);
    // Its age on the platform does not count as age in caches.
    expect([...ages]).toEqual([null]);
    expect((readAtMs[1] ?? 0) - (readAtMs[0] ?? 0)).toBeGreaterThanOrEqual(2000);
  });
});

describe("a platform", () => {
  test("that is down leaves stored products, however old, and a 503 for others", async () => {
    for (let time = 0; time < 3; time++) {
      const after = await Promise.all(awayIds.map(async (id) => (await away.get(path(id))).text()));
      expect(after).toEqual(beforeAway);
    }
    await expectFailure(await askedWhileAway, "42", 503);
    expect((await fetch(`${away.url}/readyz`)).status).toBe(200);
  });

  test("that rejects the token causes a 503 and a log line without the token", async () => {
    const platform = startPlatform({ products: 5 });
    await using service = await serve({
      ...environmentOf(platform),
      SHOPIFY_ACCESS_TOKEN: "shpat_wrong-0123456789",
      DATABASE_URL: await createStore("sqlite"),
    });
    const [id = ""] = platform.catalog.ids(0, 1);
    const response = await service.get(path(id), { headers: { "X-Request-Id": "request-1" } });
    await expectFailure(response, id, 503);
    const lines = () => service.log().split("\n").slice(0, -1);
    const isOfThis = (line: string) => line.includes("request-1");
    await until("it is logged", () => lines().some(isOfThis));
    const line = lines().find(isOfThis);
    expect(line).toMatch(/401.*access token/);
    expect(service.log()).not.toContain("shpat_wrong");
    const requests = countPlatformRequests(platform);
    expect(requests).toBeLessThanOrEqual(2);
    // A failure is remembered for a while.
    await expectFailure(await service.get(path(id)), id, 503);
    expect(countPlatformRequests(platform)).toBe(requests);
  });

  test("that uses client credentials instead of a token is read with them", async () => {
    const platform = startPlatform({ products: 5 });
    await using service = await serve({
      ...environmentOf(platform),
      SHOPIFY_ACCESS_TOKEN: undefined,
      SHOPIFY_CLIENT_ID: "stand-in-client",
      SHOPIFY_CLIENT_SECRET: "stand-in-secret",
      DATABASE_URL: await createStore("sqlite"),
    });
    const ids = platform.catalog.ids(0, 5);
    const responses = await Promise.all(ids.map((id) => service.get(path(id))));
    expect(responses.map(({ status }) => status)).toEqual(ids.map(() => 200));
    expect(platform.counters.tokenGrants).toBe(1);
    expect(service.log()).not.toMatch(/stand-in-secret|shpat_/);
  });
});

describe("the lookup budget", async () => {
  const platform = startPlatform({ products: 5 });
  const environment = { ...environmentOf(platform), DATABASE_URL: await createStore("sqlite") };
  const [known = ""] = platform.catalog.ids(0, 1);
  beforeAll(async () => {
    await using service = await serve(environment);
    expect((await service.get(path(known))).status).toBe(200);
  });

  test("causes a 503 when it is used up, while known products are served", async () => {
    await using service = await serve({ ...environment, LOOKUPS_PER_MINUTE: "5" });
    platform.counters.reset();
    const begun = performance.now();
    const statuses: number[] = [];
    for (const id of unknownIds.slice(0, 300)) {
      const response = await service.get(path(id));
      statuses.push(response.status);
      if (response.status === 503) await expectFailure(response, id, 503);
      if (statuses.length % 50 === 0) expect((await service.get(path(known))).status).toBe(200);
    }
    const refilled = Math.ceil(((performance.now() - begun) / 60_000) * 5);
    const found = statuses.filter((status) => status === 404).length;
    expect(found).toBeWithin(5, 5 + refilled + 1);
    expect(statuses.filter((status) => status === 503)).toHaveLength(300 - found);
    expect(countPlatformRequests(platform)).toBe(found);
    expect((await service.get(path("handle/unknown"))).status).toBe(503);
    // A cached 404 costs nothing, so it is still served.
    await expectFailure(await service.get(path(unknownIds[0] ?? "")), unknownIds[0] ?? "", 404);
  });

  test("of zero never reaches the platform", async () => {
    platform.counters.reset();
    await using service = await serve({ ...environment, LOOKUPS_PER_MINUTE: "0", PRODUCT_MAX_AGE: "0" });
    await expectFailure(await service.get(path("7")), "7", 503);
    expect((await service.get(path("handle/unknown"))).status).toBe(503);
    expect((await service.get(path(known))).status).toBe(200);
    expect(countPlatformRequests(platform)).toBe(0);
  });
});
