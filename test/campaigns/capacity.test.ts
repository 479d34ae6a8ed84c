import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeNginx } from "../../bench/peers/nginx.ts";
import type { LoadResult, LoadSpec, Target } from "../../bench/support/load.ts";
import { LoadProcess } from "../../bench/support/measure.ts";
import { cpuSecondsOf, onCore, serverCore } from "../../bench/support/processes.ts";
import { createSequence } from "../../bench/support/sequence.ts";
import { median } from "../../bench/support/statistics.ts";
import { toJson } from "../../src/base/json.ts";
import { toProduct, toVariant } from "../support/catalog.ts";
import { feedFiles } from "../support/feed.ts";
import { findFreePort } from "../support/free-port.ts";
import { listInstalled, startFront } from "../support/front.ts";
import { fillStore } from "../support/import-here.ts";
import { isCampaign, temporaryFolder, writeFiles } from "../support/pds.ts";
import { canSeeProcesses, type ServiceProcess, startService } from "../support/service-process.ts";

// A steady mix at 80 % of what the service can do, next to nginx, which serves the same files at the
// same rate. In parts, each at the capacity of that moment: the speed of a shared machine varies by
// more than the rest of 20 %. A part during which it varies counts for nothing.

const seconds = isCampaign ? Number(process.env.CAPACITY_SECONDS ?? 600) : 2;
setDefaultTimeout((5 * seconds + 120) * 1000);
const partSeconds = isCampaign ? 20 : 1;
const probeSeconds = isCampaign ? 3 : 1;
const productCount = isCampaign ? 5000 : 500;
const connections = 64;
const share = 0.8;
/** How much longer than with nginx one response in a thousand may take. */
const slower = 3;
/** How far apart the capacities before and after a part may be. */
const maxDrift = 0.1;

const variantsOf = (id: number) => Array.from({ length: 4 }, (_, index) => toVariant(id, { id: 401 + index }));
const products = Array.from({ length: productCount }, (_, index) =>
  toProduct(index + 1, { variants: variantsOf(index + 1) }),
);
const nginx = listInstalled(["nginx"]).length > 0;
const folder = await temporaryFolder();

/** As a shop's pages send them: some products often, most seldom, and a few that do not exist. */
const pick = createSequence("zipf", productCount, 1);
const paths: Target[] = Array.from({ length: 50_000 }, (_, index) => {
  if (index % 25 === 2) return { path: `/api/v1/products/${9e9 + index}`, expect: 404 };
  if (index % 10 === 0) return { path: "/api/v1/products/pz/MUG" };
  return { path: index % 50 === 1 ? "/api/v1/histories" : `/api/v1/products/${pick() + 1}` };
});

async function startNginx(): Promise<string> {
  const files = join(folder, "files");
  await mkdir(join(files, "api/v1/products/pz"), { recursive: true });
  await writeFiles(files, {
    livez: "ok",
    "api/v1/histories": '{"histories":[]}',
    "api/v1/products/pz/MUG": '{"pzlines":[]}',
    ...Object.fromEntries(products.map((product) => [`api/v1/products/${product.id}`, toJson(product)])),
  });
  const port = await findFreePort();
  return await startFront([...onCore(serverCore), ...(await writeNginx(join(folder, "nginx"), files, port))], port);
}

const mixOf = (url: string) => ({ url, paths, order: "turns" as const, connections });

interface Part {
  /** Requests per second that the service could answer before, and after. */
  readonly capacities: readonly [number, number];
  readonly rate: number;
  /** The processor time that the service used, as a share of that at its capacity. */
  readonly busy: number;
  readonly own: LoadResult;
  readonly peer: LoadResult | undefined;
}

/** One part with the service, and then with nginx. */
async function runPart(generator: LoadProcess, service: ServiceProcess, nginxUrl: string | undefined): Promise<Part> {
  const measured = async (spec: Omit<LoadSpec, "url" | "paths" | "connections">) => {
    const usedS = cpuSecondsOf(service.pid);
    const result = await generator.drive({ ...mixOf(service.url), ...spec });
    return { result, busy: (cpuSecondsOf(service.pid) - usedS) / result.seconds };
  };
  const probe = async () => {
    const { result, busy } = await measured({ seconds: probeSeconds });
    // The generator may be slower than the service.
    return { capacity: result.perSecond / Math.min(1, busy), perSecond: result.perSecond, busy };
  };
  const before = await probe();
  const rate = share * Math.min(before.capacity, before.perSecond);
  const own = await measured({ seconds: partSeconds, rate });
  const after = await probe();
  const peer =
    nginxUrl === undefined ? undefined : await generator.drive({ ...mixOf(nginxUrl), seconds: partSeconds, rate });
  return {
    capacities: [before.capacity, after.capacity],
    rate,
    busy: (2 * own.busy) / (before.busy + after.busy),
    own: own.result,
    peer,
  };
}

const driftOf = ({ capacities: [before, after] }: Part) => Math.abs(after / before - 1);

const report = (line: string) => void process.stderr.write(`${line}\n`);

function describeRange(values: readonly number[], digits: number): string {
  const [least, middle, most] = [Math.min(...values), median(values), Math.max(...values)];
  return `${middle.toFixed(digits)} (${least.toFixed(digits)} to ${most.toFixed(digits)})`;
}

function reportLatencies(name: string, results: readonly LoadResult[]): void {
  const sent = results.reduce((sum, { requests }) => sum + requests, 0);
  const row = (["p50Ms", "p99Ms", "p999Ms", "maxMs"] as const).map((field) =>
    describeRange(
      results.map((result) => result[field]),
      2,
    ),
  );
  report(`${name}: ${sent} requests; p50, p99, p99.9, longest of a part in ms: ${row.join(", ")}`);
}

describe.if(canSeeProcesses)(`${seconds} seconds at ${share * 100} % of the capacity`, () => {
  test("give one response in a thousand about as fast as nginx does", async () => {
    const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, LOG_LEVEL: "error" };
    await fillStore(environment, products, feedFiles);
    await using service = await startService(environment);
    await pinAll(service.pid);
    const nginxUrl = nginx ? await startNginx() : undefined;

    await using generator = new LoadProcess();
    await generator.drive({ ...mixOf(service.url), seconds: 3 * probeSeconds });
    const needed = Math.ceil(seconds / partSeconds);
    const parts: Part[] = [];
    for (let tries = 0; parts.length < needed && tries < 2 * needed; tries++) {
      const part = await runPart(generator, service, nginxUrl);
      const isSteady = !isCampaign || driftOf(part) <= maxDrift;
      if (isSteady) parts.push(part);
      report(
        `capacity ${part.capacities.map((capacity) => capacity.toFixed(0)).join(", then ")} requests per second` +
          `${isSteady ? "" : ", does not count"}; sent ${part.rate.toFixed(0)}, processor time ` +
          `${(100 * part.busy).toFixed(0)} % of that at capacity; p99.9 ${part.own.p999Ms.toFixed(2)} ms, nginx ` +
          `${part.peer?.p999Ms.toFixed(2) ?? "none"} ms`,
      );
    }
    expect(parts.length, "parts during which the machine was steady").toBe(needed);

    const own = parts.map((part) => part.own);
    const peer = parts.flatMap((part) => part.peer ?? []);
    const capacities = parts.flatMap((part) => part.capacities);
    const rates = parts.map((part) => part.rate);
    report(`capacity: ${describeRange(capacities, 0)} requests per second, sent ${describeRange(rates, 0)}`);
    const busy = parts.map((part) => part.busy);
    report(`processor time, as a share of that at capacity: ${describeRange(busy, 2)}`);
    reportLatencies("pds", own);
    if (peer.length > 0) reportLatencies("nginx", peer);
    // The generator throws if any response has another status than expected.
    for (const { statuses } of own) {
      expect(statuses["200"]).toBeGreaterThan(0);
      expect(statuses["404"]).toBeGreaterThan(0);
    }
    // A short run is all warm-up, and on a busy machine.
    if (!isCampaign) return;
    const p999Ms = (results: readonly LoadResult[]) => median(results.map((result) => result.p999Ms));
    if (peer.length > 0) expect(p999Ms(own)).toBeLessThan(slower * p999Ms(peer));
  });
});

/** Moves a process with all of its threads to the core of the servers: the generator has the other. */
async function pinAll(pid: number): Promise<void> {
  const [taskset] = onCore(serverCore);
  if (taskset === undefined) return;
  const pinned = Bun.spawn([taskset, "-a", "-p", "-c", `${serverCore}`, `${pid}`], { stdout: "ignore" });
  expect(await pinned.exited).toBe(0);
}
