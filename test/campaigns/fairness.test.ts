import { describe, expect, test } from "bun:test";
import { request } from "node:http";
import { join } from "node:path";
import { haproxy, nginx } from "../support/balancers.ts";
import { toProduct } from "../support/catalog.ts";
import { findFreePort } from "../support/free-port.ts";
import { listInstalled, startFront } from "../support/front.ts";
import { fillStore } from "../support/import-here.ts";
import { type Environment, temporaryFolder } from "../support/pds.ts";
import { environmentOf, startPlatform } from "../support/platform.ts";
import { canSeeProcesses, type ServiceProcess, startService } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// One client that takes as much as it can, and another one that wants little.

const small = "/api/v1/products/2";
const folder = await temporaryFolder();
const platform = startPlatform({ products: 1 });
const installed = listInstalled(["haproxy", "nginx"]);
const balancers = [haproxy, nginx].filter(({ program }) => installed.includes(program));

async function start(settings: Environment = {}): Promise<ServiceProcess> {
  const own = await temporaryFolder();
  const environment = { DATABASE_URL: `sqlite:${join(own, "pds.sqlite")}`, SCHEDULER: "off", LOG_LEVEL: "error" };
  await fillStore(environment, [toProduct(2)]);
  return await startService({ ...environment, ...settings });
}

const get = ({ url }: ServiceProcess, path: string, init?: RequestInit) => fetch(`${url}${path}`, init);

const report = (line: string) => void process.stderr.write(`${line}\n`);

const from = (address: string) => ({ headers: { "X-Forwarded-For": address } });

describe("a network that asks for many unknown products", () => {
  test("leaves places in the queue to another network, and takes turns with it", async () => {
    await using service = await start({ ...environmentOf(platform), TRUSTED_PROXIES: "127.0.0.1" });
    platform.faults.add({ kind: "slow", latencyMs: 300, operation: "ProductById" });
    const statuses: number[] = [];
    const greedy = Array.from({ length: 200 }, async (_, index) => {
      const { status } = await get(service, `/api/v1/products/${7_000_000 + index}`, from(`2001:db8::${index + 1}`));
      statuses.push(status);
    });
    await until("its share of the queue is full", () => statuses.filter((status) => status === 503).length >= 90);
    const waits: number[] = [];
    const modest = Array.from({ length: 5 }, async (_, index) => {
      const begunMs = performance.now();
      const { status } = await get(service, `/api/v1/products/${8_000_000 + index}`, from("2001:db8:0:1::1"));
      waits.push(performance.now() - begunMs);
      return status;
    });
    const outcomes = await Promise.all(modest);
    await Promise.all(greedy);
    platform.faults.clear();
    report(
      `200 lookups by one network: ${statuses.filter((status) => status === 404).length} answered; ` +
        `5 by another: ${outcomes.join(" ")}, the longest in ${Math.max(...waits).toFixed(0)} ms`,
    );
    expect(outcomes).toEqual([404, 404, 404, 404, 404]);
  });
});

/** Sends a request from an address of loopback. @returns the status */
function getFrom(localAddress: string, url: string, headers: Record<string, string>): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  request(url, { localAddress, headers }, (response) => response.resume().on("end", () => resolve(response.statusCode)))
    .on("error", reject)
    .end();
  return promise;
}

describe.if(canSeeProcesses).each(balancers)("a client behind $program", ({ program, prepare }) => {
  test("has its own address, whatever it sends", async () => {
    await using service = await start({ TRUSTED_PROXIES: "127.0.0.1", RATE_LIMIT: "5" });
    const port = await findFreePort();
    const replicas = Array<number>(3).fill(Number(new URL(service.url).port));
    const url = await startFront([program, ...(await prepare(join(folder, program), port, replicas))], port);
    const statuses: (number | undefined)[] = [];
    for (let index = 1; index <= 8; index++) {
      statuses.push(await getFrom("127.0.0.2", `${url}${small}`, { "X-Forwarded-For": `203.0.113.${index}` }));
    }
    expect(statuses.slice(0, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(statuses).toContain(429);
    expect(await getFrom("127.0.0.3", `${url}${small}`, {})).toBe(200);
  });
});
