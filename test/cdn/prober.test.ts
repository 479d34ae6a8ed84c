import { expect, test } from "bun:test";
import { createFetch } from "../../src/base/outgoing.ts";
import { PurgeCounter } from "../../src/cdn/metrics.ts";
import { Prober } from "../../src/cdn/prober.ts";
import { startServer } from "../support/server.ts";

const originUrl = startServer(() => new Response("{}", { headers: { ETag: 'W/"a"' } }));

function createProber(edgeUrl: string) {
  const warnings: unknown[] = [];
  const log = { warn: (...given: unknown[]) => warnings.push(given) } as never;
  const counter = new PurgeCounter();
  const { signal } = new AbortController();
  const prober = new Prober({ edgeUrl, originUrl, counter, log, fetch: createFetch(), signal });
  return { prober, probes: counter.probes, warnings };
}

async function probe(edgeUrl: string, ...paths: string[]) {
  const { prober, ...found } = createProber(edgeUrl);
  prober.probe(paths);
  return { result: await prober.stopped, ...found };
}

test("a probe of the same response with a strong entity tag is fresh, and leaves nothing behind", async () => {
  const edgeUrl = startServer(() => new Response("{}", { headers: { ETag: '"a"' } }));
  const { result, probes, warnings } = await probe(edgeUrl, "/1");
  expect([result, probes, warnings]).toEqual([undefined, { fresh: 1, stale: 0, failed: 0 }, []]);
});

test.each([
  ["is down", "http://127.0.0.1:1", /^ECONNREFUSED/],
  ["is protected", startServer(() => new Response("", { status: 401 })), /:\d+\/\d responded with status 401, without/],
  [
    "is another site",
    startServer(() => new Response("<html>")),
    /:\d+\/\d responded with status 200, without an ETag$/,
  ],
])("a probe fails, and the log says why once, when the address %s", async (_, edgeUrl, cause) => {
  const { probes, warnings } = await probe(edgeUrl, "/1", "/2");
  expect(probes.failed).toBe(2);
  expect(warnings).toEqual([
    [{ path: expect.any(String), cause: expect.stringMatching(cause) }, "cannot probe the CDN; check PUBLIC_URL"],
  ]);
});

test("a probe is stale if the address still has the same other response after two more purges", async () => {
  const old = startServer(() => new Response("{}", { headers: { ETag: '"b"' } }));
  let reads = 0;
  const changing = startServer(() => new Response("{}", { headers: { ETag: `"b${reads++}"` } }));
  const [ofOld, ofChanging] = await Promise.all([probe(old, "/1"), probe(changing, "/1")]);
  expect(ofOld.probes).toEqual({ fresh: 0, stale: 1, failed: 0 });
  expect(ofOld.warnings).toEqual([[{ path: "/1" }, "the CDN still serves the old response after two purges"]]);
  expect([ofChanging.probes, ofChanging.warnings]).toEqual([{ fresh: 1, stale: 0, failed: 0 }, []]);
});

test("addresses that are purged soon after a probe are not probed", async () => {
  const { prober, probes } = createProber(originUrl);
  for (const path of ["/1", "/2", "/3"]) prober.probe([path]);
  await prober.stopped;
  expect(probes).toEqual({ fresh: 1, stale: 0, failed: 0 });
});
