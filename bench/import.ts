import { Database as Sqlite } from "bun:sqlite";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { closeDatabase, openDatabase } from "../src/database/index.ts";
import { findPersonalization } from "../src/database/personalization.ts";
import { createPostgres } from "../test/support/postgres.ts";
import { linesPerSku, skuOf, writeFeed, writeTables } from "./feed.ts";
import { main, percentile, serving } from "./service.ts";

// Imports of personalization beside the engines' own loaders, on the same rows, tables and indexes, in one run:
// `npm run bench:import -- [SKUS]`.
const skus = Number(process.argv[2] ?? 1_000_000);
const fewSkus = Math.min(10_000, skus);
const tables = {
  pzlines: "personalization_line",
  pzstyles: "personalization_style",
  pzchoices: "personalization_choice",
};

const print = (line: string) => process.stdout.write(`${line}\n`);
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

interface Store {
  readonly engine: string;
  readonly url: string;
}

async function run(store: Store, args: string[], environment: Record<string, string> = {}) {
  const begun = performance.now();
  const child = Bun.spawn([process.execPath, main, ...args], {
    env: { PATH: process.env.PATH ?? "", PDS_CONFIG: "/dev/null", DATABASE_URL: store.url, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`pds ${args.join(" ")} failed: ${errors}`);
  const usage = child.resourceUsage();
  return {
    report: JSON.parse(output),
    ms: performance.now() - begun,
    cpuMs: Number(usage?.cpuTime.total ?? 0) / 1000,
    maxRssMb: (usage?.maxRSS ?? 0) / 1e6,
  };
}

/** The tables and indexes of the service, empty. */
async function makeTables(store: Store): Promise<void> {
  await closeDatabase(await openDatabase(store.url));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** The engines' own ways to load the files of `writeTables`. */
const loaders: Record<string, Record<string, (store: Store, folder: string) => Promise<unknown>>> = {
  sqlite: {
    "sqlite3 .import": async ({ url }, folder) => {
      const imports = Object.entries(tables).map(
        ([list, table]) => `.import "${join(folder, `${list}.csv`)}" ${table}`,
      );
      const child = Bun.spawn(["sqlite3", "-csv", url.slice("sqlite:".length)], {
        stdin: new Blob([`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;\n${imports.join("\n")}\n`]),
        stdout: "ignore",
        stderr: "inherit",
      });
      if ((await child.exited) !== 0) throw new Error("sqlite3 failed");
    },
    "prepared inserts": async ({ url }, folder) => {
      const database = new Sqlite(url.slice("sqlite:".length));
      database.run("PRAGMA journal_mode = WAL");
      database.run("PRAGMA synchronous = NORMAL");
      database.run("BEGIN IMMEDIATE");
      for (const [list, table] of Object.entries(tables)) {
        let statement: ReturnType<typeof database.prepare> | undefined;
        let rest = "";
        for await (const text of Bun.file(join(folder, `${list}.csv`))
          .stream()
          .pipeThrough(new TextDecoderStream())) {
          const lines = `${rest}${text}`.split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) {
            // The one quoted field stands before the last.
            const [before = "", quoted, after = ""] = line.split('"');
            const cells =
              quoted === undefined ? line.split(",") : [...before.split(",").slice(0, -1), quoted, after.slice(1)];
            statement ??= database.prepare(`INSERT INTO ${table} VALUES (${cells.map(() => "?").join(", ")})`);
            statement.run(...cells);
          }
        }
      }
      database.run("COMMIT");
      database.close();
    },
  },
  postgres: {
    "psql \\copy": async ({ url }, folder) => {
      const copies = Object.entries(tables).map(([list, table]) => [
        "-c",
        `\\copy ${table} FROM '${join(folder, `${list}.csv`)}' csv`,
      ]);
      const child = Bun.spawn(["psql", "-q", url, ...copies.flat()], { stdio: ["ignore", "ignore", "inherit"] });
      if ((await child.exited) !== 0) throw new Error("psql failed");
    },
    "COPY by the driver": async ({ url }, folder) => {
      await using sql = new SQL(url);
      for (const [list, table] of Object.entries(tables)) {
        const copy = sql.unsafe(`COPY ${table} FROM STDIN (FORMAT csv)`);
        await Bun.file(join(folder, `${list}.csv`))
          .stream()
          .pipeTo(copy.writable());
      }
    },
  },
};

const programs: Record<string, string> = { "sqlite3 .import": "sqlite3", "psql \\copy": "psql" };

async function compareLoaders(
  newStore: () => Promise<Store>,
  engine: string,
  folder: string,
): Promise<Record<string, number>> {
  const times: Record<string, number> = {};
  for (const [name, load] of Object.entries(loaders[engine] ?? {})) {
    const program = programs[name];
    if (program !== undefined && Bun.which(program) === null) continue;
    const store = await newStore();
    await makeTables(store);
    times[name] = await timed(() => load(store, folder));
    print(`  ${name}: ${seconds(times[name])}`);
  }
  return times;
}

/** Asks for SKUs at a steady rate until the work ends; every answer must be wholly of one feed. */
async function readWhile(url: string, work: Promise<unknown>): Promise<{ times: number[]; seen: Map<string, number> }> {
  const times: number[] = [];
  const seen = new Map<string, number>();
  const failures: string[] = [];
  const ask = async (sku: string) => {
    const begun = performance.now();
    const answer = await (await fetch(`${url}/products/pz/${sku}`)).text();
    times.push(performance.now() - begun);
    const statuses = new Set(
      [...answer.matchAll(/"(?:style_sku|line|choice)_status":"(\w+)"/g)].map(([, status]) => status),
    );
    const rows = answer.match(/_status"/g)?.length ?? 0;
    if (statuses.size !== 1 || rows !== linesPerSku * (1 + 2 + 2 * 20)) failures.push(answer.slice(0, 300));
    const [status = "none"] = statuses;
    seen.set(status, (seen.get(status) ?? 0) + 1);
  };
  let isDone = false;
  const end = work.finally(() => {
    isDone = true;
  });
  const begun = performance.now();
  const asked: Promise<void>[] = [];
  while (!isDone) {
    while (asked.length < ((performance.now() - begun) / 1000) * readsPerSecond) {
      asked.push(ask(skuOf(Math.floor(Math.random() * skus))));
    }
    await Bun.sleep(1);
  }
  await Promise.all(asked);
  await end;
  if (failures.length > 0) throw new Error(`${failures.length} answers are a mixture: ${failures[0]}`);
  return { times, seen };
}

const readsPerSecond = 200;

/** What a read of the store takes, at two sizes, in turns: each time the median of some thousand. */
async function compareReads(few: Store, many: Store): Promise<void> {
  const sizes = [fewSkus, skus];
  const databases = [await openDatabase(few.url), await openDatabase(many.url)];
  const medians: number[][] = [[], []];
  for (let round = 0; round < 12; round++) {
    for (const [index, database] of databases.entries()) {
      const times = [];
      for (let read = 0; read < 2000; read++) {
        const sku = skuOf(Math.floor(Math.random() * (sizes[index] ?? 1)));
        const begun = performance.now();
        const { pzchoices } = await findPersonalization(database, "default", sku);
        times.push(performance.now() - begun);
        if (pzchoices.length === 0) throw new Error(`${sku} has no personalization`);
      }
      // The first rounds warm up.
      if (round > 1) medians[index]?.push(percentile(times, 0.5));
    }
  }
  const [fewMs = 0, manyMs = 0] = medians.map((of) => percentile(of, 0.5));
  const microseconds = (ms: number) => `${(ms * 1000).toFixed(0)} µs`;
  print(
    `  a read of the store: ${microseconds(fewMs)} at ${fewSkus} SKUs, ${microseconds(manyMs)} at ${skus}: ${(manyMs / fewMs).toFixed(2)} ×`,
  );
  for (const database of databases) await closeDatabase(database);
}

async function bench(engine: string, newStore: () => Promise<Store>, folders: Record<string, string>): Promise<void> {
  print(`${engine}, ${skus} SKUs, ${skus * linesPerSku} lines`);
  const times = await compareLoaders(newStore, engine, folders.tables ?? "");
  const store = await newStore();
  const importing = (name: string, ...options: string[]) =>
    run(store, ["import", "personalization", folders[name] ?? "", "--json", ...options]);
  const ratios = (ms: number) =>
    Object.entries(times)
      .map(([name, of]) => `${(ms / of).toFixed(2)} × ${name}`)
      .join(", ");
  const told = ({ ms, cpuMs, maxRssMb }: Awaited<ReturnType<typeof run>>) =>
    `${seconds(ms)} (CPU ${seconds(cpuMs)}, peak ${maxRssMb.toFixed(0)} MB); ${ratios(ms)}`;
  const first = await importing("old");
  print(`  pds import, into the empty store: ${told(first)}`);
  const second = await importing("new");
  print(`  pds import, every SKU changed: ${told(second)}`);
  const { added, changed, removed } = second.report.personalization.skus;
  if (added !== 0 || changed !== skus || removed !== 0) throw new Error("the report is wrong");
  await importing("old");
  const fourth = await importing("new");
  print(`  pds import, and the oldest of three generations removed: ${told(fourth)}`);
  const same = await importing("new");
  if (same.report.counts !== 0) throw new Error("the unchanged feed was imported");
  print(`  pds import, unchanged feed: ${seconds(same.ms)}`);

  await serving({ DATABASE_URL: store.url }, async (url) => {
    await readWhile(url, Bun.sleep(3000));
    const rounds = [];
    for (const feed of ["old", "new", "old"]) {
      const alone = await readWhile(url, Bun.sleep(8000));
      const during = await readWhile(url, importing(feed));
      const [before = 0, meanwhile = 0] = [alone.times, during.times].map((of) => percentile(of, 0.99));
      const counts = [...during.seen].map(([status, answers]) => `${answers} of feed ${status}`).join(", ");
      rounds.push(meanwhile / before);
      print(
        `  reads while serving, p99 at ${readsPerSecond}/s: ${before.toFixed(2)} ms alone, ${meanwhile.toFixed(2)} ms during an import: ${(meanwhile / before).toFixed(2)} ×; answers ${counts}, no mixture`,
      );
    }
    print(`  the median of these: ${percentile(rounds, 0.5).toFixed(2)} ×`);
  });

  const few = await newStore();
  await run(few, ["import", "personalization", folders.few ?? "", "--json"]);
  await compareReads(few, store);
}

const folder = await mkdtemp(join(tmpdir(), "pds-bench-"));
// As a server for so much data would be set; with its defaults every reader writes out the pages that the import has changed.
const postgres = await createPostgres(["shared_buffers=1GB", "min_wal_size=2GB", "max_wal_size=4GB"]);
try {
  const folders = {
    old: await writeFeed(join(folder, "old"), skus, "A"),
    new: await writeFeed(join(folder, "new"), skus, "B"),
    few: await writeFeed(join(folder, "few"), fewSkus, "A"),
    tables: await writeTables(join(folder, "tables"), skus, "A", 1),
  };
  let stores = 0;
  await bench(
    "sqlite",
    async () => ({ engine: "sqlite", url: `sqlite:${join(folder, `${stores++}.sqlite`)}` }),
    folders,
  );
  const newDatabase = async () => {
    await using sql = new SQL(postgres.url);
    const name = `bench_${stores++}`;
    await sql.unsafe(`CREATE DATABASE ${name}`);
    return { engine: "postgres", url: postgres.url.replace(/[^/]+$/, name) };
  };
  await bench("postgres", newDatabase, folders);
} finally {
  await postgres.remove();
  await rm(folder, { recursive: true, force: true });
}
