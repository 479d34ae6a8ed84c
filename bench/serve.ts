import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { SQL } from "bun";
import { toSvg } from "./support/chart.ts";
import { Contenders, installPeers } from "./support/contenders.ts";
import { skuOf } from "./support/feed.ts";
import { type Bench, compare, LoadProcess, type Pace, type Row } from "./support/measure.ts";
import { withPostgres } from "./support/postgres.ts";
import { onCore, parentOf } from "./support/processes.ts";
import { writeProducts } from "./support/products.ts";
import { type Environment, replaceSection, toMarkdown } from "./support/report.ts";
import type { Measured } from "./support/requirements.ts";
import { compareAtHalfLoad, compareSizes, type HalfLoad } from "./support/scale.ts";
import { createStores, type Stores } from "./support/stores.ts";
import { type Operation, readBodies } from "./support/targets.ts";

// Compares serving with the bare runtime, a static file server, and the same service written by
// hand, in one run: `npm run bench -- [--quick] [--sizes SKUS,…]`. With --quick it uses small data,
// and prints the results without writing them.
const { values } = parseArgs({ options: { quick: { type: "boolean", default: false }, sizes: { type: "string" } } });

const results = join(import.meta.dir, "RESULTS.md");
const plot = "serving.svg";
const startedMs = performance.now();
const logProgress = (line: string) =>
  void process.stderr.write(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);

const pace: Pace = values.quick
  ? { rounds: 1, seconds: 0.25, warmSeconds: 0.15 }
  : { rounds: 5, seconds: 1.5, warmSeconds: 1 };

/**
 * @returns the sizes in ascending order
 * @throws Error if the text is not a list of positive integers
 */
function sizesOf(text: string): number[] {
  const sizes = text.split(",").map(Number);
  if (!sizes.every((size) => Number.isInteger(size) && size > 0)) throw new Error(`--sizes: ${text}`);
  return [...new Set(sizes)].toSorted((a, b) => a - b);
}

const sizes = sizesOf(values.sizes ?? (values.quick ? "1000,10000" : "1000,100000,1000000"));
/**
 * The middle size, for which everything is measured; for the others only what depends on the size.
 */
const mainSize = sizes[Math.floor(sizes.length / 2)] ?? 0;
const [fewest, most] = [sizes[0] ?? 0, sizes.at(-1) ?? 0] as const;

/** Number of hot paths: few enough for every cache, and for the caches of the processor. */
const keys = 100;

const skuPaths = (skus: number) =>
  Array.from({ length: Math.min(keys, skus) }, (_, index) => {
    return `/products/pz/${skuOf(Math.floor((index * skus) / Math.min(keys, skus)))}`;
  });

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

/** All operations and kinds of requests at the main size; personalization at the others. */
async function compareAt(
  bench: Bench,
  { folder, stores, products }: Data,
  hasPeers: boolean,
): Promise<{ rows: Row[]; halfLoad: HalfLoad | undefined }> {
  const { skus } = stores;
  const isMain = skus === mainSize;
  logProgress(`${skus} SKUs: starting the servers`);
  await using contenders = new Contenders();
  await contenders.startService("ours", stores);
  const ours = contenders.get("ours");
  const read = async (name: Operation["name"], paths: readonly string[]): Promise<Operation> => ({
    name,
    bodies: await readBodies(ours.url, paths),
  });
  const operations = [
    await read("personalization", skuPaths(skus)),
    ...(isMain
      ? [
          await read(
            "product",
            products.map((id) => `/products/${id}`),
          ),
          await read("histories", ["/histories/desc", "/histories/asc"]),
        ]
      : []),
  ];
  const root = join(folder, `files-${skus}`);
  await writeBodies(root, operations);
  await contenders.startBare(root);
  if (Bun.which("nginx") !== null) await contenders.startNginx(root, join(folder, `nginx-${skus}`));
  if (hasPeers) {
    await contenders.startHandwritten("fastify", stores);
    await contenders.startHandwritten("express", stores);
  }
  await contenders.startService("coldSqlite", stores);
  await contenders.startService("coldPostgres", stores);

  const rows: Row[] = [];
  for (const operation of operations) {
    const kinds = isMain ? (["200", "304", "gzip", "br"] as const) : (["200"] as const);
    rows.push(...(await compare(bench, contenders.all, operation, skus, kinds)));
  }
  if (!isMain) return { rows, halfLoad: undefined };
  logProgress("half load");
  return { rows, halfLoad: await compareAtHalfLoad(bench, ours, contenders.get("bare"), skuPaths(skus)) };
}

/** The service at the smallest and the largest size. */
async function compareFewAndMany(bench: Bench, few: Stores, many: Stores) {
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
  const products = await writeProducts(documents, keys);
  const allStores: Stores[] = [];
  for (const skus of sizes) {
    logProgress(`${skus} SKUs: filling the stores`);
    allStores.push(await createStores(server, folder, skus, documents));
  }
  const rows: Row[] = [];
  let halfLoad: HalfLoad | undefined;
  for (const stores of allStores) {
    const measured = await compareAt(bench, { folder, stores, products }, hasPeers);
    rows.push(...measured.rows);
    halfLoad ??= measured.halfLoad;
  }
  const storesOf = (skus: number) => allStores.find((stores) => stores.skus === skus) as Stores;
  const zipf = await compareFewAndMany(bench, storesOf(fewest), storesOf(most));
  if (halfLoad === undefined) throw new Error("the main size was not measured");
  return { rows, zipf, halfLoad };
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
    seconds: pace.seconds,
  };
}

const peers = await installPeers(logProgress);
await withPostgres(["shared_buffers=1GB", "min_wal_size=2GB", "max_wal_size=4GB"], async (folder, serverUrl) => {
  const { pid, version } = await describePostgres(serverUrl);
  const measured = await run(folder, serverUrl, peers !== undefined, pid);
  const markdown = toMarkdown(measured, await describeEnvironment(peers, version), plot);
  process.stdout.write(`${markdown}\n`);
  if (!values.quick) {
    await writeFile(results, replaceSection(await Bun.file(results).text(), markdown));
    await writeFile(join(import.meta.dir, plot), toSvg(measured.rows.filter(({ skus }) => skus === mainSize)));
  }
  logProgress("done");
});
