import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { nginx } from "../support/balancers.ts";
import { toProduct } from "../support/catalog.ts";
import { cleanUp } from "../support/clean-up.ts";
import { findFreePort } from "../support/free-port.ts";
import { listInstalled, startFront } from "../support/front.ts";
import { fillStore } from "../support/import-here.ts";
import { type Load, type LoadResult, loadDuring } from "../support/load.ts";
import { isCampaign, type RunningService, serve, temporaryFolder } from "../support/pds.ts";
import { createPostgres } from "../support/postgres.ts";
import { type Proxy as StoreProxy, startProxy } from "../support/proxy.ts";
import { readinessOf } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// Three replicas behind nginx, configured as the documentation recommends, while they lose the
// store. The fleet of the proof has HAProxy.

const outageMs = isCampaign ? 15_000 : 6000;
const folder = await temporaryFolder();
const ids = Array.from({ length: 300 }, (_, index) => 9_000_000_000_001 + index);
const pathOf = (id: number | undefined) => `/api/v1/products/${id}`;
const warm = ids.slice(0, 200).map(pathOf);
const cold = ids.slice(200, 250).map(pathOf);

const postgres = await createPostgres();
cleanUp(() => postgres.remove());
const replicas: RunningService[] = [];
const proxies: StoreProxy[] = [];

await fillStore(
  { DATABASE_URL: postgres.url },
  ids.map((id) => toProduct(id)),
);
for (let count = 0; count < 3; count++) {
  const proxy = await startProxy(postgres.url);
  proxies.push(proxy);
  replicas.push(await serve({ DATABASE_URL: proxy.url, SCHEDULER: "off" }));
}
cleanUp(() => Promise.all(replicas.map((replica) => replica.stop())));

const statusOf = async (url: string, path: string) => (await fetch(url + path)).status;

/** Requests cached products while something happens. @returns the result, and the answers without an age */
async function requestDuring(url: string, act: () => Promise<void>): Promise<LoadResult & { readonly young: number }> {
  let young = 0;
  let isOld = false;
  const check: Load["check"] = (_, { headers }) => {
    if (isOld && !headers.has("age")) young++;
    return undefined;
  };
  const result = await loadDuring({ url, paths: warm, connections: 8, rate: 200, check }, async () => {
    const timer = setTimeout(() => {
      isOld = true;
    }, 2500);
    await act();
    isOld = false;
    clearTimeout(timer);
  });
  return { ...result, young };
}

const readsStore = async ({ url }: RunningService) => (await readinessOf(url)).checks.database === "ok";

const isInstalled = listInstalled([nginx.program]).length > 0;
const port = await findFreePort();
const ports = replicas.map((replica) => Number(new URL(replica.url).port));
const command = async () => [nginx.program, ...(await nginx.prepare(join(folder, nginx.program), port, ports))];
const url = isInstalled ? await startFront(await command(), port) : "";

describe.skipIf(!isInstalled)("behind nginx", () => {
  beforeEach(async () => {
    for (const path of warm) expect(await statusOf(url, path)).toBe(200);
  });

  test("a lost store fails no request for what is cached, and says 503 with Retry-After for the rest", async () => {
    const outcome = await requestDuring(url, async () => {
      await postgres.stop("SIGKILL");
      await Bun.sleep(outageMs);
      const response = await fetch(url + cold[0]);
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      for (const { url } of replicas) expect(await readinessOf(url)).toMatchObject({ code: 200 });
    });
    expect(outcome).toMatchObject({ failures: {}, young: 0 });
    expect(outcome.answered).toBeGreaterThan(100);
    await postgres.start();
    await until("it is read again", async () => (await statusOf(url, cold[0] ?? "")) === 200);
    for (const replica of replicas) await until("each replica reads it", () => readsStore(replica));
  });

  test("one replica without the store fails no request", async () => {
    proxies[1]?.cut();
    const outcome = await requestDuring(url, async () => {
      const isLost = async () =>
        (await readinessOf(replicas[1]?.url ?? "")).checks.database?.includes("cannot be reached") === true;
      await until("the loss is noticed", isLost);
      for (const path of cold) expect([path, await statusOf(url, path)]).toEqual([path, 200]);
    });
    expect(outcome.failures).toEqual({});
    proxies[1]?.heal();
    for (const replica of replicas) await until("it recovers", () => readsStore(replica));
  });
});
