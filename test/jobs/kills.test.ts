import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { jsonOf } from "../support/command-output.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { listGenerationTables } from "../support/generation-tables.ts";
import { importHere } from "../support/import-here.ts";
import {
  begin,
  connectTo,
  createStore,
  endLeases,
  enginesOf,
  isCampaign,
  main,
  serve,
  serveUntilEnd,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { spawnService } from "../support/service-process.ts";
import { startSilence } from "../support/silence.ts";
import { until, untilEqual } from "../support/until.ts";

/** Kills of product imports on each engine, and of imports and rollbacks of personalization. */
const productKills = Number(process.env.FAULT_KILLS ?? 4);
const kills = { products: productKills, personalization: productKills * (isCampaign ? 5 : 2) };
const productCount = isCampaign ? 3000 : 500;
const skusPerBrand = 2000;
const readersPerService = isCampaign ? 3 : 1;
/** Imports have the lowest priority: without pauses, the readers would take all of the CPU. */
const readPauseMs = isCampaign ? 0 : 3;
/** In both brands, so that it is served from the second while the first lacks it. */
const shared = "SHARED";
const brands = ["first", "second"];
const marks = ["A", "B", "C"];
const markAfter = (mark: string) => marks[(marks.indexOf(mark) + 1) % marks.length] ?? "";

const randomNumbers = seededNumbers(Number(process.env.TEST_SEED ?? 1));

/** The same numbers from 0 to 1 for the same seed. */
function* seededNumbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** When to kill, as a share of the time that the operation takes: random in full campaigns. */
const shareOf = (kill: number, count: number) => (isCampaign ? 1.3 * randomNumbers.next().value : (kill + 0.5) / count);

/** A feed that says its mark in each line, style, and choice. */
function markedFeed(brand: string, mark: string) {
  const skus = Array.from({ length: skusPerBrand }, (_, index) => `${brand}-${index}`);
  // Only one feed of the first brand has the shared SKU; all of the second have it.
  if (brand === "second" || mark === "A") skus.push(shared);
  return {
    "pzlines.csv": `${header("pzlines.csv")}\n${skus.map((sku) => `${sku},STYLE,1,${mark}`).join("\n")}\n`,
    "pzstyles.csv": `${header("pzstyles.csv")}\nSTYLE,${mark},1,FONT,Choose\n`,
    "pzchoices.csv": `${header("pzchoices.csv")}\nFONT,${mark},1,Serif\n`,
  };
}

const header = (file: keyof typeof feedFiles) => feedFiles[file].split("\n")[0];

const catalogOf = (title: string) =>
  Array.from({ length: productCount }, (_, index) => toJson(toProduct(index + 1, { title }))).join("\n");

/** What one request saw. */
interface Reading {
  readonly sku: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly mark: string;
}

for (const engine of enginesOf("sqlite")) {
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL: await createStore(engine), BRAND: "first", LEASE_SECONDS: "3600" };
  const [oldCatalog = "", newCatalog = ""] = await writeFiles(folder, {
    "old.ndjson": catalogOf("old"),
    "new.ndjson": catalogOf("new"),
  });
  const importOf = (brand: string, mark: string) => [
    ...["import", "personalization", join(folder, brand + mark), "--brand", brand, "--force"],
  ];
  expect(await importHere(["import", "products", oldCatalog], environment)).toMatchObject({ code: 0 });
  for (const brand of brands) {
    for (const mark of marks) {
      await writeFeed(folder, brand + mark, markedFeed(brand, mark));
      expect(await importHere(importOf(brand, mark), environment)).toMatchObject({ code: 0 });
    }
  }
  const sql = await connectTo(environment.DATABASE_URL);
  afterAll(() => sql.close());
  const reading = await serveUntilEnd({ ...environment, MEMORY_MEGABYTES: "0" });
  const remembering = await serveUntilEnd(environment);

  /** In a session of its own, an import keeps a share of the CPU although it has the lowest priority. */
  const start = (args: string[]) => begin(args, environment);

  /** Runs a command to its end. @returns how long it took */
  async function complete(args: string[]): Promise<number> {
    const begunMs = performance.now();
    const child = start(args);
    const [stderr, code] = await Promise.all([child.stderr.text(), child.exited]);
    expect({ args, code, stderr }).toMatchObject({ args, code: 0 });
    return performance.now() - begunMs;
  }

  /** Kills a command after a time. @returns how long it took if it ended before */
  async function killAfter(ms: number, args: string[]): Promise<number | undefined> {
    const begunMs = performance.now();
    const child = start(args);
    await Promise.race([Bun.sleep(ms), child.exited]);
    child.kill("SIGKILL");
    await child.exited;
    await endLeases(environment.DATABASE_URL);
    return child.signalCode === null ? performance.now() - begunMs : undefined;
  }

  /** The titles that products have: more than one would be a mixture. */
  async function readTitles({ get }: typeof reading): Promise<(string | undefined)[]> {
    const ids = [1, productCount / 2, productCount];
    const answers = await Promise.all(ids.map(async (id) => (await get(`/api/v1/products/${id}`)).text()));
    return [...new Set(answers.map((answer) => answer.match(/"title":"(\w+)","body_html"/)?.[1]))];
  }

  /** The mark that all parts of a SKU's personalization have. */
  async function readMark(service: typeof reading, sku: string): Promise<string> {
    const response = await service.get(`/api/v1/products/pz/${sku}`);
    const body = await response.text();
    expect({ sku, status: response.status, body }).toMatchObject({ status: 200 });
    const found = Array.from(body.matchAll(/"(?:style_sku|line|choice)_status":"(\w+)"/g), ([, mark = ""]) => mark);
    // A line, a style, and a choice, all of one generation.
    expect({ sku, body, marks: [found.length, new Set(found).size] }).toMatchObject({ marks: [3, 1] });
    return found[0] ?? "";
  }

  /** The marks that SKUs of a brand have; more than one that lasts would be a mixture. */
  async function listMarks(service: typeof reading, brand: string): Promise<string[]> {
    const skus = [0, skusPerBrand / 2, skusPerBrand - 1].map((index) => `${brand}-${index}`);
    return [...new Set(await Promise.all(skus.map((sku) => readMark(service, sku))))];
  }

  async function readBrand(brand: string): Promise<string> {
    let found: string[] = [];
    // The server may commit what a killed process had sent.
    await until(`${brand} has one mark`, async () => {
      found = await listMarks(reading, brand);
      return found.length === 1;
    });
    return found[0] ?? "";
  }

  /** Reads again and again until stopped. */
  function keepReading(service: typeof reading, readings: Reading[]) {
    let isStopped = false;
    const loop = async (offset: number) => {
      for (let step = offset; !isStopped; step++) {
        const brand = step % 2 === 0 ? "first" : "second";
        const sku = step % 5 === 0 ? shared : `${brand}-${(step * 37) % skusPerBrand}`;
        const startedMs = performance.now();
        const mark = await readMark(service, sku);
        readings.push({ sku, startedMs, endedMs: performance.now(), mark });
        if (readPauseMs > 0) await Bun.sleep(readPauseMs);
      }
    };
    const loops = Promise.all(Array.from({ length: readersPerService }, (_, offset) => loop(offset)));
    return async () => {
      isStopped = true;
      await loops;
    };
  }

  /** A read that began after another one had seen the later mark must not see the earlier one. */
  function expectNoWayBack(readings: readonly Reading[], brand: string, before: string): number {
    const ofBrand = readings.filter(({ sku }) => sku.startsWith(brand));
    const seenMs = Math.min(...ofBrand.filter(({ mark }) => mark !== before).map(({ endedMs }) => endedMs));
    expect(ofBrand.filter(({ mark, startedMs }) => mark === before && startedMs > seenMs)).toEqual([]);
    return ofBrand.length;
  }

  /** The current generation and those before it, the newest first. */
  async function listKept(brand: string): Promise<number[]> {
    const rows: { id: number }[] = await sql`
      WITH RECURSIVE kept (id, place) AS (
        SELECT generation, 1 FROM current_generation WHERE brand = ${brand}
        UNION ALL
        SELECT previous, place + 1 FROM kept JOIN generation ON generation.id = kept.id
        WHERE previous IS NOT NULL
      )
      SELECT kept.id FROM kept JOIN generation ON generation.id = kept.id AND state = 'complete' ORDER BY place`;
    return rows.map(({ id }) => id);
  }

  async function listComplete(brand: string): Promise<number[]> {
    const rows: { id: number }[] =
      await sql`SELECT id FROM generation WHERE brand = ${brand} AND state = 'complete' ORDER BY id`;
    return rows.map(({ id }) => id);
  }

  const tablesOf = (generations: readonly number[]) =>
    generations.flatMap((id) => ["group", "sku", "style"].map((noun) => `generation_${id}_${noun}`)).toSorted();

  /**
   * Three complete generations, the incomplete one of a killed import, and the oldest, which may
   * still be there.
   */
  async function expectFewGenerations(brand: string): Promise<void> {
    const [{ generations } = { generations: 0 }] = await sql<{ generations: number }[]>`
      SELECT CAST(count(*) AS INTEGER) AS generations FROM generation WHERE brand = ${brand}`;
    expect(generations).toBeLessThanOrEqual(5);
    expect((await listGenerationTables(sql)).length).toBeLessThanOrEqual(brands.length * 5 * 3);
  }

  const untilReady = () => until("the service is ready", async () => (await reading.get("/readyz")).status === 200);

  describe(`on ${engine}, killed at any instant`, () => {
    test(`product imports leave either the complete old or the complete new catalog (${kills.products} kills)`, async () => {
      let wholeMs = await complete(["import", "products", newCatalog]);
      expect(await readTitles(reading)).toEqual(["new"]);
      let next = oldCatalog;
      for (let kill = 0; kill < kills.products; ) {
        const share = (kill + 0.5) / kills.products;
        const tookMs = await killAfter(wholeMs * share, ["import", "products", next]);
        let left: (string | undefined)[] = [];
        await until("the catalog is the old or the new one", async () => {
          left = await readTitles(reading);
          return left.length === 1 && left[0] !== undefined;
        });
        await untilEqual(() => readTitles(remembering), left);
        await untilReady();
        next = left[0] === "new" ? oldCatalog : newCatalog;
        // One that ended was not killed.
        if (tookMs === undefined) kill++;
        else wholeMs = tookMs;
      }
      await complete(["import", "products", newCatalog]);
      expect(await readTitles(reading)).toEqual(["new"]);
    });

    test(`imports and rollbacks mix nothing, lose nothing, and leave nothing behind (${kills.personalization} kills)`, async () => {
      const counts = { import: 0, rollback: 0, committed: 0, finished: 0, reads: 0 };
      const stopReading = [keepReading(reading, []), keepReading(remembering, [])];
      const importMs = await complete(importOf("first", "A"));
      await Promise.all(stopReading.map((stop) => stop()));
      const wholeMs = { import: importMs, rollback: importMs };

      for (let kill = 0; kill < kills.personalization; ) {
        const brand = kill % 3 === 2 ? "second" : "first";
        const before = await readBrand(brand);
        const kept = await listKept(brand);
        const operation = kill % 4 === 3 && kept.length > 1 ? "rollback" : "import";
        const next = markAfter(before);
        const args =
          operation === "rollback" ? ["rollback", "personalization", "--brand", brand] : importOf(brand, next);
        const readings: Reading[] = [];
        const remembered: Reading[] = [];
        const stops = [keepReading(reading, readings), keepReading(remembering, remembered)];
        const tookMs = await killAfter(wholeMs[operation] * shareOf(kill, kills.personalization), args);
        await Promise.all(stops.map((stop) => stop()));

        const after = await readBrand(brand);
        counts.reads += expectNoWayBack(readings, brand, before) + remembered.length;
        if (operation === "import") expect(after).toBeOneOf([before, next]);
        // An import keeps three generations with its own; a rollback removes none.
        const lasting = kept.slice(0, operation === "rollback" ? undefined : 2);
        expect(await listComplete(brand)).toEqual(expect.arrayContaining(lasting));
        await expectFewGenerations(brand);
        await untilEqual(() => listMarks(remembering, brand), [after]);
        await untilEqual(() => readMark(remembering, shared), await readMark(reading, shared));
        await untilReady();
        counts[operation]++;
        if (after !== before) counts.committed++;
        if (tookMs === undefined) kill++;
        else {
          counts.finished++;
          wholeMs[operation] = tookMs;
        }
      }

      const untilNothingIsLeft = () =>
        until("nothing is left", async () => {
          const generations = (await Promise.all(brands.map(listComplete))).flat();
          return Bun.deepEquals(await listGenerationTables(sql), tablesOf(generations));
        });
      // A service removes what killed runs left when it starts.
      await using _starting = await serve(environment);
      await untilNothingIsLeft();
      for (const brand of brands) {
        const next = markAfter(await readBrand(brand));
        await complete(importOf(brand, next));
        expect(await readBrand(brand)).toBe(next);
        expect((await listComplete(brand)).length).toBeLessThanOrEqual(3);
      }
      await untilNothingIsLeft();
      if (!isCampaign) return;
      process.stdout.write(`${engine}: ${JSON.stringify(counts)}\n`);
      expect(counts.committed).toBeGreaterThan(0);
    });
  });
}

test("a full disk fails the import with a clear message and changes nothing", async () => {
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, PDS_CONFIG: "/dev/null" };
  const [small = "", large = ""] = await writeFiles(folder, {
    "small.ndjson": toJson(toProduct(1)),
    "large.ndjson": Array.from({ length: 1000 }, (_, index) => toJson(toProduct(index + 2))).join("\n"),
  });
  expect(await importHere(["import", "products", small], environment)).toMatchObject({ code: 0 });
  // A limit on the size of files makes writes fail like a full disk.
  const limited = Bun.spawn(
    ["sh", "-c", `trap "" XFSZ; ulimit -f 1024; exec "$0" "$@"`, process.execPath, main, "import", "products", large],
    { env: { PATH: process.env.PATH ?? "", ...environment }, stdio: ["ignore", "pipe", "pipe"], detached: true },
  );
  const [stderr, code] = await Promise.all([limited.stderr.text(), limited.exited]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/full|I\/O error/i);
  await using service = await serve(environment);
  expect((await service.get("/api/v1/products/1")).status).toBe(200);
  expect((await service.get("/api/v1/products/2")).status).toBe(404);
  expect(await importHere(["import", "products", large], environment)).toMatchObject({ code: 0 });
});

test("a service that is stopped during its first runs ends their jobs", async () => {
  const folder = await temporaryFolder();
  const platform = startSilence();
  const [PDS_CONFIG = ""] = await writeFiles(folder, { "pds.toml": "[jobs.catalog-reconcile]\n" });
  const environment = {
    ...{ PDS_CONFIG, DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}` },
    ...{ SHOPIFY_API_URL: platform.url.origin, SHOPIFY_ACCESS_TOKEN: "token" },
  };
  await using service = spawnService([], environment);
  await until("the first run has begun", () => platform.pendingRequests > 0);
  const { code, tookMs } = await service.end("SIGTERM");
  expect(code).toBe(0);
  // Much less than the ten seconds that it waits for first runs.
  if (isCampaign) expect(tookMs).toBeLessThan(6000);
  expect(service.log()).toContain('"msg":"stopped"');
  expect(await jsonOf(["jobs"], environment)).toMatchObject([{ job: "catalog-reconcile", outcome: "failed" }]);
});
