import { Database as Sqlite } from "bun:sqlite";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { SQL } from "bun";
import { closeDatabase, openDatabase } from "../src/database/index.ts";
import { PersonalizationReader } from "../src/personalization/reader.ts";
import { linesPerSku, skuOf, writeFeed, writeTables } from "./support/feed.ts";
import { createLoaderTables } from "./support/loader-tables.ts";
import { createDatabase, withPostgres } from "./support/postgres.ts";
import { microseconds, print, seconds } from "./support/print.ts";
import { readDuring, readsPerSecond } from "./support/reads.ts";
import { type CommandResult, runCommand, withService } from "./support/service.ts";
import { compareMedians, interval, median, percentile } from "./support/statistics.ts";

// Compares imports of personalization with the engines' own loaders, which write each row into
// indexed tables, in one run: `npm run bench -- import [SKUS] [--rounds N] [--no-reads]`. With rounds,
// loaders and imports into empty stores take turns.
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "1" }, "no-reads": { type: "boolean", default: false } },
});
const skus = Number(positionals[0] ?? 1_000_000);
const rounds = Number(options.rounds);
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

const importFeed = (store: Store, folder: string, ...flags: string[]) =>
  runCommand(["import", "personalization", folder, "--json", ...flags], { DATABASE_URL: store.url });

/** Bytes of the store, without its log. */
async function sizeOf({ engine, url }: Store): Promise<number> {
  await using sql = new SQL(url, { max: 1 });
  if (engine === "sqlite") await sql.unsafe("PRAGMA wal_checkpoint(TRUNCATE)");
  const query =
    engine === "sqlite"
      ? "SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()"
      : "SELECT pg_database_size(current_database()) AS bytes";
  const [row] = await sql.unsafe(query);
  return Number(row.bytes);
}

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

/** The loaders of an engine whose programs are installed. */
const loadersOf = (engine: string) =>
  Object.entries(loaders[engine] ?? {}).filter(([name]) => {
    const program = programs[name];
    return program === undefined || Bun.which(program) !== null;
  });

/** Loads a feed with each loader and with an import, in turns, each into an empty store. */
async function compareLoaders(
  engine: string,
  newStore: () => Promise<Store>,
  label: string,
  { feed, tables: rows }: { readonly feed: string; readonly tables: string },
): Promise<void> {
  const times = new Map<string, number[]>();
  const imports: CommandResult[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const [name, load] of loadersOf(engine)) {
      const store = await newStore();
      await createLoaderTables(store.url);
      times.set(name, [...(times.get(name) ?? []), await elapsedMs(() => load(store, rows))]);
    }
    imports.push(await importFeed(await newStore(), feed));
  }
  for (const [name, ms] of times) {
    const ratios = imports.map(({ elapsedMs }, round) => elapsedMs / (ms[round] ?? 0));
    print(`  ${label}, ${name}: ${seconds(median(ms))}; pds import takes ${interval(ratios)} × as long`);
  }
  print(`  ${label}, pds import: ${describe(imports)}`);
}

/** Medians of time and CPU, and the highest memory. */
function describe(results: readonly CommandResult[]): string {
  const [elapsed, cpu] = [results.map(({ elapsedMs }) => elapsedMs), results.map(({ cpuMs }) => cpuMs)];
  const peak = Math.max(...results.map(({ maxRssMb }) => maxRssMb));
  return `${seconds(median(elapsed))} (CPU ${seconds(median(cpu))}, peak ${peak.toFixed(0)} MB)`;
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
  readonly shuffled: string;
  /** Each SKU has a style of its own. */
  readonly unshared: string;
  /** Rows for the engines' own loaders. */
  readonly tables: string;
  readonly shuffledTables: string;
}

async function bench(engine: string, newStore: () => Promise<Store>, feeds: Feeds): Promise<void> {
  print(`${engine}, ${skus} SKUs, ${skus * linesPerSku} lines`);
  await compareLoaders(engine, newStore, "sorted", { feed: feeds.old, tables: feeds.tables });
  await compareLoaders(engine, newStore, "shuffled", { feed: feeds.shuffled, tables: feeds.shuffledTables });
  const unshared = await newStore();
  print(`  a style for each SKU, pds import: ${describe([await importFeed(unshared, feeds.unshared)])}`);
  print(`  a style for each SKU, compared: ${describe([await importFeed(unshared, feeds.unshared, "--force")])}`);

  const store = await newStore();
  await importFeed(store, feeds.old);
  const bytes = await sizeOf(store);
  const second = await importFeed(store, feeds.new);
  print(`  bytes per SKU and generation: ${(((await sizeOf(store)) - bytes) / skus).toFixed(1)}`);
  print(`  pds import, every SKU changed: ${describe([second])}`);
  const { added, changed, removed } = JSON.parse(second.output).personalization.skus;
  if (added !== 0 || changed !== skus || removed !== 0) throw new Error("the import report is wrong");
  await importFeed(store, feeds.old);
  print(
    `  pds import, with removal of the oldest of three generations: ${describe([await importFeed(store, feeds.new)])}`,
  );
  const same = await importFeed(store, feeds.new);
  if (JSON.parse(same.output).counts !== 0) throw new Error("the unchanged feed was imported again");
  print(`  pds import, unchanged feed: ${seconds(same.elapsedMs)}`);
  if (options["no-reads"]) return;

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
    shuffled: await writeFeed(join(folder, "shuffled"), skus, { status: "A", isShuffled: true }),
    unshared: await writeFeed(join(folder, "unshared"), skus, { status: "A", isUnshared: true }),
    old: await writeFeed(join(folder, "old"), skus, { status: "A" }),
    new: await writeFeed(join(folder, "new"), skus, { status: "B" }),
    few: await writeFeed(join(folder, "few"), fewSkus, { status: "A" }),
    tables: await writeTables(join(folder, "tables"), skus, { status: "A" }),
    shuffledTables: await writeTables(join(folder, "shuffled-tables"), skus, { status: "A", isShuffled: true }),
  };
  let stores = 0;
  const newFile = async () => ({ engine: "sqlite", url: `sqlite:${join(folder, `${stores++}.sqlite`)}` });
  const newDatabase = async () => ({ engine: "postgres", url: await createDatabase(serverUrl, `bench_${stores++}`) });
  await bench("sqlite", newFile, feeds);
  await bench("postgres", newDatabase, feeds);
});
