import { expect, test } from "bun:test";
import { join } from "node:path";
import { cleanUp } from "../support/clean-up.ts";
import { root, temporaryFolder } from "../support/pds.ts";
import { shop } from "../support/platform.ts";
import { headersOf, path, secret } from "../support/webhooks.ts";

interface Forwarder {
  fromPubSub(event: unknown): Promise<void>;
  fromEventBridge(event: unknown): Promise<void>;
}

/** The function in the guide, as a reader copies it. */
async function loadForwarder(): Promise<Forwarder> {
  const guide = await Bun.file(join(root, "docs/how-to/forward-deliveries.md")).text();
  const [, code = ""] = guide.match(/^ {3}```js\n(.*?)^ {3}```$/ms) ?? [];
  const file = join(await temporaryFolder(), "forward.js");
  await Bun.write(file, code);
  return await import(file);
}

test("the guide's function forwards what Pub/Sub and EventBridge deliver, and fails when the service does", async () => {
  const received: [body: string, ...headers: (string | null)[]][] = [];
  const forwarded = (headers: Headers) =>
    ["x-shopify-topic", "x-shopify-shop-domain", "x-shopify-hmac-sha256"].map((name) => headers.get(name));
  let status = 200;
  const service = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      [path]: async (request) => {
        received.push([await request.text(), ...forwarded(request.headers)]);
        return new Response(null, { status });
      },
    },
  });
  cleanUp(() => service.stop(true));
  process.env.SERVICE_URL = `http://127.0.0.1:${service.port}`;
  process.env.SHOPIFY_WEBHOOK_SECRET = secret;
  const { fromPubSub, fromEventBridge } = await loadForwarder();

  const metadata = { "X-Shopify-Topic": "products/delete", "X-Shopify-Shop-Domain": shop };
  const body = '{"id":788032119674292922}';
  await fromPubSub({ data: { message: { attributes: metadata, data: btoa(body) } } });
  await fromEventBridge({ detail: { metadata, payload: { id: 12 } } });
  const expected = (text: string): (typeof received)[number] => [
    text,
    ...forwarded(new Headers(headersOf({ topic: "products/delete", body: text }))),
  ];
  expect(received).toEqual([expected(body), expected('{"id":12}')]);

  status = 503;
  await expect(fromEventBridge({ detail: { metadata, payload: { id: 12 } } })).rejects.toThrow("503");
});
