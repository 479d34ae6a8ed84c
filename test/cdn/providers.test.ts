import { describe, expect, test } from "bun:test";
import type { PurgeOptions } from "../../src/cdn/options.ts";
import { sendPurge } from "../../src/cdn/send.ts";
import { createTargets, type PurgeTarget } from "../../src/cdn/targets.ts";
import { purgeToken, startPurgeProvider, zone } from "../support/purge-provider.ts";
import { startServer } from "../support/server.ts";

const { signal } = new AbortController();
const targetOf = (options: PurgeOptions, token = purgeToken) => createTargets(options, token)[0] as PurgeTarget;
const purge = (target: PurgeTarget, tags: readonly string[] = ["a", "b"]) =>
  sendPurge(target, target.toRequest(tags), signal);

const defaults = { max_age: 86_400 };
const generic = {
  ...defaults,
  cdn: "generic",
  method: "POST",
  headers: { Authorization: "Bearer {token}" },
  body: '{"tags":{tags}}',
  max_tags: 100,
  requests_per_minute: 60,
  burst: 10,
} as const;

const cases = (["fastly", "cloudflare", "varnish", "generic"] as const).map((cdn) => {
  const provider = startPurgeProvider(cdn);
  const { url } = provider;
  const options: Record<typeof cdn, PurgeOptions> = {
    fastly: { ...defaults, cdn: "fastly", service: "SERVICE", api_url: `${url}/` },
    cloudflare: { ...defaults, cdn: "cloudflare", zone, plan: "free", api_url: url },
    varnish: { ...defaults, cdn: "varnish", url },
    generic: { ...generic, url },
  };
  return { cdn, provider, options: options[cdn] };
});

test("nothing is purged at a metadata address", async () => {
  const target = targetOf({ ...generic, url: "http://169.254.169.254/" });
  await expect(purge(target)).rejects.toThrow(/link-local or metadata address/);
});

describe.each(cases)("a purge of $cdn", ({ cdn, provider, options }) => {
  test("reaches it, with as many tags as it accepts", async () => {
    const target = targetOf(options);
    const tags = Array.from({ length: Math.min(target.maxTags, 500) }, (_, index) => `pz-${index.toString(36)}`);
    await purge(target, tags);
    expect(provider.purges.splice(0)).toMatchObject([{ tags }]);
    expect(provider.violations).toEqual([]);
  });

  if (cdn !== "varnish") {
    test("fails with another token", async () => {
      expect(purge(targetOf(options, "wrong"))).rejects.toThrow(/^it responded with status 40[13]: PURGE_TOKEN /);
    });
  }

  test("fails when it is refused, and knows for how long", async () => {
    provider.state.refusals = [new Response("", { status: 429, headers: { "Retry-After": "7" } })];
    expect(await purge(targetOf(options)).catch((error) => error)).toMatchObject({ isThrottled: true, retryAfterS: 7 });
    provider.state.refusals = [new Response("", { status: 500 })];
    expect(purge(targetOf(options))).rejects.toThrow("it responded with status 500");
    provider.state.refusals = [Response.redirect("https://elsewhere.example/")];
    expect(purge(targetOf(options))).rejects.toThrow("it responded with status 302");
  });
});

const find = (cdn: string) => cases.find((each) => each.cdn === cdn) as (typeof cases)[number];

test("a purge fails when the response says so, whatever its status", async () => {
  const cloudflare = find("cloudflare");
  cloudflare.provider.state.refusals = [Response.json({ success: false, errors: [{ message: "No such zone" }] })];
  expect(purge(targetOf(cloudflare.options))).rejects.toThrow("it responded with status 200: No such zone");
  cloudflare.provider.state.refusals = [new Response("<html>")];
  expect(purge(targetOf(cloudflare.options))).rejects.toThrow("the response cannot be read");
  const varnish = find("varnish");
  varnish.provider.state.refusals = [new Response("a page")];
  expect(purge(targetOf(varnish.options))).rejects.toThrow("the response is not that of deploy/varnish.vcl");
});

test("a purge fails when it cannot be reached, and says why", async () => {
  await expect(purge(targetOf({ ...generic, url: "http://127.0.0.1:1/" }))).rejects.toThrow("(ECONNREFUSED)");
  // Nothing there speaks TLS.
  const { provider } = find("generic");
  const url = provider.url.replace("http:", "https:");
  await expect(purge(targetOf({ ...generic, url }))).rejects.toThrow(/^it cannot be reached \([A-Z_]+\)$/);
});

test("any other endpoint gets the purge in the form that it expects", async () => {
  const received: unknown[] = [];
  const origin = startServer(async (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    received.push([method, pathname + search, headers.get("accesskey"), headers.get("x-tags"), await request.text()]);
    return new Response(null, { status: 204 });
  });
  const options: PurgeOptions = {
    ...generic,
    url: `${origin}/zones/1?by=tag`,
    method: "DELETE",
    headers: { AccessKey: "{token}", "X-Tags": "{tags}" },
    body: '{"CacheTags":{tags}}',
  };
  await purge(targetOf(options), ["a", "b"]);
  expect(received).toEqual([["DELETE", "/zones/1?by=tag", purgeToken, "a,b", '{"CacheTags":["a","b"]}']]);
  expect(targetOf(options).name).toBe(`generic ${origin}/zones/1?by=hidden`);
});

test("a time to retry is by the provider's clock", async () => {
  const { provider, options } = find("cloudflare");
  const headers = { Date: "Sat, 22 Nov 2036 08:00:00 GMT", "Retry-After": "Sat, 22 Nov 2036 08:00:30 GMT" };
  provider.state.refusals = [new Response("", { status: 429, headers })];
  expect(await purge(targetOf(options)).catch((error) => error)).toMatchObject({ retryAfterS: 30 });
});

test("only the beginning of a response is read", async () => {
  let sent = 0;
  const pull = (controller: ReadableStreamDefaultController) => {
    controller.enqueue(new Uint8Array(65_536));
    sent += 65_536;
  };
  await purge(targetOf({ ...generic, url: startServer(() => new Response(new ReadableStream({ pull }))) }));
  expect(sent).toBeLessThan(50_000_000);
});
