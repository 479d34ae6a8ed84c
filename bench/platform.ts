import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultApp } from "../packages/platform-stand-in/src/options.ts";
import { type StandIn, type StandInOptions, startStandIn } from "../packages/platform-stand-in/src/stand-in.ts";
import { main, percentile, serving } from "./service.ts";

// What the work with the platform costs, against the stand-in: `npm run bench:platform -- points|reconcile|changes|walk`.
const print = (line: string) => process.stdout.write(`${line}\n`);
const seconds = (ms: number) => (ms / 1000).toFixed(1);

interface Bench {
  readonly platform: StandIn;
  readonly environment: Record<string, string>;
}

/** A stand-in, and an empty store of the service. */
async function withBench(options: StandInOptions, work: (bench: Bench) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "pds-bench-"));
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
    await rm(folder, { recursive: true, force: true });
  }
}

/** The service without the jobs, which are run by hand. */
const served = ({ environment }: Bench) => ({ ...environment, PDS_CONFIG: "/dev/null" });

/** Runs a command of the service to its end. */
async function run({ environment }: Bench, ...args: string[]) {
  const begun = performance.now();
  const child = Bun.spawn([process.execPath, main, ...args], {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, log] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`pds ${args.join(" ")} failed: ${log}`);
  const usage = child.resourceUsage();
  const cpuMs = usage === undefined ? 0 : Number(usage.cpuTime.total) / 1000;
  return { output: output.trim(), log, ms: performance.now() - begun, cpuMs, maxRssMb: (usage?.maxRSS ?? 0) / 1e6 };
}

/** Runs the service beside the work; its job tables would start a first run, so it gets none. */
async function timed(url: string): Promise<{ status: number; ms: number }> {
  const begun = performance.now();
  const response = await fetch(url);
  await response.arrayBuffer();
  return { status: response.status, ms: performance.now() - begun };
}

/** A sync of everything with the points of the smallest plan, while shoppers ask for products that are not stored yet. */
function points(products: number) {
  return withBench({ products }, async (bench) => {
    const { platform } = bench;
    const bucket = platform.findApp().bucket.status;
    const ids = platform.catalog.ids(0, products);
    const waits: number[] = [];
    await serving(served(bench), async (url) => {
      let done = false;
      const syncing = run(bench, "run", "catalog-sync").finally(() => {
        done = true;
      });
      // Products are synced the longest unchanged first; any will do that is not there yet.
      for (let ask = 0; !done; ask++) {
        const { status, ms } = await timed(`${url}/products/${ids[(ask * 37) % ids.length]}`);
        if (status !== 200) throw new Error(`a look-up answered ${status}`);
        waits.push(ms);
        await Promise.race([syncing, Bun.sleep(2000)]);
      }
      const { output, ms } = await syncing;
      const { pointsSpent, throttled } = platform.counters;
      const leastMs = (Math.max(0, pointsSpent - bucket.maximumAvailable) / bucket.restoreRate) * 1000;
      print(output);
      print(`points: ${pointsSpent} spent, throttled answers: ${throttled}`);
      print(`time: ${seconds(ms)} s; the points alone allow ${seconds(leastMs)} s: ${(ms / leastMs).toFixed(2)} times`);
      print(
        `look-ups meanwhile: ${waits.length}, median ${percentile(waits, 0.5).toFixed(0)} ms, most ${Math.max(...waits).toFixed(0)} ms`,
      );
    });
  });
}

/** Everything at once by bulk runs, into an empty store and then again. */
function reconcile(products: number) {
  return withBench({ products, variants: [6, 6] }, async (bench) => {
    for (const store of ["empty store", "same again"]) {
      const { output, log, ms, cpuMs, maxRssMb } = await run(bench, "run", "catalog-reconcile");
      const [, downloadMs = "", writeMs = ""] = log.match(/"downloadMs":(\d+),"writeMs":(\d+)/) ?? [];
      print(
        `${store}: ${output}; ${seconds(ms)} s, of which ${seconds(+downloadMs)} s download and ` +
          `${seconds(+writeMs)} s putting together, mapping and writing: ${((products / +writeMs) * 1000).toFixed(0)} ` +
          `products a second; ${seconds(cpuMs)} s of CPU, peak memory ${maxRssMb.toFixed(0)} MB`,
      );
    }
  });
}

/** A hundred changed products of many. */
function changes(products: number) {
  return withBench({ products, bucket: { maximumAvailable: 20_000, restoreRate: 1000 } }, async (bench) => {
    const { platform } = bench;
    await run(bench, "run", "catalog-reconcile");
    await run(bench, "run", "catalog-sync");
    const ids = platform.catalog.ids(0, products);
    const changed = Array.from({ length: 100 }, (_, index) => ids[Math.floor((index * products) / 100)] ?? "");
    for (const id of changed) platform.catalog.touch(id, { product: { title: `Changed ${id}` } });
    platform.counters.reset();
    const { output, ms } = await run(bench, "run", "catalog-sync");
    const reads = platform.counters.productReads;
    print(`${output}; ${seconds(ms)} s, ${reads.size} products read in full, ${platform.counters.pointsSpent} points`);
    await serving({ ...served(bench), PRODUCT_MAX_AGE: "999999" }, async (url) => {
      const answers = await Promise.all(changed.map(async (id) => (await fetch(`${url}/products/${id}`)).text()));
      print(
        `in the answers: ${answers.filter((answer, index) => answer.includes(`Changed ${changed[index]}`)).length} of 100`,
      );
    });
  });
}

/** Someone walks over identifiers that do not exist. */
function walk(unknown: number) {
  return withBench({ products: 200 }, async (bench) => {
    await run(bench, "run", "catalog-reconcile");
    const [known = ""] = bench.platform.catalog.ids(0, 1);
    await serving(served(bench), async (url) => {
      const knownMs = async () => {
        const times = [];
        for (let ask = 0; ask < 2000; ask++) times.push((await timed(`${url}/products/${known}`)).ms);
        return percentile(times, 0.5);
      };
      await knownMs();
      const before = await knownMs();
      bench.platform.counters.reset();
      const statuses = new Map<number, number>();
      const begun = performance.now();
      let next = 1;
      const walker = async () => {
        while (next <= unknown) {
          const { status } = await timed(`${url}/products/${next++}`);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      const walking = Promise.all(Array.from({ length: 4 }, walker));
      const during = await knownMs();
      await walking;
      const minutes = (performance.now() - begun) / 60_000;
      const calls = [...bench.platform.counters.requests.values()].reduce((sum, count) => sum + count, 0);
      print(
        `${unknown} unknown ids in ${seconds(minutes * 60_000)} s: ${JSON.stringify(Object.fromEntries(statuses))}`,
      );
      print(`platform calls: ${calls}; the budget allows ${Math.floor(60 + 60 * minutes)}`);
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
  process.stderr.write(`name one of ${Object.keys(benches).join(", ")}\n`);
  process.exitCode = 2;
} else await bench();
