import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { SQL } from "bun";
import { toSvg } from "./support/chart.ts";
import { Contenders, installPeers } from "./support/contenders.ts";
import { type Bench, compare, LoadProcess, type Pace, type Row } from "./support/measure.ts";
import { withPostgres } from "./support/postgres.ts";
import { onCore, parentOf } from "./support/processes.ts";
import { writeProducts } from "./support/products.ts";
import { type Environment, replaceSection, toMarkdown } from "./support/report.ts";
import type { Measured } from "./support/requirements.ts";
import { compareAtHalfLoad, compareSizes, type HalfLoad, pathsByDemand, type Zipf } from "./support/scale.ts";
import { createStores, type Stores } from "./support/stores.ts";
import { type Operation, readBodies } from "./support/targets.ts";
import { compareWorkloads, type Paths, verifyBodies, type Workload, type WorkloadRow } from "./support/workloads.ts";

// Compares serving with the bare runtime, a static file server, and the same service written by
// hand, in one run: `npm run bench -- [--quick] [--only PART,…]`. With --quick it uses small data and
// few rounds. With one of the two it prints the results without writing them.
const { values } = parseArgs({ options: { quick: { type: "boolean", default: false }, only: { type: "string" } } });
const isComplete = !values.quick && values.only === undefined;

/**
 * All operations beside each other; by number of addresses; other kinds of requests and other
 * servers; few and many SKUs; latency at half load.
 */
const parts = ["together", "addresses", "operations", "sizes", "half-load"] as const;
type Part = (typeof parts)[number];
const selected = (values.only?.split(",") ?? parts) as readonly Part[];
const unknown = selected.filter((part) => !parts.includes(part));
if (unknown.length > 0) throw new Error(`--only: ${unknown.join(", ")}; the parts are ${parts.join(", ")}`);

const results = join(import.meta.dir, "RESULTS.md");
const plot = "serving.svg";
const startedMs = performance.now();
const logProgress = (line: string) =>
  void process.stderr.write(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);

const pace: Pace = values.quick
  ? { rounds: 3, seconds: 0.25, warmSeconds: 0.15 }
  : { rounds: 5, seconds: 1, warmSeconds: 1 };
/** Where ratios are close to their targets. */
const exactPace: Pace = values.quick ? pace : { ...pace, rounds: 15 };

/** Numbers of SKUs: all but the part `sizes` use the middle one. */
const [fewest, mainSize, most] = values.quick ? [1000, 10_000, 100_000] : [1000, 100_000, 1_000_000];
const productCount = values.quick ? 200 : 2000;
/** Number of hot addresses where their number doesn't matter. */
const hotCount = 100;

const together: readonly Workload[] = [false, true].flatMap((isBrowser) => [
  { operation: "personalization", addresses: 10_000, order: "uniform", isBrowser },
  { operation: "product", addresses: productCount, order: "zipf", isBrowser },
  { operation: "histories", addresses: 2, order: "uniform", isBrowser },
]);

/** Evenly and by Zipf, with and without a browser's `Accept-Encoding`. */
function workloadsOf(operation: Operation["name"], addresses: number): Workload[] {
  return (["uniform", "zipf"] as const).flatMap((order) =>
    [false, true].map((isBrowser) => ({ operation, addresses, order, isBrowser })),
  );
}

const byAddresses: readonly Workload[] = [
  ...[100, 1000, 10_000, 100_000]
    .filter((count) => count <= mainSize)
    .map((count) => ["personalization", count] as const),
  ...[100, productCount].map((count) => ["product", count] as const),
].flatMap(([operation, count]) => workloadsOf(operation, count));

/** Writes the responses of the service as files, for the static file servers. */
async function writeBodies(root: string, operations: readonly Operation[]): Promise<void> {
  for (const { bodies } of operations) {
    for (const [path, body] of bodies) {
      const file = join(root, "api", "v1", path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, body);
    }
  }
}

interface Data {
  readonly folder: string;
  readonly stores: Stores;
  readonly products: readonly string[];
}

/** The parts that compare with other servers, at the main size. */
async function compareServers(
  bench: Bench,
  { folder, stores, products }: Data,
  hasPeers: boolean,
): Promise<Omit<Measured, "zipf">> {
  const { skus } = stores;
  logProgress(`${skus} SKUs: starting the servers`);
  await using contenders = new Contenders();
  await contenders.startService("ours", stores);
  const ours = contenders.get("ours");
  const paths: Paths = {
    personalization: pathsByDemand(skus, selected.includes("addresses") ? skus : 10_000),
    product: products.map((id) => `/products/${id}`),
    histories: ["/histories/desc", "/histories/asc"],
  };
  const names = Object.keys(paths) as Operation["name"][];
  const operations = await Promise.all(
    names.map(async (name) => ({ name, bodies: await readBodies(ours.url, paths[name]) })),
  );
  const root = join(folder, `files-${skus}`);
  await writeBodies(root, operations);
  await contenders.startBare(root);
  if (Bun.which("nginx") !== null) await contenders.startNginx(root, join(folder, `nginx-${skus}`));
  if (hasPeers) await contenders.startHandwritten("fastify", stores);
  for (const contender of contenders.all) {
    for (const { bodies } of operations) await verifyBodies(contender, bodies);
  }

  const compareBeside = async (part: Part, workloads: readonly Workload[], of: Pace) => {
    if (!selected.includes(part)) return [];
    logProgress(`${part}: ${workloads.length} workloads`);
    return await compareWorkloads({ ...bench, pace: of }, contenders.all, paths, workloads);
  };
  const beside = [
    ...(await compareBeside("together", together.slice(0, 3), exactPace)),
    ...(await compareBeside("together", together.slice(3), exactPace)),
  ];
  const workloads: WorkloadRow[] = [];
  for (const workload of byAddresses) workloads.push(...(await compareBeside("addresses", [workload], pace)));
  let halfLoad: HalfLoad | undefined;
  if (selected.includes("half-load")) {
    logProgress("half load");
    const hot = paths.personalization.slice(0, hotCount);
    halfLoad = await compareAtHalfLoad(bench, ours, contenders.get("bare"), hot);
  }
  const rows: Row[] = [];
  if (selected.includes("operations")) {
    if (hasPeers) await contenders.startHandwritten("express", stores);
    await contenders.startService("coldSqlite", stores);
    await contenders.startService("coldPostgres", stores);
    for (const { name, bodies } of operations) {
      const hot = { name, bodies: new Map([...bodies].slice(0, hotCount)) };
      rows.push(...(await compare(bench, contenders.all, hot, skus, ["200", "304", "gzip", "br"])));
    }
  }
  return { skus, together: beside, workloads, rows, halfLoad };
}

/** The service at the smallest and the largest size. */
async function compareFewAndMany(bench: Bench, few: Stores, many: Stores): Promise<Zipf> {
  logProgress(`${few.skus} and ${many.skus} SKUs`);
  await using contenders = new Contenders();
  await contenders.startService("ours", few);
  await using others = new Contenders();
  await others.startService("ours", many);
  return await compareSizes(bench, contenders.get("ours"), others.get("ours"), [few.skus, many.skus]);
}

/** Process id of the postmaster of a server on this machine, and its version. */
async function describePostgres(url: string): Promise<{ pid: number; version: string }> {
  await using sql = new SQL(url, { max: 1 });
  const [row] = await sql`SELECT pg_backend_pid() AS pid, current_setting('server_version') AS version`;
  return { pid: parentOf(row.pid), version: row.version };
}

async function run(folder: string, server: string, hasPeers: boolean, postgresPid: number): Promise<Measured> {
  await using load = new LoadProcess();
  const bench: Bench = { load, postgresPid, pace, logProgress };
  const documents = join(folder, "products.ndjson");
  const products = await writeProducts(documents, productCount);
  const create = async (skus: number) => {
    logProgress(`${skus} SKUs: filling the stores`);
    return await createStores(server, folder, skus, documents);
  };
  let measured: Omit<Measured, "zipf"> = { skus: mainSize, together: [], workloads: [], rows: [], halfLoad: undefined };
  if (selected.some((part) => part !== "sizes")) {
    measured = await compareServers(bench, { folder, stores: await create(mainSize), products }, hasPeers);
  }
  if (!selected.includes("sizes")) return { ...measured, zipf: undefined };
  const exact = { ...bench, pace: exactPace };
  return { ...measured, zipf: await compareFewAndMany(exact, await create(fewest), await create(most)) };
}

/** @returns the version of a program */
async function versionOf(program: string, ...args: string[]): Promise<string> {
  if (Bun.which(program) === null) return "not present";
  const child = Bun.spawn([program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const said = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return said.join("").match(/\d+(\.\d+)+/)?.[0] ?? "of an unknown version";
}

async function describeEnvironment(peers: Record<string, string> | undefined, postgres: string): Promise<Environment> {
  const absent = "not present";
  const { express = absent, fastify = absent, pg = absent, "lru-cache": lru = absent } = peers ?? {};
  const model = cpus()[0]?.model.trim() ?? "";
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return {
    command: ["npm run bench", ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : [])].join(" "),
    machine: `${availableParallelism()} cores (${model}), ${gigabytes} GB, ${process.platform} ${process.arch}`,
    versions: {
      Bun: Bun.version,
      Node: await versionOf("node", "--version"),
      nginx: await versionOf("nginx", "-v"),
      Express: express,
      Fastify: fastify,
      pg,
      "lru-cache": lru,
      PostgreSQL: postgres,
    },
    isPinned: onCore(0).length > 0,
    rounds: pace.rounds,
    exactRounds: exactPace.rounds,
    seconds: pace.seconds,
  };
}

const peers = await installPeers(logProgress);
await withPostgres(["shared_buffers=1GB", "min_wal_size=2GB", "max_wal_size=4GB"], async (folder, serverUrl) => {
  const { pid, version } = await describePostgres(serverUrl);
  const measured = await run(folder, serverUrl, peers !== undefined, pid);
  const markdown = toMarkdown(measured, await describeEnvironment(peers, version), isComplete ? plot : undefined);
  process.stdout.write(`${markdown}\n`);
  if (isComplete) {
    await writeFile(results, replaceSection(await Bun.file(results).text(), markdown));
    await writeFile(join(import.meta.dir, plot), toSvg(measured.rows));
  }
  logProgress("done");
});
