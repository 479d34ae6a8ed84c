import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { skuOf, writeFeed } from "./support/feed.ts";
import { withFolder } from "./support/folder.ts";
import { LoadProcess } from "./support/measure.ts";
import { print } from "./support/print.ts";
import { type RunningService, runCommand, startService, stopProcess } from "./support/service.ts";
import { interval, median } from "./support/statistics.ts";

// Measures how much a storm of requests on one shop slows down the other nine shops of a machine:
// `npm run bench -- shops [ROUNDS] [CPUS]`, as root on Linux. With CPUS, each service gets at most as
// many, like `cpus` of Compose and `CPUQuota` of systemd.
//
// Clients are on other machines in reality. Here, that of the storm gets only CPU that nobody else
// wants, and that of the others takes precedence over everything, so that its measurements do not
// wait for a CPU. As a control, busy loops replace the storm: the one of the service, and the one of
// its clients.
const rounds = Number(process.argv[2] ?? 10);
const cpus = process.argv[3] === undefined ? undefined : Number(process.argv[3]);
const shops = 10;
const seconds = 5;
const skus = 1000;

const whenIdle = ["chrt", "--idle", "0"];
const busyLoop = ["sh", "-c", "while :; do :; done"];

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

// They stay for all rounds: a new one would be slow at first.
await using clients = new LoadProcess(["chrt", "--fifo", "1"]);
await using stormyClients = new LoadProcess(whenIdle);

/** @returns the 99th percentile of each shop in milliseconds, under a steady load */
async function measure(services: readonly RunningService[]): Promise<number[]> {
  const results = await clients.driveAll(
    services.map(({ url }, seed) => ({
      url,
      seed,
      paths: known,
      connections: 4,
      seconds,
      rate: 100,
      isRandom: true,
      between: "sleep",
    })),
  );
  return results.map(({ p99Ms }) => p99Ms);
}

/** Measures while other processes take as much CPU as the storm may. */
async function measureBusy(services: readonly RunningService[]): Promise<number[]> {
  const loops = [busyLoop, [...whenIdle, ...busyLoop]].map((command) => Bun.spawn(command));
  try {
    if (loops[0] !== undefined && cpus !== undefined) limit(loops[0], cpus);
    return await measure(services);
  } finally {
    for (const loop of loops) await stopProcess(loop);
  }
}

const toText = (values: readonly number[]) => median(values).toFixed(2);

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
    const controls: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const calm = await measure(others);
      const busy = await measureBusy(others);
      const [during, { perSecond }] = await Promise.all([
        measure(others),
        stormyClients.drive({ url: stormy.url, paths: storm, connections: 64, seconds }),
      ]);
      ratios.push(median(during) / median(calm));
      worst.push(Math.max(...during.map((p99Ms, shop) => p99Ms / (calm[shop] ?? Number.NaN))));
      controls.push(median(busy) / median(calm));
      print(
        `round ${round + 1}: p99 ${toText(calm)} ms, beside busy loops ${toText(busy)} ms, in the storm ${toText(during)} ms; ${perSecond.toFixed(0)} requests/s in the storm`,
      );
    }
    print(`p99 of the others in the storm / without: ${interval(ratios)}; the worst of them: ${interval(worst)}`);
    print(`beside busy loops / without: ${interval(controls)}`);
  } finally {
    for (const { child } of services) await stopProcess(child);
    for (const group of groups) rmdirSync(group);
  }
});
