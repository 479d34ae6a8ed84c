import { expect, test } from "bun:test";
import { PurgeCounter } from "../../src/purge/counter.ts";
import { Prober } from "../../src/purge/prober.ts";
import { cleanUp } from "../support/clean-up.ts";

function startServer(respond: () => Response) {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: respond });
  cleanUp(() => server.stop(true));
  return server.url.origin;
}

const originUrl = startServer(() => new Response("{}", { headers: { ETag: 'W/"a"' } }));

async function probe(edgeUrl: string, ...paths: string[]) {
  const warnings: unknown[] = [];
  const log = { warn: (...given: unknown[]) => warnings.push(given) } as never;
  const counter = new PurgeCounter();
  const { signal } = new AbortController();
  const prober = new Prober({ edgeUrl, originUrl, counter, log, signal });
  prober.probe(paths);
  return { result: await prober.stopped, probes: counter.probes, warnings };
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
