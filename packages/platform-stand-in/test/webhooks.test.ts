import { afterAll, expect, test } from "bun:test";
import { defaultApp, type StandInOptions } from "../src/options.ts";
import { startStandIn } from "../src/stand-in.ts";
import { dig, sendQuery } from "./client.ts";

interface Received {
  readonly topic: string;
  readonly body: string;
  readonly isSigned: boolean;
}

const stops: (() => unknown)[] = [];
afterAll(() => Promise.all(stops.map((stop) => stop())));

/** An address that responds with these statuses in turn; the last one stays. */
function startReceiver(...statuses: number[]) {
  const received: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const body = await request.text();
      const signature = new Bun.CryptoHasher("sha256", defaultApp.clientSecret).update(body).digest("base64");
      const isSigned = request.headers.get("x-shopify-hmac-sha256") === signature;
      received.push({ topic: request.headers.get("x-shopify-topic") ?? "", body, isSigned });
      return new Response(null, { status: statuses[received.length - 1] ?? statuses.at(-1) ?? 200 });
    },
  });
  stops.push(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}/`, received };
}

function start(webhooks: NonNullable<StandInOptions["webhooks"]>) {
  const platform = startStandIn({ products: 2, webhooks, now: () => Date.parse("2026-11-22T10:00:00Z") });
  stops.push(() => platform.stop());
  const create = async (topic: string, uri: string, fields: readonly string[] = []) =>
    await sendQuery(
      platform,
      `mutation { webhookSubscriptionCreate(
        topic: ${topic}, webhookSubscription: { uri: ${JSON.stringify(uri)}, includeFields: ${JSON.stringify(fields)} }
      ) { webhookSubscription { id topic uri includeFields } userErrors { field message } } }`,
    );
  return { platform, create };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo(); turn++) {
    if (turn > 6000) throw new Error("it takes too long");
    await Bun.sleep(10);
  }
}

test("edits are delivered, signed, to every subscribed address, with the fields that it includes", async () => {
  const { platform, create } = start({});
  const [all, some] = [startReceiver(200), startReceiver(200)];
  const { data } = await create("PRODUCTS_UPDATE", some.url, ["id", "updated_at"]);
  expect(dig(data, "webhookSubscriptionCreate.userErrors")).toEqual([]);
  await create("PRODUCTS_UPDATE", all.url);
  await create("PRODUCTS_DELETE", some.url);
  const [first = "", second = ""] = platform.catalog.ids(0, 2);
  platform.catalog.touch(first);
  platform.catalog.remove(second);
  platform.catalog.add();
  await until(() => all.received.length === 1 && some.received.length === 2);
  const updated = `"updated_at":"2026-11-22T05:00:00-05:00"`;
  expect(all.received[0]?.body).toBe(
    `{"id":${first},"admin_graphql_api_id":"gid://shopify/Product/${first}",${updated}}`,
  );
  expect(some.received.toSorted((a, b) => (a.topic < b.topic ? -1 : 1))).toEqual([
    { topic: "products/delete", body: `{"id":${second}}`, isSigned: true },
    { topic: "products/update", body: `{"id":${first},${updated}}`, isSigned: true },
  ]);
});

test("a delivery is retried eight times; then its subscription is deleted", async () => {
  const { platform, create } = start({ speedUp: 1_000_000 });
  const [recovering, failing] = [startReceiver(...Array(8).fill(503), 200), startReceiver(301)];
  await create("PRODUCTS_UPDATE", recovering.url);
  await create("PRODUCTS_UPDATE", failing.url);
  platform.catalog.touch(platform.catalog.idAt(0));
  await until(() => platform.deliveries.counts.deleted === 1 && recovering.received.length === 9);
  expect(failing.received).toHaveLength(9);
  expect(platform.subscriptions.list().map(({ uri }) => uri)).toEqual([recovering.url]);
  await until(() => platform.deliveries.counts.delivered === 1);
});

test("deliveries can be sent twice and overtake each other", async () => {
  const { platform, create } = start({ delayMs: [0, 50], duplicates: 1 });
  const receiver = startReceiver(200);
  await create("PRODUCTS_UPDATE", receiver.url, ["id"]);
  const ids = platform.catalog.ids(0, 2);
  for (let edit = 0; edit < 20; edit++) platform.catalog.touch(ids[edit % 2] ?? "");
  await until(() => receiver.received.length === 40);
  expect(receiver.received.map(({ body }) => body)).not.toEqual(
    Array.from({ length: 40 }, (_, edit) => `{"id":${ids[Math.floor(edit / 2) % 2]}}`),
  );
});

test("an app that is removed is notified, and loses its token and its subscriptions", async () => {
  const { platform, create } = start({});
  const receiver = startReceiver(200);
  await create("APP_UNINSTALLED", receiver.url);
  platform.uninstall();
  await until(() => receiver.received.length === 1);
  expect(receiver.received).toMatchObject([{ topic: "app/uninstalled", isSigned: true }]);
  expect(platform.subscriptions.list()).toEqual([]);
  expect((await sendQuery(platform, "{ shop { name } }")).status).toBe(401);
});
