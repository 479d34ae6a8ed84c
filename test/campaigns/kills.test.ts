import { afterAll, describe, expect, test } from "bun:test";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { listGenerationTables } from "../support/generation-tables.ts";
import {
  connectTo,
  createStore,
  endLeases,
  engines,
  isCampaign,
  main,
  pds,
  serve,
  temporaryFolder,
} from "../support/pds.ts";
import { until, untilEqual } from "../support/until.ts";

/** Number of kills on each engine. */
const kills = isCampaign ? 500 : 10;
const skusPerBrand = 2000;
/** In both brands, so that it is served from the second while the first lacks it. */
const shared = "SHARED";
const instants = seededNumbers(Number(process.env.TEST_SEED ?? 1));

/** The same numbers from 0 to 1 for the same seed. */
function* seededNumbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** A feed that says its mark in each line, style, and choice. */
function markedFeed(brand: string, mark: string, hasShared: boolean) {
  const skus = Array.from({ length: skusPerBrand }, (_, index) => `${brand}-${index}`);
  if (hasShared) skus.push(shared);
  return {
    "pzlines.csv": `${header("pzlines.csv")}\n${skus.map((sku) => `${sku},STYLE,1,${mark}`).join("\n")}\n`,
    "pzstyles.csv": `${header("pzstyles.csv")}\nSTYLE,${mark},1,FONT,Choose\n`,
    "pzchoices.csv": `${header("pzchoices.csv")}\nFONT,${mark},1,Serif\n`,
  };
}

const header = (file: keyof typeof feedFiles) => feedFiles[file].split("\n")[0];

/** What one request saw. */
interface Reading {
  readonly sku: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly mark: string;
}

for (const engine of engines) {
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL: await createStore(engine), BRAND: "first", LEASE_SECONDS: "3600" };
  const sql = await connectTo(environment.DATABASE_URL);
  const marks = ["A", "B", "C"];
  const feeds = new Map<string, string>();
  for (const brand of ["first", "second"]) {
    for (const mark of marks) {
      // Only one feed of the first brand has the shared SKU; all of the second have it.
      const files = markedFeed(brand, mark, brand === "second" || mark === "A");
      feeds.set(brand + mark, await writeFeed(folder, brand + mark, files));
    }
  }
  const importing = (brand: string, mark: string) => [
    ...["import", "personalization", feeds.get(brand + mark) ?? "", "--brand", brand, "--force"],
  ];
  for (const brand of ["first", "second"]) {
    for (const mark of marks) expect((await pds(importing(brand, mark), environment)).code).toBe(0);
  }
  const reading = await serve({ ...environment, MEMORY_MEGABYTES: "0" });
  const remembering = await serve(environment);
  afterAll(() => Promise.all([reading.stop(), remembering.stop(), sql.close()]));

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

  /** Reads without pause until stopped. */
  function keepReading(service: typeof reading, readings: Reading[]) {
    let isStopped = false;
    const loop = async (offset: number) => {
      for (let step = offset; !isStopped; step++) {
        const brand = step % 2 === 0 ? "first" : "second";
        const sku = step % 5 === 0 ? shared : `${brand}-${(step * 37) % skusPerBrand}`;
        const startedMs = performance.now();
        const mark = await readMark(service, sku);
        readings.push({ sku, startedMs, endedMs: performance.now(), mark });
      }
    };
    const loops = Promise.all([loop(0), loop(1), loop(2)]);
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

  async function listWholeTables(): Promise<string[]> {
    const rows: { id: number }[] = await sql`SELECT id FROM generation WHERE state = 'complete' ORDER BY id`;
    return rows.flatMap(({ id }) => ["group", "sku", "style"].map((noun) => `generation_${id}_${noun}`)).toSorted();
  }

  describe(`on ${engine}, imports and rollbacks killed at any instant`, () => {
    test(`mix nothing, lose nothing, and leave nothing behind (${kills} kills)`, async () => {
      const operations = { import: 0, rollback: 0, committed: 0, finished: 0 };
      let reads = 0;
      const stopReading = [keepReading(reading, []), keepReading(remembering, [])];
      const begunMs = performance.now();
      expect((await pds(importing("first", "A"), environment)).code).toBe(0);
      const importMs = performance.now() - begunMs;
      await Promise.all(stopReading.map((stop) => stop()));

      // On a busy machine, the first import may have been so quick that all others are killed too soon.
      for (let kill = 0; kill < kills || operations.committed === 0; kill++) {
        const brand = kill % 3 === 2 ? "second" : "first";
        const before = await readMark(reading, `${brand}-0`);
        const kept = await listKept(brand);
        const isRollback = kill % 4 === 3 && kept.length > 1;
        const next = marks[(marks.indexOf(before) + 1) % marks.length] ?? "";
        const args = isRollback ? ["rollback", "personalization", "--brand", brand] : importing(brand, next);
        const readings: Reading[] = [];
        const remembered: Reading[] = [];
        const stops = [keepReading(reading, readings), keepReading(remembering, remembered)];
        const child = Bun.spawn([process.execPath, main, ...args], {
          env: { PATH: "", PDS_CONFIG: "/dev/null", ...environment },
          stdio: ["ignore", "ignore", "ignore"],
        });
        await Promise.race([Bun.sleep(1.3 * importMs * (isRollback ? 0.7 : 1) * instants.next().value), child.exited]);
        child.kill("SIGKILL");
        await child.exited;
        await endLeases(environment.DATABASE_URL);
        await Promise.all(stops.map((stop) => stop()));

        const after = await readMark(reading, `${brand}-0`);
        operations[isRollback ? "rollback" : "import"]++;
        if (after !== before) operations.committed++;
        if (child.signalCode === null) operations.finished++;
        reads += expectNoWayBack(readings, brand, before) + remembered.length;
        if (!isRollback) expect(after).toBeOneOf([before, next]);
        // An import keeps three generations with its own; a rollback removes none.
        expect(await listComplete(brand)).toEqual(expect.arrayContaining(kept.slice(0, isRollback ? undefined : 2)));
        await untilEqual(() => readMark(remembering, `${brand}-0`), after);
        await untilEqual(() => readMark(remembering, shared), await readMark(reading, shared));
      }
      // A service removes what killed runs left when it starts.
      await using _starting = await serve(environment);
      await until("nothing is left", async () =>
        Bun.deepEquals(await listGenerationTables(sql), await listWholeTables()),
      );
      if (isCampaign)
        process.stdout.write(`${engine}: ${kills} kills, ${reads} reads, ${JSON.stringify(operations)}\n`);
      expect(operations.committed).toBeGreaterThan(0);
    });
  });

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
}
