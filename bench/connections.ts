import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { findPosition } from "../src/database/change-log.ts";
import { readNow } from "../src/database/database.ts";
import { closeDatabase, openDatabase } from "../src/database/index.ts";
import { abandonRuns } from "../src/jobs/claim.ts";
import { createPostgres } from "../test/support/postgres.ts";
import { skuOf, writeFeed } from "./support/feed.ts";
import { withFolder } from "./support/folder.ts";
import { LoadProcess } from "./support/measure.ts";
import { print } from "./support/print.ts";
import { cpuSecondsOf, onCore, parentOf, serverCore } from "./support/processes.ts";
import { command, ready, runCommand, settings } from "./support/service.ts";
import { median } from "./support/statistics.ts";

// Measures how fast reads that are not cached are with more connections to PostgreSQL, and how much
// the idle connections of many replicas cost there: `npm run bench -- connections [ROUNDS]`.
const rounds = Number(process.argv[2] ?? 15);
const skus = 10_000;
/** Of `DATABASE_CONNECTIONS`: with one, two, and three connections for requests. */
const variants = [4, 6, 9];
const replicaCounts = [1, 10, 100];
const idleSeconds = 20;
/** As the service does. */
const [pollMs, cleanUpMs] = [200, 2000];

await withFolder(async (folder) => {
  const postgres = await createPostgres();
  const server = Number(readFileSync(join(postgres.data, "postmaster.pid"), "utf8").split("\n", 1)[0]);
  try {
    await runCommand(["import", "personalization", await writeFeed(folder, skus, { status: "A" })], {
      DATABASE_URL: postgres.url,
    });
    await compareReads(postgres.url, server);
    await countReplicas(postgres.url, server);
  } finally {
    await postgres.remove();
  }
});

async function compareReads(url: string, server: number): Promise<void> {
  const services = await Promise.all(variants.map((connections) => start(url, connections)));
  await using load = new LoadProcess();
  const paths = Array.from({ length: skus }, (_, index) => `/products/pz/${skuOf(index)}`);
  const samples = variants.map(() => ({ service: [] as number[], server: [] as number[], rate: [] as number[] }));
  const seconds = 1;
  for (let round = 0; round <= rounds; round++) {
    for (const [index, service] of services.entries()) {
      const before = [cpuSecondsOf(service.child.pid), cpuSecondsOf(server)] as const;
      const { requests } = await load.drive({
        url: service.url,
        paths,
        headers: {},
        connections: 16,
        seconds,
        seed: round,
      });
      const sample = samples[index];
      // The first round warms up.
      if (round === 0 || sample === undefined) continue;
      sample.service.push(((cpuSecondsOf(service.child.pid) - before[0]) * 1e6) / requests);
      sample.server.push(((cpuSecondsOf(server) - before[1]) * 1e6) / requests);
      sample.rate.push(requests / seconds);
    }
  }
  print("| DATABASE_CONNECTIONS | µs of the service | µs of the server | requests per second |");
  print("| --- | --- | --- | --- |");
  for (const [index, connections] of variants.entries()) {
    const { service = [], server: ofServer = [], rate = [] } = samples[index] ?? {};
    const [a, b, c] = [service, ofServer, rate].map((values) => median(values).toFixed(0));
    print(`| ${connections} | ${a} | ${b} | ${c} |`);
  }
  for (const { child } of services) child.kill("SIGTERM");
  await Promise.all(services.map(({ child }) => child.exited));
}

async function start(url: string, connections: number) {
  const environment = { DATABASE_URL: url, MEMORY_MEGABYTES: "0", DATABASE_CONNECTIONS: `${connections}` };
  const child = Bun.spawn([...onCore(serverCore), ...command], {
    env: { ...settings, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    if (ready.test(printed)) break;
  }
  return { child, url: printed.match(ready)?.[1] ?? "" };
}

/** The connections of idle replicas, each with the statements that it sends all the time. */
async function countReplicas(url: string, server: number): Promise<void> {
  print("\n| replicas | connections | CPU of the server | memory of the server | slowest poll |");
  print("| --- | --- | --- | --- | --- |");
  for (const count of replicaCounts) {
    const stopping = new AbortController();
    let slowestMs = 0;
    const replicas = await Promise.all(
      Array.from({ length: count }, async () => {
        const serving = await openDatabase(url, "serving");
        const scheduling = await openDatabase(url, "scheduling");
        const others = [await openDatabase(url, "scheduling"), await openDatabase(url, "background")];
        return { serving, scheduling, all: [serving, scheduling, ...others] };
      }),
    );
    const repeat = async (everyMs: number, work: () => Promise<unknown>) => {
      await Bun.sleep(Math.random() * everyMs);
      while (!stopping.signal.aborted) {
        await work();
        await Bun.sleep(everyMs);
      }
    };
    const loops = replicas.flatMap(({ serving, scheduling }) => [
      repeat(pollMs, async () => {
        const sentMs = performance.now();
        await findPosition(serving);
        slowestMs = Math.max(slowestMs, performance.now() - sentMs);
      }),
      repeat(cleanUpMs, () => abandonRuns(scheduling)),
      repeat(cleanUpMs, () => readNow(scheduling)),
    ]);
    await Bun.sleep(2000);
    slowestMs = 0;
    const before = cpuSecondsOf(server);
    await Bun.sleep(idleSeconds * 1000);
    const share = (cpuSecondsOf(server) - before) / idleSeconds;
    await using sql = new SQL(url, { max: 1 });
    const [open] = await sql<{ count: number }[]>`
      SELECT CAST(count(*) AS INTEGER) AS count FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    const megabytes = proportionalMegabytes(server);
    print(
      `| ${count} | ${open?.count} | ${(share * 100).toFixed(1)} % of a core | ${megabytes.toFixed(0)} MB | ` +
        `${slowestMs.toFixed(0)} ms |`,
    );
    stopping.abort();
    await Promise.all(loops);
    await Promise.all(replicas.flatMap(({ all }) => all.map(closeDatabase)));
  }
}

/** Memory of a process and its children, in which shared pages count once. */
function proportionalMegabytes(parent: number): number {
  const pids = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const kilobytes = [parent, ...pids.filter((pid) => parentOf(pid) === parent)].map((pid) =>
    Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0),
  );
  return kilobytes.reduce((sum, value) => sum + value, 0) / 1024;
}
