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

/** The time by Varnish's clock. */
async function readTime(url: string): Promise<string> {
  const response = await fetch(url, { method: "PURGE", headers: { "xkey-current": "unknown" } });
  return (await response.text()).match(/^0 purged at (\d+\.\d+)$/m)?.[1] ?? "";
}

/** Tells Varnish that everything has been purged by now. */
const confirmTo = async (url: string) =>
  await fetch(url, { method: "PURGE", headers: { "xkey-current": await readTime(url) } });

test.skipIf(varnishd === null)("Varnish makes the most of what it has and of every replica", async () => {
  const { url } = await startVarnish([startReplica(1), startReplica(2)], await findFreePort());
  const read = async () => {
    const response = await fetch(`${url}/api/v1/products/1`, { headers: { Cookie: "a=b" } });
    const isHit = response.headers.get("x-varnish")?.includes(" ");
    return { status: response.status, text: await response.text(), age: response.headers.get("age"), isHit };
  };
  const confirm = () => confirmTo(url);
  const purge = () => fetch(url, { method: "PURGE", headers: { "xkey-purge": "product" } });

  // Browsers may keep what is fresh here for all of max-age, and cookies do not bypass the cache.
  await read();
  await until("the response has no age", async () => {
    await confirm();
    return (await read()).age === null;
  });
  expect(await read()).toMatchObject({ status: 200, text: "v1", isHit: true });

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

test.skipIf(varnishd === null)("Varnish says how old a response is unless the service confirms it", async () => {
  Object.assign(state, { version: 1, withoutStore: 0 });
  const { url } = await startVarnish([startReplica(1)], await findFreePort());
  const readAge = async () => {
    const response = await fetch(`${url}/api/v1/products/1`);
    await response.text();
    return response.headers.get("age");
  };
  expect(await readAge()).toBe("0");
  await confirmTo(url);
  // One confirmation holds for a second.
  await until("the age is back", async () => (await readAge()) !== null);
  // Clients cannot confirm anything.
  const now = await readTime(url);
  await fetch(`${url}/api/v1/products/1`, { headers: { "xkey-current": now } });
  expect(await readAge()).not.toBeNull();
  // A clock that was set back does not make an old confirmation last.
  await fetch(url, { method: "PURGE", headers: { "xkey-current": `${Number(now) + 3600}` } });
  expect(await readAge()).not.toBeNull();
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
