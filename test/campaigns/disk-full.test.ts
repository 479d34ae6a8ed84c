import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import { canMount, pdsOnDisk, pdsWithLimit } from "../support/disk.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { listGenerationTables } from "../support/generation-tables.ts";
import {
  connectTo,
  type Environment,
  type Finished,
  main,
  pds,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { environmentOf, startPlatform } from "../support/platform.ts";
import { canHaveSmallDisk, createPostgres } from "../support/postgres.ts";
import { startStore } from "../support/s3.ts";
import { startServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const worlds = await temporaryFolder();
let created = 0;

interface World {
  readonly folder: string;
  readonly temporary: string;
  readonly environment: Environment & { readonly DATABASE_URL: string };
}

/** Creates a store with a small feed for the brand "acme", and a temporary folder. */
async function createWorld(url?: string): Promise<World> {
  const folder = join(worlds, `${created++}`);
  const temporary = join(folder, "tmp");
  await mkdir(temporary, { recursive: true });
  await mkdir(join(folder, "store"));
  const environment = {
    DATABASE_URL: url ?? `sqlite:${join(folder, "store", "pds.sqlite")}`,
    BRAND: "acme",
    TMPDIR: temporary,
  };
  const small = await writeFeed(folder, "small");
  expect(await pds(["import", "personalization", small], environment)).toMatchObject({ code: 0 });
  return { folder, temporary, environment };
}

const linesOf = (count: number) =>
  [
    "sku_id,style_code,style_display_seq,style_sku_status",
    ...Array.from({ length: count }, (_, index) => `NEW${index},NOTE,1,A`),
    "",
  ].join("\n");

const manyLines = linesOf(150_000);
const largeFiles = { ...feedFiles, "pzlines.csv": manyLines };

/** Serves a feed over HTTP. */
function serveFeed(files: Readonly<Record<string, string>>): string {
  const origin = startServer(({ url }) => {
    const content = files[new URL(url).pathname.slice(1)];
    return new Response(content ?? null, {
      status: content === undefined ? 404 : 200,
      headers: { ETag: '"1"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT" },
    });
  });
  return `${origin}/`;
}

async function look<Row>({ environment }: World, query: string): Promise<Row[]> {
  await using sql = await connectTo(environment.DATABASE_URL);
  return await sql.unsafe(query);
}

interface Ended {
  readonly outcome: string;
  readonly reason: string;
  readonly log: string | null;
}

const lastRun = async (world: World) =>
  (await look<Ended>(world, "SELECT outcome, reason, log FROM run ORDER BY id DESC LIMIT 1"))[0];

const expectFailed = async (world: World, reason: RegExp) =>
  expect(await lastRun(world)).toMatchObject({ outcome: "failed", reason: expect.stringMatching(reason) });

/** Lists the generations that still have tables or a record. */
async function generations({ environment }: World): Promise<number[]> {
  await using sql = await connectTo(`${environment.DATABASE_URL}`);
  const tables = await listGenerationTables(sql);
  const ids = tables.map((name) => Number(name.split("_")[1]));
  for (const { id } of await sql`SELECT id FROM generation`) ids.push(id);
  return [...new Set(ids)].toSorted((one, other) => one - other);
}

const litter = async ({ temporary }: World) => await readdir(temporary);

/** Expects one sentence on standard error, without a stack or source code. */
function expectOneSentence({ code, stderr }: Finished, ...parts: RegExp[]): void {
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  for (const part of parts) expect(stderr).toMatch(part);
  expect(stderr).not.toMatch(/\.ts:\d+|^ +at |\^/m);
  expect(code).toBe(1);
}

describe("with a full temporary folder", () => {
  const isFull = /the temporary folder \S+\/tmp is full: .*; free some space, or set TMPDIR to another folder/;

  /** Expects a failure in one sentence that leaves no files. */
  async function expectFull(world: World, finished: Finished, ...parts: RegExp[]): Promise<void> {
    expectOneSentence(finished, isFull, ...parts);
    expect(await litter(world)).toEqual([]);
    await expectFailed(world, isFull);
  }

  test.each([
    ["an https feed", "web"],
    ["a feed in a bucket", "bucket"],
  ])("an import of %s fails in one sentence and leaves no files", async (_, kind) => {
    const world = await createWorld();
    const store = await startStore();
    for (const [name, content] of Object.entries(largeFiles)) store.objects.set(`feeds/${name}`, { content });
    const source = kind === "web" ? serveFeed(largeFiles) : "s3://feeds/";
    const environment = { ...world.environment, ...store.environment };
    const finished = await pdsWithLimit(1000, ["import", "personalization", source], environment);
    await expectFull(world, finished, /EFBIG/);
  });

  test.skipIf(!canMount)("an import of a feed that fills the disk does the same", async () => {
    const world = await createWorld();
    const disk = { folder: world.temporary, size: "200k", after: `echo left: $(ls -A ${world.temporary})` };
    const finished = await pdsOnDisk(disk, ["import", "personalization", serveFeed(largeFiles)], world.environment);
    expect(finished.stdout).toBe("left:\n");
    await expectFull(world, finished, /ENOSPC/);
  });

  describe("while an import sorts more rows than fit into its memory", () => {
    const header = feedFiles["pzlines.csv"].split("\n", 1)[0];
    /** 27 MB when sorted; 16 MB fit. */
    const unsorted = Array.from(
      { length: 120_000 },
      (_, index) => `${Bun.hash(`${index}`)}${"x".repeat(190)},NOTE,1,A`,
    );
    const files = { ...feedFiles, "pzlines.csv": `${[header, ...unsorted].join("\n")}\n` };

    async function expectCleanFailure(world: World, feed: string, finished: Finished, code: RegExp): Promise<void> {
      await expectFull(world, finished, code);
      expect(await generations(world)).toHaveLength(1);
      expect(await pds(["import", "personalization", feed], world.environment)).toMatchObject({ code: 0 });
      expect(await litter(world)).toEqual([]);
    }

    test("a file size limit fails it in one sentence, and the next run succeeds", async () => {
      const world = await createWorld();
      const feed = await writeFeed(world.folder, "unsorted", files);
      const finished = await pdsWithLimit(10_000, ["import", "personalization", feed], world.environment);
      await expectCleanFailure(world, feed, finished, /EFBIG/);
    });

    test.skipIf(!canMount).each(["8m", "64k"])("so does a disk of %s", async (size) => {
      const world = await createWorld();
      const feed = await writeFeed(world.folder, "unsorted", files);
      const disk = { folder: world.temporary, size, after: `echo left: $(ls -A ${world.temporary})` };
      const finished = await pdsOnDisk(disk, ["import", "personalization", feed], world.environment);
      expect(finished.stdout).toBe("left:\n");
      await expectCleanFailure(world, feed, finished, /ENOSPC/);
    });
  });

  test("a configured job records one sentence, without source code or a stack in its log", async () => {
    const world = await createWorld();
    const [PDS_CONFIG = ""] = await writeFiles(world.folder, {
      "pds.toml": `[jobs.personalization-import]\nsource = "${serveFeed(largeFiles)}"\nsettle_seconds = 0\n`,
    });
    const finished = await pdsWithLimit(1000, ["run", "personalization-import"], { ...world.environment, PDS_CONFIG });
    await expectFull(world, finished);
    expect((await lastRun(world))?.log?.split("\n")).toHaveLength(1);
  });

  test("catalog-reconcile fails in one sentence, does not retry the download, and leaves no files", async () => {
    const world = await createWorld();
    const platform = startPlatform({ products: 400 });
    const [PDS_CONFIG = ""] = await writeFiles(world.folder, { "pds.toml": "[jobs.catalog-reconcile]\n" });
    const environment = { ...world.environment, ...environmentOf(platform), PDS_CONFIG };
    const finished = await pdsWithLimit(400, ["run", "catalog-reconcile"], environment);
    await expectFull(world, finished, /EFBIG/);
    expect(platform.counters.bulkDownloads).toBe(1);
    expect(await pds(["run", "catalog-reconcile"], environment)).toMatchObject({ code: 0 });
  });

  test("the message names a temporary folder that does not exist", async () => {
    const world = await createWorld();
    const environment = { ...world.environment, TMPDIR: join(world.folder, "nowhere") };
    const finished = await pds(["import", "personalization", serveFeed(largeFiles)], environment);
    expectOneSentence(finished, /\/nowhere: cannot create a temporary folder \(ENOENT\); set TMPDIR/);
  });
});

describe("the temporary files of killed runs", () => {
  test("are removed by the next run of any kind, which leaves other folders alone", async () => {
    const world = await createWorld();
    const platform = startPlatform({ products: 10 });
    const [PDS_CONFIG = ""] = await writeFiles(world.folder, { "pds.toml": "[jobs.catalog-reconcile]\n" });
    platform.faults.add({ kind: "hang", operation: "BulkDownload" });
    const reconcile = pds(["run", "catalog-reconcile"], {
      ...world.environment,
      ...environmentOf(platform),
      PDS_CONFIG,
    });
    await until("the download has started", async () => (await litter(world)).length > 0);
    const [left = ""] = await litter(world);
    const [, kind, pid = "", start = "", machine = ""] = left.match(/^pds-(\w+)-(\d+)-(\d+)-(\w+)-\w{6}$/) ?? [];
    expect(kind).toBe("bulk");
    process.kill(Number(pid), "SIGKILL");
    await reconcile;
    expect(await litter(world)).toEqual([left]);

    const stat = "/proc/self/stat";
    const ownStart = existsSync(stat) ? readFileSync(stat, "latin1").split(") ").at(-1)?.split(" ")[19] : "0";
    const running = `pds-feed-${process.pid}-${ownStart}-${machine}-AAAAAA`;
    // The id belongs to another process by now.
    const reused = `pds-feed-${process.pid}-${start}-${machine}-AAAAAA`;
    const elsewhere = `pds-feed-${pid}-${start}-another1machine-AAAAAA`;
    const old = `pds-feed-${pid}-${start}-another1machine-BBBBBB`;
    const strange = "pds-feedback";
    for (const name of [running, reused, elsewhere, old, strange]) await mkdir(join(world.temporary, name));
    const monthAgo = new Date(Date.now() - 30 * 86_400_000);
    // The clock may have been set while a process runs.
    for (const name of [running, old, strange]) await utimes(join(world.temporary, name), monthAgo, monthAgo);
    await pds(["import", "personalization", serveFeed(feedFiles)], world.environment);
    expect((await litter(world)).sort()).toEqual([elsewhere, running, strange].sort());
  });
});

describe("with a full store disk", () => {
  const cannotGrow =
    /DATABASE_URL: \S+ cannot grow: its disk is full, or a limit is reached \(.+\); free some space there/;

  test("an import fails in one sentence, removes its rows, and leaves the served data alone", async () => {
    const world = await createWorld();
    const before = await generations(world);
    const large = await writeFeed(world.folder, "large", largeFiles);
    await using service = await serve({ ...world.environment, MEMORY_MEGABYTES: "0" });
    const ask = async () => {
      const response = await service.get("/api/v1/products/pz/MUG");
      return { status: response.status, text: await response.text() };
    };
    const answers = [await ask()];
    let isOver = false;
    const [finished] = await Promise.all([
      pdsWithLimit(3000, ["import", "personalization", large], world.environment).finally(() => {
        isOver = true;
      }),
      (async () => {
        while (!isOver) {
          answers.push(await ask());
          await Bun.sleep(50);
        }
      })(),
    ]);
    answers.push(await ask());
    expectOneSentence(finished, cannotGrow);
    expect(await generations(world)).toEqual(before);
    await expectFailed(world, cannotGrow);
    expect(answers[0]?.status).toBe(200);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    // Where there is room it succeeds.
    expect(await pds(["import", "personalization", large], world.environment)).toMatchObject({ code: 0 });
  });

  test.skipIf(!canMount)(
    "an import stops while there is room to clean up, after which one that fits succeeds",
    async () => {
      const world = await createWorld();
      const large = await writeFeed(world.folder, "large", { ...feedFiles, "pzlines.csv": linesOf(450_000) });
      const small = await writeFeed(world.folder, "small");
      const store = join(world.folder, "disk");
      const kept = join(world.folder, "kept");
      await mkdir(store);
      await mkdir(kept);
      const after = `cp ${store}/* ${kept}; ${process.execPath} ${main} import personalization ${small} 2>/dev/null`;
      const finished = await pdsOnDisk({ folder: store, size: "18m", after }, ["import", "personalization", large], {
        ...world.environment,
        DATABASE_URL: `sqlite:${store}/pds.sqlite`,
      });
      expectOneSentence(finished, /DATABASE_URL: the disk of \S+ is full: \d+ MB are left, and an import needs 16 MB/);
      expect(finished.stdout).toMatch(/imported for/);
      const copy = { ...world, environment: { ...world.environment, DATABASE_URL: `sqlite:${kept}/pds.sqlite` } };
      expect(await generations(copy)).toEqual([]);
      await expectFailed(copy, /MB are left/);
    },
  );

  test.skipIf(!canHaveSmallDisk)("the same is so of a server's", async () => {
    const postgres = await createPostgres([], 24);
    afterAll(() => postgres.remove());
    const url = new URL(postgres.url);
    url.pathname = "tight";
    await using sql = new SQL(postgres.url, { max: 1 });
    await sql.unsafe("CREATE DATABASE tight TABLESPACE small");
    const world = await createWorld(url.href);
    const before = await generations(world);
    const large = await writeFeed(world.folder, "large", { ...feedFiles, "pzlines.csv": linesOf(600_000) });
    await using service = await serve({ ...world.environment, MEMORY_MEGABYTES: "0" });
    const answer = await (await service.get("/api/v1/products/pz/MUG")).text();
    const finished = await pds(["import", "personalization", large], world.environment);
    expectOneSentence(finished, cannotGrow, /No space left on device/);
    expect(await generations(world)).toEqual(before);
    await expectFailed(world, cannotGrow);
    expect(await (await service.get("/api/v1/products/pz/MUG")).text()).toBe(answer);
    const small = await writeFeed(world.folder, "again", { ...feedFiles, "pzlines.csv": linesOf(1000) });
    expect(await pds(["import", "personalization", small, "--force"], world.environment)).toMatchObject({ code: 0 });
  });

  test("one sentence names a store that cannot be opened", async () => {
    const world = await createWorld();
    const environment = { ...world.environment, DATABASE_URL: `sqlite:${join(world.folder, "new.sqlite")}` };
    expectOneSentence(
      await pdsWithLimit(20, ["import", "products", "/dev/null"], environment),
      /new\.sqlite cannot grow/,
    );
  });
});
