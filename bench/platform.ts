import { join } from "node:path";
import { defaultApp } from "../packages/platform-stand-in/src/options.ts";
import { type StandIn, type StandInOptions, startStandIn } from "../packages/platform-stand-in/src/stand-in.ts";
import { withFolder } from "./support/folder.ts";
import { print, seconds } from "./support/print.ts";
import { runCommand, withService } from "./support/service.ts";
import { median } from "./support/statistics.ts";

// Measures the jobs and lookups against the platform stand-in:
// `npm run bench -- platform points|reconcile|changes|walk [SIZE]`.

interface Bench {
  readonly platform: StandIn;
  readonly environment: Record<string, string>;
}

/** Provides a stand-in and an empty store of the service during the work. */
function withBench(options: StandInOptions, work: (bench: Bench) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const platform = startStandIn(options);
    const config = join(folder, "pds.toml");
    await Bun.write(config, "[jobs.catalog-reconcile]\n[jobs.catalog-sync]\n");
    const environment = {
      PATH: process.env.PATH ?? "",
      PDS_CONFIG: config,
      DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
      SHOP_DOMAIN: platform.settings.shop.myshopifyDomain,
      SHOPIFY_ACCESS_TOKEN: defaultApp.token,
      SHOPIFY_API_URL: platform.origin,
      PORT: "0",
      ADMIN_PORT: "0",
    };
    try {
      await work({ platform, environment });
    } finally {
      await platform.stop();
    }
  });
}

/**
 * Environment of a service without jobs, which the benchmark runs itself; a configured job would
 * start at once.
 */
const withoutJobs = ({ environment }: Bench) => ({ ...environment, PDS_CONFIG: "/dev/null" });

const runJob = ({ environment }: Bench, job: string) => runCommand(["run", job], environment);

async function request(url: string): Promise<{ status: number; elapsedMs: number }> {
  const startedMs = performance.now();
  const response = await fetch(url);
  await response.arrayBuffer();
  return { status: response.status, elapsedMs: performance.now() - startedMs };
}

/**
 * Syncs the whole catalog with the points of the smallest plan, while shoppers request products
 * that are not stored yet.
 */
function points(products: number) {
  return withBench({ products }, async (bench) => {
    const { platform } = bench;
    const bucket = platform.findApp().bucket.status;
    const ids = platform.catalog.ids(0, products);
    const waits: number[] = [];
    await withService(withoutJobs(bench), async (url) => {
      let done = false;
      const syncing = runJob(bench, "catalog-sync").finally(() => {
        done = true;
      });
      // The sync starts with the products that have not changed for the longest time; any other is
      // not stored yet.
      for (let count = 0; !done; count++) {
        const { status, elapsedMs } = await request(`${url}/products/${ids[(count * 37) % ids.length]}`);
        if (status !== 200) throw new Error(`a lookup returned status ${status}`);
        waits.push(elapsedMs);
        await Promise.race([syncing, Bun.sleep(2000)]);
      }
      const { output, elapsedMs } = await syncing;
      const { pointsSpent, throttled } = platform.counters;
      const leastMs = (Math.max(0, pointsSpent - bucket.maximumAvailable) / bucket.restoreRate) * 1000;
      print(output);
      print(`points spent: ${pointsSpent}, throttled responses: ${throttled}`);
      print(
        `time: ${seconds(elapsedMs, 1)}; minimum by the points: ${seconds(leastMs, 1)}; ratio ${(elapsedMs / leastMs).toFixed(2)}`,
      );
      print(
        `lookups meanwhile: ${waits.length}, median ${median(waits).toFixed(0)} ms, max ${Math.max(...waits).toFixed(0)} ms`,
      );
    });
  });
}

/** Reconciles the whole catalog by bulk runs, into an empty store and then again. */
function reconcile(products: number) {
  // The bulk runs ended long ago, so that no run waits for lists to catch up.
  const now = () => Date.now() - 150_000;
  return withBench({ products, variants: [6, 6], now }, async (bench) => {
    for (const store of ["empty store", "same again"]) {
      const { output, log, elapsedMs, cpuMs, maxRssMb } = await runJob(bench, "catalog-reconcile");
      const [, downloadMs = "", writeMs = ""] = log.match(/"downloadMs":(\d+).*"writeMs":(\d+)/s) ?? [];
      print(
        `${store}: ${output}; ${seconds(elapsedMs, 1)}, of which ${seconds(+downloadMs, 1)} download and ` +
          `${seconds(+writeMs, 1)} assembling, mapping, and writing: ${((products / +writeMs) * 1000).toFixed(0)} ` +
          `products per second; ${seconds(cpuMs, 1)} of CPU, peak memory ${maxRssMb.toFixed(0)} MB`,
      );
    }
  });
}

/** Syncs 100 changed products of a large catalog. */
function changes(products: number) {
  return withBench({ products, bucket: { maximumAvailable: 20_000, restoreRate: 1000 } }, async (bench) => {
    const { platform } = bench;
    await runJob(bench, "catalog-reconcile");
    await runJob(bench, "catalog-sync");
    const ids = platform.catalog.ids(0, products);
    const changed = Array.from({ length: 100 }, (_, index) => ids[Math.floor((index * products) / 100)] ?? "");
    for (const id of changed) platform.catalog.touch(id, { product: { title: `Changed ${id}` } });
    platform.counters.reset();
    const { output, elapsedMs } = await runJob(bench, "catalog-sync");
    const reads = platform.counters.productReads;
    print(
      `${output}; ${seconds(elapsedMs, 1)}, ${reads.size} products read in full, ${platform.counters.pointsSpent} points`,
    );
    await withService({ ...withoutJobs(bench), PRODUCT_MAX_AGE: "999999" }, async (url) => {
      const answers = await Promise.all(changed.map(async (id) => (await fetch(`${url}/products/${id}`)).text()));
      print(
        `served afterwards: ${answers.filter((answer, index) => answer.includes(`Changed ${changed[index]}`)).length} of 100`,
      );
    });
  });
}

/** Requests ids that do not exist, one after the other. */
function walk(unknown: number) {
  return withBench({ products: 200 }, async (bench) => {
    await runJob(bench, "catalog-reconcile");
    const [known = ""] = bench.platform.catalog.ids(0, 1);
    await withService(withoutJobs(bench), async (url) => {
      const knownMs = async () => {
        const times = [];
        for (let count = 0; count < 2000; count++) times.push((await request(`${url}/products/${known}`)).elapsedMs);
        return median(times);
      };
      await knownMs();
      const before = await knownMs();
      bench.platform.counters.reset();
      const statuses = new Map<number, number>();
      const startedMs = performance.now();
      let next = 1;
      const walker = async () => {
        while (next <= unknown) {
          const { status } = await request(`${url}/products/${next++}`);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      const walking = Promise.all(Array.from({ length: 4 }, walker));
      const during = await knownMs();
      await walking;
      const minutes = (performance.now() - startedMs) / 60_000;
      const calls = [...bench.platform.counters.requests.values()].reduce((sum, count) => sum + count, 0);
      print(
        `${unknown} unknown ids in ${seconds(minutes * 60_000, 1)}: ${JSON.stringify(Object.fromEntries(statuses))}`,
      );
      print(`calls of the platform: ${calls}; the limit is ${Math.floor(60 + 60 * minutes)}`);
      print(`a known product: median ${before.toFixed(2)} ms before, ${during.toFixed(2)} ms during`);
    });
  });
}

const [name = "", size] = process.argv.slice(2);
const benches: Record<string, () => Promise<void>> = {
  points: () => points(Number(size ?? 2000)),
  reconcile: () => reconcile(Number(size ?? 20_000)),
  changes: () => changes(Number(size ?? 20_000)),
  walk: () => walk(Number(size ?? 100_000)),
};
const bench = benches[name];
if (bench === undefined) {
  process.stderr.write(
    `Usage: npm run bench -- platform NAME [SIZE], where NAME is one of ${Object.keys(benches).join(", ")}\n`,
  );
  process.exitCode = 2;
} else await bench();
