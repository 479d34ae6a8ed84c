import { beforeEach, describe, expect, test } from "bun:test";
import { connectTo, createStore, enginesOf, pds, type RunningService, serve, serveUntilEnd } from "../support/pds.ts";
import { startPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { deliver, path, sign, type TestDelivery, webhookEnvironment } from "../support/webhooks.ts";

const previous = "the secret before the rotation";
const product = (id: string | bigint) => `{"id":${id},"updated_at":"2026-11-20T05:00:00-05:00"}`;

async function metricsOf({ adminUrl }: Pick<RunningService, "adminUrl">): Promise<string> {
  let text = "";
  // Of a store that does not respond in time, the others are missing.
  await until("metrics of the store are known", async () => {
    text = await (await fetch(`${adminUrl}/metrics`)).text();
    return text.includes("pds_store_metrics_missing 0");
  });
  return text;
}

const countOf = (metrics: string, topic: string, result: string) =>
  Number(
    metrics.match(new RegExp(`pds_webhook_deliveries_total\\{topic="${topic}",result="${result}"\\} (\\d+)`))?.[1],
  );

interface Queued {
  readonly product: string;
  readonly deliveries: number;
}

const fixtures = await Promise.all(
  enginesOf("sqlite").map(async (engine) => {
    const platform = startPlatform({ products: 6, specials: ["hugeId"] });
    const environment = {
      ...webhookEnvironment(platform),
      SHOPIFY_WEBHOOK_SECRET_PREVIOUS: previous,
      DATABASE_URL: await createStore(engine),
      // Only deliveries bring products into the store.
      LOOKUPS_PER_MINUTE: "0",
    };
    const service = await serveUntilEnd(environment);
    return { engine, platform, environment, service };
  }),
);

describe.each(fixtures)("on $engine", ({ engine, platform, environment, service }) => {
  const store = environment.DATABASE_URL;
  const [first = "", second = "", third = ""] = platform.catalog.ids(0, 3);
  const send = (delivery: TestDelivery) => deliver(service.url, delivery);
  const listQueue = async (): Promise<Queued[]> => {
    await using sql = await connectTo(store);
    return [...(await sql<Queued[]>`SELECT CAST(product AS TEXT) AS product, deliveries FROM push_queue`)];
  };
  beforeEach(async () => {
    await using sql = await connectTo(store);
    await sql`DELETE FROM push_queue`;
  });
  const titleOf = async (id: string) => {
    const response = await service.get(`/api/v1/products/${id}`);
    return response.status === 200
      ? ((await response.json()) as { product: { title: string } }).product.title
      : response.status;
  };

  const refused: readonly (readonly [why: string, status: number, result: string, delivery: TestDelivery])[] = [
    ["signed with another secret", 401, "forged", { headers: { "X-Shopify-Hmac-Sha256": sign("{}", "wrong") } }],
    ["with the signature of another body", 401, "forged", { headers: { "X-Shopify-Hmac-Sha256": sign("[]") } }],
    ["with half a signature", 401, "forged", { headers: { "X-Shopify-Hmac-Sha256": sign("{}").slice(0, 20) } }],
    ["without a signature", 401, "forged", { headers: { "X-Shopify-Hmac-Sha256": "" } }],
    ["of another shop", 421, "wrong_shop", { headers: { "X-Shopify-Shop-Domain": "other.myshopify.com" } }],
    ["without an id", 400, "unreadable", { body: '{"updated_at":null}' }],
    ["with an id that is no integer", 400, "unreadable", { body: '{"id":"1"}' }],
    ["with an id beyond 64 bits", 400, "unreadable", { body: '{"id":9223372036854775808}' }],
    ["that is not JSON", 400, "unreadable", { body: "<product/>" }],
    ["that is too large", 413, "too_large", { body: product(1n).padEnd(17_000) }],
  ];

  test.each(refused)("a delivery %s is refused with %d and counted", async (_, status, result, delivery) => {
    const before = countOf(await metricsOf(service), "products/update", result);
    const response = await send(delivery);
    expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/problem+json"]);
    expect(((await response.json()) as { detail: string }).detail.length).toBeGreaterThan(20);
    expect(countOf(await metricsOf(service), "products/update", result)).toBe(before + 1);
    expect(await listQueue()).toEqual([]);
  });

  test("a body beyond the server's limit is refused", async () => {
    expect((await send({ body: product(1n).padEnd(100_000) })).status).toBe(413);
  });

  test("a body that ends too soon is refused", async () => {
    const before = countOf(await metricsOf(service), "products/update", "unreadable");
    const logged = service.log().length;
    const { hostname, port } = new URL(service.url);
    const socket = await Bun.connect({ hostname, port: Number(port), socket: { data: () => {} } });
    const headers = "Host: localhost\r\nX-Shopify-Topic: products/update\r\nContent-Length: 100\r\n";
    socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\n{"id":`);
    await Bun.sleep(50);
    socket.end();
    const count = async () => countOf(await metricsOf(service), "products/update", "unreadable");
    await until("it is counted", async () => (await count()) === before + 1);
    expect(service.log().slice(logged)).not.toContain('"level":50');
  });

  test("other methods are refused, with the one that is allowed", async () => {
    const response = await service.get(path);
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await fetch(`${service.url}${path}`, { method: "OPTIONS" })).status).toBe(405);
  });

  test.each<[string, TestDelivery]>([
    ["of another topic", { body: '{"anything":1}' }],
    ["that names the domain of the API", { headers: { "X-Shopify-Shop-Domain": new URL(platform.origin).hostname } }],
  ])("a delivery %s is confirmed, counted, and not queued", async (_, delivery) => {
    const before = countOf(await metricsOf(service), "other", "ignored");
    expect((await send({ topic: "orders/create", ...delivery })).status).toBe(200);
    expect(countOf(await metricsOf(service), "other", "ignored")).toBe(before + 1);
    expect(await listQueue()).toEqual([]);
  });

  test("deliveries in any order and number queue one read, also of an id beyond 2^53", async () => {
    const huge = platform.catalog.idOfSpecial("hugeId");
    platform.catalog.touch(huge, { product: { title: "Pushed" } });
    const copies = Array.from({ length: 20 }, (_, index) =>
      send({ body: product(huge).replace("05:00:00", `04:00:${10 + index}`) }),
    );
    for (const { status } of await Promise.all(copies)) expect(status).toBe(200);
    expect(await listQueue()).toEqual([{ product: huge, deliveries: 20 }]);
    await until("the product is read", async () => (await titleOf(huge)) === "Pushed");
  });

  test("during a rotation, both secrets are accepted", async () => {
    platform.catalog.touch(second, { product: { title: "Rotated" } });
    const body = product(second);
    expect((await send({ body, headers: { "X-Shopify-Hmac-Sha256": sign(body, previous) } })).status).toBe(200);
    await until("the product is read", async () => (await titleOf(second)) === "Rotated");
  });

  test("a product that was deleted disappears, and one that was created appears", async () => {
    await send({ body: product(third) });
    await until("the product is stored", async () => typeof (await titleOf(third)) === "string");
    platform.catalog.remove(third);
    const added = platform.catalog.add({ product: { title: "New" } });
    await send({ topic: "products/delete", body: `{"id":${third}}` });
    await send({ topic: "products/create", body: product(added) });
    await until("the product is gone", async () => (await titleOf(third)) === 503);
    await until("the other one is there", async () => (await titleOf(added)) === "New");
  });

  test("while the store cannot be written to, deliveries are refused with 503, and accepted again afterwards", async () => {
    const sql = await connectTo(store);
    const held = engine === "sqlite" ? "BEGIN IMMEDIATE" : "BEGIN; LOCK TABLE push_queue IN ACCESS EXCLUSIVE MODE";
    for (const statement of held.split("; ")) await sql.unsafe(statement);
    const response = await send({ body: product(first) });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, expect.any(String)]);
    await sql.unsafe("ROLLBACK");
    await sql.close();
    await until("a delivery is accepted", async () => (await send({ body: product(first) })).status === 200);
  });

  test("the removal of the app is reported", async () => {
    expect((await send({ topic: "app/uninstalled", body: "{}" })).status).toBe(200);
    expect(await metricsOf(service)).toContain("pds_push_app_removed 1");
    await until("the log says so", () => service.log().includes("the shop removed the app"));
  });
});

const subscriptionStore = await createStore("sqlite");

describe("subscriptions", () => {
  const platform = startPlatform({ products: 3, webhooks: { speedUp: 1_000_000, delayMs: [0, 20], duplicates: 0.5 } });
  const [id = ""] = platform.catalog.ids(0, 1);
  const environment = { ...webhookEnvironment(platform), DATABASE_URL: subscriptionStore };
  const topicsOf = () => platform.subscriptions.list().map(({ topic }) => topic);

  test("are refused without the secret, and without an address", async () => {
    const unsigned = await pds(["platform", "subscribe", "--url", "https://a.example"], {
      ...environment,
      SHOPIFY_WEBHOOK_SECRET: undefined,
    });
    expect(unsigned).toMatchObject({ code: 2, stderr: expect.stringContaining("SHOPIFY_WEBHOOK_SECRET: set it") });
    const nowhere = await pds(["platform", "subscribe"], environment);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining("set PUBLIC_URL") });
    const invalid = await pds(["platform", "subscribe", "--url", "ftp://a.example"], environment);
    expect(invalid).toMatchObject({ code: 2, stderr: expect.stringContaining("Address is invalid") });
    expect(topicsOf()).toEqual([]);
  });

  test("are created once, listed, reported when they disappear, and ended", async () => {
    const service = await serve(environment);
    const withUrl = { ...environment, PUBLIC_URL: `${service.url}/` };
    for (let time = 0; time < 2; time++) {
      expect(await pds(["platform", "subscribe"], withUrl)).toMatchObject({ code: 0 });
    }
    expect(topicsOf()).toEqual(["PRODUCTS_CREATE", "PRODUCTS_UPDATE", "PRODUCTS_DELETE", "APP_UNINSTALLED"]);
    const listed = await pds(["platform", "subscriptions"], environment);
    expect(listed.stdout).toMatch(new RegExp(`products/update +${service.url}${path}`));

    platform.catalog.touch(id, { product: { title: "Delivered" } });
    await until("the edit is served", async () =>
      (await (await service.get(`/api/v1/products/${id}`)).text()).includes("Delivered"),
    );

    // Nobody answers any more: the platform retries, and then gives up.
    await service.stop();
    platform.catalog.touch(id, { product: { title: "Lost" } });
    await until("the platform deletes the subscription", () => !topicsOf().includes("PRODUCTS_UPDATE"));
    expect(platform.deliveries.counts.failed % 9).toBe(0);

    const sql = await connectTo(subscriptionStore);
    await sql`UPDATE cursor SET value = replace(value, '"checkedAt":"2', '"checkedAt":"1') WHERE name = 'subscribed'`;
    await sql`INSERT INTO cursor (name, value) VALUES ('uninstalled', '2026-11-01T00:00:00.000Z')`;
    await sql.close();
    await using restarted = await serve(environment);
    const message = "the platform no longer delivers these topics";
    await until("the service reports it", () => restarted.log().includes(message));
    await until("the metric shows it", async () =>
      (await metricsOf(restarted)).includes("pds_push_subscriptions_missing 1"),
    );
    // The app has access again.
    expect(await metricsOf(restarted)).toContain("pds_push_app_removed 0");
    const overview = await (await fetch(restarted.adminUrl)).text();
    expect(overview).toContain("The platform no longer delivers products/update");

    expect(await pds(["platform", "subscribe"], withUrl)).toMatchObject({ code: 0 });
    expect(await metricsOf(restarted)).toContain("pds_push_subscriptions_missing 0");
    expect(await pds(["platform", "unsubscribe"], environment)).toMatchObject({ code: 0 });
    expect(topicsOf()).toEqual([]);
    expect(await pds(["platform", "unsubscribe"], withUrl)).toMatchObject({ code: 1 });
  });
});
