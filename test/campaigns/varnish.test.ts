import { expect, test } from "bun:test";
import { cleanUp } from "../support/clean-up.ts";
import { findFreePort } from "../support/free-port.ts";
import { killOnExit } from "../support/kill-on-exit.ts";
import { temporaryFolder } from "../support/pds.ts";
import { until } from "../support/until.ts";
import { prepareVarnish, replicasOn, startVarnish, varnishd } from "../support/varnish.ts";

// The documented configuration of Varnish, in front of two replicas whose store comes and goes.

const state = { version: 1, withoutStore: 0, probeMs: 0 };
const headers = {
  "Cache-Control": "public, max-age=60",
  "Surrogate-Control": "public, max-age=3, stale-if-error=3600",
  xkey: "product product-1",
};

function startReplica(number: number): number {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async ({ url }) => {
      if (url.endsWith("/readyz")) await Bun.sleep(state.probeMs);
      if (!url.includes("/api/")) return new Response("ok");
      if (number > state.withoutStore) return new Response(`v${state.version}`, { headers });
      return new Response("no store", { status: 503, headers: { "Cache-Control": "no-store", "Retry-After": "5" } });
    },
  });
  cleanUp(() => server.stop(true));
  return server.port ?? 0;
}

test.skipIf(varnishd === null)("Varnish makes the most of what it has and of every replica", async () => {
  const { url } = await startVarnish([startReplica(1), startReplica(2)], await findFreePort());
  const read = async () => {
    const response = await fetch(`${url}/api/v1/products/1`, { headers: { Cookie: "a=b" } });
    const isHit = response.headers.get("x-varnish")?.includes(" ");
    return { status: response.status, text: await response.text(), age: response.headers.get("age"), isHit };
  };
  const purge = () => fetch(url, { method: "PURGE", headers: { "xkey-purge": "product" } });

  // Cookies do not bypass the cache, and every response says how old it is.
  await read();
  expect(await read()).toMatchObject({ status: 200, text: "v1", isHit: true, age: expect.stringMatching(/^\d+$/) });

  state.withoutStore = 2;
  for (const waitMs of [4000, 500, 12_000, 500]) {
    await Bun.sleep(waitMs);
    const { status, text, age } = await read();
    expect([status, text, Number(age) >= 3]).toEqual([200, "v1", true]);
  }
  await purge();
  expect(await read()).toMatchObject({ status: 503, text: "no store" });

  state.version = 2;
  state.withoutStore = 1;
  await until("the responses are new", async () => (await read()).text === "v2");
  for (let reads = 0; reads < 6; reads++) {
    await purge();
    expect(await read()).toMatchObject({ status: 200, text: "v2" });
  }
});

test.skipIf(varnishd === null)("Varnish responds as soon as it has started", async () => {
  Object.assign(state, { version: 1, withoutStore: 0, probeMs: 900 });
  const port = await findFreePort();
  const command = await prepareVarnish(await replicasOn([startReplica(1)]), {
    folder: await temporaryFolder(),
    ...{ port, megabytes: 16 },
  });
  const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "ignore"] });
  killOnExit(child, "TERM");
  let first: Response | undefined;
  await until("it listens", async () => {
    first = await fetch(`http://127.0.0.1:${port}/api/v1/products/1`).catch(() => undefined);
    return first !== undefined;
  });
  expect(first?.status).toBe(200);
  child.kill("SIGTERM");
  await child.exited;
});
