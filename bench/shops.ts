import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { skuOf, writeFeed } from "./support/feed.ts";
import { withFolder } from "./support/folder.ts";
import { type LoadResult, type LoadSpec, runLoad } from "./support/load.ts";
import { print } from "./support/print.ts";
import { type RunningService, runCommand, startService, stopProcess } from "./support/service.ts";
import { interval, median } from "./support/statistics.ts";

// Measures how much a storm of requests on one shop slows down the other nine shops of a machine:
// `npm run bench:shops -- [ROUNDS] [CPUS]`. With CPUS, each service gets at most as many, like `cpus` of
// Compose and `CPUQuota` of systemd; that needs root on Linux.
const rounds = Number(process.argv[2] ?? 10);
const cpus = process.argv[3] === undefined ? undefined : Number(process.argv[3]);
const shops = 10;
const seconds = 5;
const skus = 1000;

const known = Array.from({ length: skus }, (_, index) => `/products/pz/${skuOf(index)}`);
/** Each second request has to look for a SKU that does not exist. */
const storm = Array.from({ length: 100_000 }, (_, index) =>
  index % 2 === 0 ? (known[index % skus] ?? "") : `/products/pz/storm-${index}`,
);

const groups: string[] = [];

/** Puts a process, and those that it starts, into a control group of its own. */
function limit({ pid }: Bun.Subprocess, quota: number): void {
  const isUnified = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const group = join("/sys/fs/cgroup", isUnified ? "" : "cpu", `pds-bench-${pid}`);
  mkdirSync(group);
  groups.push(group);
  const periodUs = 10_000;
  const file = isUnified ? "cpu.max" : "cpu.cfs_quota_us";
  if (!isUnified) writeFileSync(join(group, "cpu.cfs_period_us"), `${periodUs}`);
  writeFileSync(join(group, file), isUnified ? `${quota * periodUs} ${periodUs}` : `${quota * periodUs}`);
  writeFileSync(join(group, "cgroup.procs"), `${pid}`);
}

/** Sends requests as others would from other machines: they get only CPU that nobody else wants. */
async function startStorm(url: string) {
  const spec: LoadSpec = { url, paths: storm, connections: 64, seconds };
  const child = Bun.spawn(["chrt", "--idle", "0", process.execPath, join(import.meta.dir, "support", "load.ts")], {
    stdio: [new Blob([`${JSON.stringify(spec)}\n`]), "pipe", "inherit"],
  });
  return JSON.parse(await child.stdout.text()) as LoadResult;
}

/** @returns the 99th percentile of each shop in milliseconds, under a steady load */
async function measure(services: readonly RunningService[]): Promise<number[]> {
  const results = await Promise.all(
    services.map(({ url }) => runLoad({ url, paths: known, connections: 4, seconds, rate: 50 })),
  );
  const failed = results.filter((result) => result.failed > 0);
  if (failed.length > 0) throw new Error(`requests failed: ${JSON.stringify(failed[0]?.failures)}`);
  return results.map(({ p99Ms }) => p99Ms);
}

await withFolder(async (folder) => {
  const feed = await writeFeed(join(folder, "feed"), skus, { status: "A" });
  const services: RunningService[] = [];
  try {
    for (let shop = 0; shop < shops; shop++) {
      const environment = { DATABASE_URL: `sqlite:${join(folder, `${shop}.sqlite`)}` };
      await runCommand(["import", "personalization", feed], environment);
      const service = await startService(environment);
      services.push(service);
      if (cpus !== undefined) limit(service.child, cpus);
    }
    const [stormy, ...others] = services;
    if (stormy === undefined) throw new Error("no service");
    await measure(services);
    const ratios: number[] = [];
    const worst: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const calm = await measure(others);
      const [during, { perSecond }] = await Promise.all([measure(others), startStorm(stormy.url)]);
      const ofShops = during.map((p99Ms, shop) => p99Ms / (calm[shop] ?? Number.NaN));
      ratios.push(median(during) / median(calm));
      worst.push(Math.max(...ofShops));
      print(
        `round ${round + 1}: p99 ${median(calm).toFixed(2)} ms, in the storm ${median(during).toFixed(2)} ms; ${perSecond.toFixed(0)} requests/s in the storm`,
      );
    }
    print(`p99 of the others in the storm / without: ${interval(ratios)}; the worst of them: ${interval(worst)}`);
  } finally {
    for (const { child } of services) await stopProcess(child);
    for (const group of groups) rmdirSync(group);
  }
});
