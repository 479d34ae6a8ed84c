import { Database as Sqlite } from "bun:sqlite";
import { join } from "node:path";
import { SQL } from "bun";
import { closeDatabase, openDatabase } from "../src/database/index.ts";
import { PersonalizationReader } from "../src/personalization/reader.ts";
import { linesPerSku, skuOf, writeFeed, writeTables } from "./support/feed.ts";
import { createLoaderTables } from "./support/loader-tables.ts";
import { createDatabase, withPostgres } from "./support/postgres.ts";
import { microseconds, print, seconds } from "./support/print.ts";
import { readDuring, readsPerSecond } from "./support/reads.ts";
import { type CommandResult, runCommand, withService } from "./support/service.ts";
import { compareMedians, median, percentile } from "./support/statistics.ts";

// Compares imports of personalization with the engines' own loaders, which write each row into
// indexed tables, in one run: `npm run bench:import -- [SKUS]`.
const skus = Number(process.argv[2] ?? 1_000_000);
const fewSkus = Math.min(10_000, skus);
const tables = {
  pzlines: "personalization_line",
  pzstyles: "personalization_style",
  pzchoices: "personalization_choice",
};

interface Store {
  readonly engine: string;
  readonly url: string;
}

const importFeed = (store: Store, folder: string) =>
  runCommand(["import", "personalization", folder, "--json"], { DATABASE_URL: store.url });

async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** Loads the files of `writeTables` with the engines' own tools. */
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
            // The only quoted field is the one before the last.
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
    "driver COPY": async ({ url }, folder) => {
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
    await createLoaderTables(store.url);
    times[name] = await elapsedMs(() => load(store, folder));
    print(`  ${name}: ${seconds(times[name])}`);
  }
  return times;
}

/**
 * Reads random SKUs at a steady rate until the work ends. Every response must be from a single
 * feed.
 */
async function readSkusDuring(
  url: string,
  work: Promise<unknown>,
): Promise<{ durations: number[]; responses: Map<string, number> }> {
  const responses = new Map<string, number>();
  const failures: string[] = [];
  const durations = await readDuring(work, async () => {
    const body = await (await fetch(`${url}/products/pz/${skuOf(Math.floor(Math.random() * skus))}`)).text();
    const statuses = new Set(
      [...body.matchAll(/"(?:style_sku|line|choice)_status":"(\w+)"/g)].map(([, status]) => status),
    );
    const rows = body.match(/_status"/g)?.length ?? 0;
    if (statuses.size !== 1 || rows !== linesPerSku * (1 + 2 + 2 * 20)) failures.push(body.slice(0, 300));
    const [status = "none"] = statuses;
    responses.set(status, (responses.get(status) ?? 0) + 1);
  });
  if (failures.length > 0) throw new Error(`${failures.length} responses mix two feeds: ${failures[0]}`);
  return { durations, responses };
}

/** Durations of 2,000 reads of random SKUs from the store. */
async function readStore(database: Awaited<ReturnType<typeof openDatabase>>, size: number): Promise<number[]> {
  const reader = new PersonalizationReader("default");
  const durations: number[] = [];
  for (let read = 0; read < 2000; read++) {
    const sku = skuOf(Math.floor(Math.random() * size));
    const startedMs = performance.now();
    const { isEmpty } = await reader.find(database, sku);
    durations.push(performance.now() - startedMs);
    if (isEmpty) throw new Error(`${sku} has no personalization`);
  }
  return durations;
}

/** Compares reads of the store at two sizes. */
async function compareReads(few: Store, many: Store): Promise<void> {
  const [fewDatabase, manyDatabase] = [await openDatabase(few.url), await openDatabase(many.url)];
  const [fewMs = 0, manyMs = 0] = await compareMedians([
    () => readStore(fewDatabase, fewSkus),
    () => readStore(manyDatabase, skus),
  ]);
  print(
    `  a read of the store: ${microseconds(fewMs)} at ${fewSkus} SKUs, ${microseconds(manyMs)} at ${skus}: ${(manyMs / fewMs).toFixed(2)} ×`,
  );
  await closeDatabase(fewDatabase);
  await closeDatabase(manyDatabase);
}

interface Feeds {
  readonly old: string;
  readonly new: string;
  readonly few: string;
  /** Rows for the engines' own loaders. */
  readonly tables: string;
}

async function bench(engine: string, newStore: () => Promise<Store>, feeds: Feeds): Promise<void> {
  print(`${engine}, ${skus} SKUs, ${skus * linesPerSku} lines`);
  const times = await compareLoaders(newStore, engine, feeds.tables);
  const store = await newStore();
  const ratios = (ms: number) =>
    Object.entries(times)
      .map(([name, of]) => `${(ms / of).toFixed(2)} × ${name}`)
      .join(", ");
  const summary = ({ elapsedMs, cpuMs, maxRssMb }: CommandResult) =>
    `${seconds(elapsedMs)} (CPU ${seconds(cpuMs)}, peak ${maxRssMb.toFixed(0)} MB); ${ratios(elapsedMs)}`;
  print(`  pds import, into the empty store: ${summary(await importFeed(store, feeds.old))}`);
  const second = await importFeed(store, feeds.new);
  print(`  pds import, every SKU changed: ${summary(second)}`);
  const { added, changed, removed } = JSON.parse(second.output).personalization.skus;
  if (added !== 0 || changed !== skus || removed !== 0) throw new Error("the import report is wrong");
  await importFeed(store, feeds.old);
  print(
    `  pds import, with removal of the oldest of three generations: ${summary(await importFeed(store, feeds.new))}`,
  );
  const same = await importFeed(store, feeds.new);
  if (JSON.parse(same.output).counts !== 0) throw new Error("the unchanged feed was imported again");
  print(`  pds import, unchanged feed: ${seconds(same.elapsedMs)}`);

  await withService({ DATABASE_URL: store.url }, async (url) => {
    await readSkusDuring(url, Bun.sleep(3000));
    const roundRatios = [];
    for (const feed of [feeds.old, feeds.new, feeds.old]) {
      const alone = await readSkusDuring(url, Bun.sleep(8000));
      const during = await readSkusDuring(url, importFeed(store, feed));
      const [aloneMs = 0, duringMs = 0] = [alone, during].map(({ durations }) => percentile(durations, 0.99));
      const counts = [...during.responses].map(([status, count]) => `${count} from feed ${status}`).join(", ");
      roundRatios.push(duringMs / aloneMs);
      print(
        `  reads while serving, p99 at ${readsPerSecond}/s: ${aloneMs.toFixed(2)} ms alone, ${duringMs.toFixed(2)} ms during an import: ${(duringMs / aloneMs).toFixed(2)} ×; responses ${counts}, none mixed`,
      );
    }
    print(`  median ratio: ${median(roundRatios).toFixed(2)} ×`);
  });

  const few = await newStore();
  await importFeed(few, feeds.few);
  await compareReads(few, store);
}

// Sized for this much data: with the defaults, every reader writes out the pages that the import
// has changed.
const postgresSettings = ["shared_buffers=1GB", "min_wal_size=2GB", "max_wal_size=4GB"];
await withPostgres(postgresSettings, async (folder, serverUrl) => {
  const feeds = {
    old: await writeFeed(join(folder, "old"), skus, "A"),
    new: await writeFeed(join(folder, "new"), skus, "B"),
    few: await writeFeed(join(folder, "few"), fewSkus, "A"),
    tables: await writeTables(join(folder, "tables"), skus, "A", 1),
  };
  let stores = 0;
  const newFile = async () => ({ engine: "sqlite", url: `sqlite:${join(folder, `${stores++}.sqlite`)}` });
  const newDatabase = async () => ({ engine: "postgres", url: await createDatabase(serverUrl, `bench_${stores++}`) });
  await bench("sqlite", newFile, feeds);
  await bench("postgres", newDatabase, feeds);
});
