import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { SQL } from "bun";
import { createPostgres } from "../test/support/postgres.ts";
import { type Operation, readBodies } from "./asking.ts";
import { Contenders, installPeers } from "./contenders.ts";
import { skuOf } from "./feed.ts";
import { type Bench, compare, LoadProcess, type Pace, type Row } from "./measure.ts";
import { toSvg } from "./plot.ts";
import { onCore, parentOf } from "./processes.ts";
import { writeProducts } from "./products.ts";
import type { Measured } from "./requirements.ts";
import { type Circumstances, toMarkdown, withPart } from "./results.ts";
import { compareAtHalfLoad, compareSizes, type HalfLoad } from "./scale.ts";
import { createStores, type Stores } from "./stores.ts";

// Serving, beside the bare runtime, a server of static files, and the same service as it is written by hand, in one run:
// `npm run bench -- [--quick] [--sizes SKUS,…]`. With --quick everything is small, and the results are printed and not written.
const { values } = parseArgs({ options: { quick: { type: "boolean", default: false }, sizes: { type: "string" } } });

const results = join(import.meta.dir, "RESULTS.md");
const plot = "serving.svg";
const begunMs = performance.now();
const tell = (line: string) =>
  void process.stderr.write(`${((performance.now() - begunMs) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);

const pace: Pace = values.quick
  ? { rounds: 1, seconds: 0.25, warmSeconds: 0.15 }
  : { rounds: 5, seconds: 1.5, warmSeconds: 1 };

/** Fewest first. @throws Error when it is not a list of numbers */
function sizesOf(text: string): number[] {
  const sizes = text.split(",").map(Number);
  if (!sizes.every((size) => Number.isInteger(size) && size > 0)) throw new Error(`--sizes: ${text}`);
  return [...new Set(sizes)].toSorted((a, b) => a - b);
}

const sizes = sizesOf(values.sizes ?? (values.quick ? "1000,10000" : "1000,100000,1000000"));
/** The size at which everything is measured, the middle one; at the others only what depends on it. */
const mainSize = sizes[Math.floor(sizes.length / 2)] ?? 0;
const [fewest, most] = [sizes[0] ?? 0, sizes.at(-1) ?? 0] as const;

/** How many addresses are hot: so few that everyone remembers all of them, and that they stay near the processor. */
const keys = 100;

const skuPaths = (skus: number) =>
  Array.from({ length: Math.min(keys, skus) }, (_, index) => {
    return `/products/pz/${skuOf(Math.floor((index * skus) / Math.min(keys, skus)))}`;
  });

/** Writes what the service answers as files, for those who only answer files. */
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

/** All operations at the main size, with all ways to ask; personalization at the others. */
async function compareAt(
  bench: Bench,
  { folder, stores, products }: Data,
  hasPeers: boolean,
): Promise<{ rows: Row[]; halfLoad: HalfLoad | undefined }> {
  const { skus } = stores;
  const isMain = skus === mainSize;
  tell(`${skus} SKUs: starting everyone`);
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
    await contenders.startByHand("fastify", stores);
    await contenders.startByHand("express", stores);
  }
  await contenders.startService("coldSqlite", stores);
  await contenders.startService("coldPostgres", stores);

  const rows: Row[] = [];
  for (const operation of operations) {
    const ways = isMain ? (["200", "304", "gzip", "br"] as const) : (["200"] as const);
    rows.push(...(await compare(bench, contenders.all, operation, skus, ways)));
  }
  if (!isMain) return { rows, halfLoad: undefined };
  tell("half load");
  return { rows, halfLoad: await compareAtHalfLoad(bench, ours, contenders.get("bare"), skuPaths(skus)) };
}

/** The service at the smallest and the largest size. */
async function compareFewAndMany(bench: Bench, few: Stores, many: Stores) {
  tell(`${few.skus} and ${many.skus} SKUs`);
  await using contenders = new Contenders();
  await contenders.startService("ours", few);
  await using others = new Contenders();
  await others.startService("ours", many);
  return await compareSizes(bench, contenders.get("ours"), others.get("ours"), [few.skus, many.skus]);
}

/** The first process of a server on this machine, and its version. */
async function describePostgres(url: string): Promise<{ pid: number; version: string }> {
  await using sql = new SQL(url, { max: 1 });
  const [row] = await sql`SELECT pg_backend_pid() AS pid, current_setting('server_version') AS version`;
  return { pid: parentOf(row.pid), version: row.version };
}

async function run(folder: string, server: string, hasPeers: boolean, postgresPid: number): Promise<Measured> {
  await using load = new LoadProcess();
  const bench: Bench = { load, postgresPid, pace, tell };
  const documents = join(folder, "products.ndjson");
  const products = await writeProducts(documents, keys);
  const allStores: Stores[] = [];
  for (const skus of sizes) {
    tell(`${skus} SKUs: filling the stores`);
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
  if (halfLoad === undefined) throw new Error("there was no main size");
  return { rows, zipf, halfLoad };
}

/** @returns what a program says of its version */
async function versionOf(program: string, ...args: string[]): Promise<string> {
  if (Bun.which(program) === null) return "not present";
  const child = Bun.spawn([program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const said = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return said.join("").match(/\d+(\.\d+)+/)?.[0] ?? "of an unknown version";
}

async function circumstancesOf(peers: Record<string, string> | undefined, postgres: string): Promise<Circumstances> {
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

const peers = await installPeers(tell);
const folder = await mkdtemp(join(tmpdir(), "pds-bench-"));
const postgres = await createPostgres(["shared_buffers=1GB", "min_wal_size=2GB", "max_wal_size=4GB"]);
try {
  const { pid, version } = await describePostgres(postgres.url);
  const measured = await run(folder, postgres.url, peers !== undefined, pid);
  const markdown = toMarkdown(measured, await circumstancesOf(peers, version), plot);
  process.stdout.write(`${markdown}\n`);
  if (!values.quick) {
    await writeFile(results, withPart(await Bun.file(results).text(), markdown));
    await writeFile(join(import.meta.dir, plot), toSvg(measured.rows.filter(({ skus }) => skus === mainSize)));
  }
  tell("done");
} finally {
  await postgres.remove();
  await rm(folder, { recursive: true, force: true });
}
