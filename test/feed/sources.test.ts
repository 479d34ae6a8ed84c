import { describe, expect, test } from "bun:test";
import { appendFile, mkdir, readdir, rm, utimes } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { SQL } from "bun";
import { parse } from "csv-parse/sync";
import { feedFiles, writeFeed } from "../support/feed.ts";
import {
  type Environment,
  endLeases,
  type Finished,
  main,
  pds,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { type Store, startStore } from "../support/s3.ts";
import { until } from "../support/until.ts";

type Files = Readonly<Record<string, string | Uint8Array>>;

interface Report {
  readonly outcome: string;
  readonly counts: number;
  readonly notes: readonly string[];
  readonly reason?: string;
}

/** A store of its own, with a folder for a feed, settings, and a folder for what is temporary. */
interface World {
  readonly folder: string;
  /** Where the job finds its feed. */
  source: string;
  readonly feed: string;
  readonly temporary: string;
  readonly environment: Environment & { readonly DATABASE_URL: string; readonly PDS_CONFIG: string };
}

const worlds = await temporaryFolder();
let created = 0;

/** @param options rows of the job's table besides the source */
async function createWorld(options = "", source?: string, also: Environment = {}): Promise<World> {
  const folder = join(worlds, `${created++}`);
  const temporary = join(folder, "tmp");
  await mkdir(temporary, { recursive: true });
  const feed = await writeFeed(folder, "feed");
  const world = {
    folder,
    temporary,
    feed,
    source: source ?? feed,
    environment: {
      DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
      BRAND: "acme",
      PDS_CONFIG: join(folder, "pds.toml"),
      TMPDIR: temporary,
      ...also,
    },
  };
  await configure(world, options);
  return world;
}

async function configure(world: World, options: string, source = world.source): Promise<void> {
  world.source = source;
  const settles = options.includes("settle_seconds") ? "" : "settle_seconds = 0";
  const table = `[jobs.personalization-import]\nsource = ${JSON.stringify(source)}\n${settles}\n${options}\n`;
  await writeFiles(world.folder, { "pds.toml": table });
}

const toReport = (finished: Finished): Finished & Report => ({
  ...finished,
  ...(JSON.parse(finished.stdout || "{}") as Report),
});

/** Runs the job to its end. */
const run = async ({ environment }: World, also: Environment = {}) =>
  toReport(await pds(["run", "personalization-import", "--json"], { ...environment, ...also }));

/** Imports by hand. */
const importing = async ({ environment }: World, source: string, ...options: string[]) =>
  toReport(await pds(["import", "personalization", source, "--json", ...options], environment));

/** Takes the job's feed as the job does, unless that is incomplete, but in one process. */
const take = (world: World) => importing(world, world.source);

const isTaken = { code: 0, outcome: "succeeded", counts: 12 } as const;
const isLeft = { code: 0, outcome: "succeeded", counts: 0 } as const;
const isFailed = { code: 1, outcome: "failed", counts: 0 } as const;

const rollback = ({ environment }: World) => pds(["rollback", "personalization"], environment);

/** What is in the store; a process that tells it would cost more than the one that brought it in. */
async function look<Row>({ environment }: World, query: string): Promise<Row[]> {
  await using sql = new SQL(environment.DATABASE_URL, { max: 1 });
  return await sql.unsafe(query);
}

/** What the runs brought in, the newest first. */
const counts = async (world: World) =>
  (await look<{ counts: number }>(world, "SELECT counts FROM run ORDER BY id DESC")).map((run) => run.counts);

/** What the service answers of a SKU of the feed. */
async function answer({ environment }: World): Promise<string> {
  await using service = await serve(environment);
  return await (await service.get("/api/v1/products/pz/MUG")).text();
}

/** The status of a line of the feed that is current. */
async function statusOf(world: World): Promise<string | undefined> {
  const [line] = await look<{ status: string }>(
    world,
    `SELECT style_sku_status AS status FROM personalization_line JOIN current_generation USING (generation)
    WHERE sku_id = 'MUG' AND style_code = 'BLOCK'`,
  );
  return line?.status;
}

/** The lines of the feed with another status, which `statusOf` finds. */
const linesWith = (status: string) => feedFiles["pzlines.csv"].replace("MUG,BLOCK,9,I", `MUG,BLOCK,9,${status}`);

const spools = async ({ temporary }: World) =>
  (await readdir(temporary)).filter((name) => name.startsWith("pds-feed-"));

const toNdjson = (csv: string) =>
  (parse(csv, { columns: true }) as object[]).map((row) => `${JSON.stringify(row)}\n`).join("");

const forms: Readonly<Record<string, (csv: string) => string | Uint8Array>> = {
  csv: (csv) => csv,
  "csv.gz": (csv) => gzipSync(csv),
  "csv.zst": (csv) => zstdCompressSync(csv),
  ndjson: toNdjson,
  "ndjson.gz": (csv) => gzipSync(toNdjson(csv)),
  "ndjson.zst": (csv) => zstdCompressSync(toNdjson(csv)),
};

/** The feed with each file in the form that its ending tells. */
const feedIn = (...endings: readonly string[]): Files =>
  Object.fromEntries(
    Object.entries(feedFiles).map(([name, csv], index) => {
      const ending = endings[index] ?? "csv";
      return [name.replace("csv", ending), (forms[ending] ?? String)(csv)];
    }),
  );

async function replaceFeed({ feed }: World, files: Files): Promise<void> {
  await rm(feed, { recursive: true });
  await mkdir(feed);
  await writeFiles(feed, files);
}

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
/** Gives files of a folder a time of change. */
const date = (folder: string, at: Date, ...names: string[]) =>
  Promise.all(names.map((name) => utimes(join(folder, name), at, at)));
const names = Object.keys(feedFiles);

// Each test has a world of its own, and waits for processes more than it computes.
const withinMs = 60_000;
/** A process among many that start at once. */
const startsWithinMs = 30_000;

describe("a feed in a folder", () => {
  test.concurrent.each<[string, string, string]>([
    ["csv", "csv.gz", "csv.zst"],
    ["ndjson", "csv.gz", "ndjson.gz"],
    ["ndjson.zst", "ndjson.gz", "csv"],
  ])(
    "is the same whether it is %s, %s and %s or plain",
    async (lines, styles, choices) => {
      const [plain, other] = await Promise.all([createWorld(), createWorld()]);
      await replaceFeed(other, feedIn(lines, styles, choices));
      for (const world of [plain, other]) expect(await run(world)).toMatchObject(isTaken);
      expect(await answer(other)).toBe(await answer(plain));
      expect(await answer(other)).toContain('"choice_value":"Heart"');
    },
    withinMs,
  );

  test.concurrent(
    "may have other names, of which the ending tells the form",
    async () => {
      const world = await createWorld('files = { pzlines = "Lines é.csv.gz", pzchoices = "c.ndjson" }');
      const {
        "pzlines.csv.gz": lines = "",
        "pzstyles.csv": styles = "",
        "pzchoices.ndjson": choices = "",
      } = feedIn("csv.gz", "csv", "ndjson");
      await replaceFeed(world, { "Lines é.csv.gz": lines, "pzstyles.csv": styles, "c.ndjson": choices });
      expect(await take(world)).toMatchObject(isTaken);
      expect((await importing(world, world.feed, "--force")).code).toBe(0);
      await rm(join(world.feed, "c.ndjson"));
      await writeFiles(world.feed, { "pzchoices.csv": feedFiles["pzchoices.csv"] });
      const { reason, ...failed } = await take(world);
      expect(failed).toMatchObject(isFailed);
      expect(reason).toBe(`${world.feed}: there is no c.ndjson`);
    },
    withinMs,
  );

  test.concurrent.each([
    ["pzlines.csv", "csv.gz"],
    ["pzlines.csv", "ndjson"],
    ["pzchoices.csv", "csv.zst"],
  ] as const)(
    "that has %s as %s too is refused, and both are named",
    async (name, ending) => {
      const world = await createWorld();
      const other = name.replace("csv", ending);
      await writeFiles(world.feed, { [other]: forms[ending]?.(feedFiles[name]) ?? "" });
      const { reason, ...failed } = await take(world);
      expect(failed).toMatchObject(isFailed);
      expect(reason).toContain(`both ${join(world.feed, name)} and ${join(world.feed, other)} are there`);
    },
    withinMs,
  );

  test.concurrent(
    "that is still being written is left for the next run",
    async () => {
      const world = await createWorld("settle_seconds = 1");
      await date(world.feed, minutesAgo(5), ...names);
      expect(await run(world)).toMatchObject(isTaken);
      const before = await answer(world);
      await writeFiles(world.feed, { "pzlines.csv": linesWith("new") });
      let rows = 0;
      const writer = setInterval(() => appendFile(join(world.feed, "pzlines.csv"), `ROW-${rows++},NOTE,1,A\n`), 100);
      const { notes, ...left } = await run(world);
      clearInterval(writer);
      expect(left).toMatchObject(isLeft);
      expect(notes).toEqual([expect.stringContaining("pzlines.csv is still being written")]);
      expect(await answer(world)).toBe(before);
      const taken = await run(world);
      expect(taken).toMatchObject({ code: 0, counts: 12 + rows, notes: [] });
      expect(await statusOf(world)).toBe("new");
      expect(await counts(world)).toEqual([12 + rows, 0, 12]);
    },
    withinMs,
  );

  test.concurrent(
    "waits for its marker, and for one that is as young as the files",
    async () => {
      const world = await createWorld('marker = "done"');
      await date(world.feed, minutesAgo(2), ...names);
      const isMissing = await run(world);
      expect(isMissing).toMatchObject(isLeft);
      expect(isMissing.notes.join()).toContain(`${world.feed}: the marker done is not there yet`);

      await writeFiles(world.feed, { done: "" });
      await date(world.feed, minutesAgo(3), "done");
      const isOlder = await run(world);
      expect(isOlder).toMatchObject(isLeft);
      expect(isOlder.notes.join()).toMatch(/the marker done is older than .*pzlines\.csv/);

      await date(world.feed, minutesAgo(1), "done");
      expect(await run(world)).toMatchObject({ ...isTaken, notes: [] });
      expect(await counts(world)).toEqual([12, 0, 0]);
    },
    withinMs,
  );

  test.concurrent(
    "is complete when its marker has the very time of the files",
    async () => {
      const world = await createWorld('marker = "done"');
      await writeFiles(world.feed, { done: "" });
      await date(world.feed, minutesAgo(2), ...names, "done");
      expect(await run(world)).toMatchObject({ ...isTaken, notes: [] });
    },
    withinMs,
  );

  test.concurrent(
    "without its marker is refused by hand, unless it is forced",
    async () => {
      const world = await createWorld('marker = "done"');
      const refused = await importing(world, world.feed);
      expect(refused).toMatchObject(isFailed);
      expect(refused.reason).toContain("the marker done is not there yet; --force takes it as it is");
      expect(await importing(world, world.feed, "--force")).toMatchObject(isTaken);
    },
    withinMs,
  );

  test.concurrent(
    "that is the same as before is left alone, even when it was written anew",
    async () => {
      const world = await createWorld();
      await replaceFeed(world, feedIn("csv.gz", "csv", "ndjson.zst"));
      expect(await take(world)).toMatchObject(isTaken);
      await date(world.feed, minutesAgo(7), "pzlines.csv.gz", "pzstyles.csv");
      const touched = await take(world);
      await replaceFeed(world, feedIn("csv.gz", "csv", "ndjson.zst"));
      const packedAgain = await take(world);
      for (const same of [touched, packedAgain]) {
        expect(same).toMatchObject(isLeft);
        expect(same.notes).toEqual([expect.stringContaining("there was nothing to do")]);
      }
      expect(await importing(world, world.feed)).toMatchObject(isLeft);
      expect(await counts(world)).toEqual([0, 0, 0, 12]);
      const { code, stderr } = await rollback(world);
      expect(stderr).toContain("nothing to roll back to for acme");
      expect(code).toBe(1);
    },
    withinMs,
  );

  test.concurrent(
    "that changed in a byte, though not in size or time, is taken",
    async () => {
      const world = await createWorld();
      const at = minutesAgo(5);
      await date(world.feed, at, ...names);
      expect(await take(world)).toMatchObject(isTaken);
      await writeFiles(world.feed, { "pzlines.csv": linesWith("Z") });
      await date(world.feed, at, ...names);
      expect(await take(world)).toMatchObject(isTaken);
      expect(await statusOf(world)).toBe("Z");
    },
    withinMs,
  );

  test.concurrent.each([
    ["the separator", 'separator = ","'],
    ["the encoding", 'encoding = "utf-8"'],
    ["names of columns", 'aliases = { sku_id = ["Article"] }'],
  ])(
    "is taken again when %s was set since",
    async (_, options) => {
      const world = await createWorld();
      expect(await take(world)).toMatchObject(isTaken);
      await configure(world, options);
      expect(await take(world)).toMatchObject(isTaken);
      expect(await take(world)).toMatchObject(isLeft);
    },
    withinMs,
  );

  test.concurrent(
    "that was rolled back is not taken again, unless it is forced or another one",
    async () => {
      const world = await createWorld();
      expect(await take(world)).toMatchObject(isTaken);
      await writeFiles(world.feed, { "pzlines.csv": linesWith("bad") });
      expect(await take(world)).toMatchObject(isTaken);
      expect((await rollback(world)).code).toBe(0);
      for (const again of [await run(world), await importing(world, world.feed)]) {
        expect(again).toMatchObject(isLeft);
        expect(again.notes.join()).toMatch(/rolled back, so it was left alone; --force takes it again/);
      }
      expect(await statusOf(world)).toBe("I");
      expect(await importing(world, world.feed, "--force")).toMatchObject(isTaken);
      expect(await statusOf(world)).toBe("bad");
      expect((await rollback(world)).code).toBe(0);
      await writeFiles(world.feed, { "pzlines.csv": linesWith("good") });
      expect(await take(world)).toMatchObject(isTaken);
      expect(await statusOf(world)).toBe("good");
    },
    withinMs,
  );
});

interface WebFile {
  readonly content: string | Uint8Array;
  readonly changed?: Date;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  status: number;
}

/** A web server with files below `/feed/`. */
interface Web extends Disposable {
  readonly source: string;
  readonly files: Map<string, WebFile>;
  /** What was asked so far; status 0 for what got no whole answer. */
  readonly asked: Asked[];
  /** Is asked before each answer, with how often the path was asked for: true when it has seen to the answer itself. */
  intercept: (path: string, time: number, response: ServerResponse) => boolean;
}

interface WebOptions {
  readonly validators?: "tag" | "time" | "none";
  readonly authorization?: string;
}

async function startWeb({ validators = "tag", authorization }: WebOptions = {}): Promise<Web> {
  const server = createServer(({ url: path = "", headers }, response) => {
    const asked: Asked = { path, headers, status: 0 };
    web.asked.push(asked);
    response.on("finish", () => {
      asked.status = response.statusCode;
    });
    const end = (status: number, more: Record<string, string | number> = {}, body?: string | Uint8Array) => {
      response.writeHead(status, more);
      response.end(body);
    };
    const time = web.asked.filter((earlier) => earlier.path === path).length;
    if (authorization !== undefined && headers.authorization !== authorization) return end(401);
    if (web.intercept(path, time, response)) return;
    const file = web.files.get(decodeURIComponent(path.replace(/^\/feed\//, "")));
    if (file === undefined) return end(404);
    const { content, changed = new Date("2024-01-01"), headers: more } = file;
    const tag = `"${Bun.hash(content)}"`;
    const since = Date.parse(headers["if-modified-since"] ?? "");
    const isKnown = validators === "tag" ? headers["if-none-match"] === tag : since >= changed.getTime();
    const told = {
      ...(validators !== "none" && { "Last-Modified": changed.toUTCString() }),
      ...(validators === "tag" && { ETag: tag }),
      ...more,
    };
    if (isKnown && validators !== "none") return end(304, told);
    end(200, { ...told, "Content-Length": Buffer.byteLength(content) }, content);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const web: Web = {
    source: `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed/`,
    files: new Map(Object.entries(feedFiles).map(([name, content]) => [name, { content }])),
    asked: [],
    intercept: () => false,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return web;
}

/** Answers with the beginning of a file, and hangs up. */
function cutOff(response: ServerResponse, content: string, headers: Record<string, string | number> = {}): true {
  response.writeHead(200, headers);
  response.write(content);
  setTimeout(() => response.socket?.destroy(), 50);
  return true;
}

function hangUp(response: ServerResponse): true {
  response.socket?.destroy();
  return true;
}

function refuse(response: ServerResponse, status: number): true {
  response.writeHead(status);
  response.end("no");
  return true;
}

/** The files that were sent whole. */
const sent = ({ asked }: Web) => asked.filter(({ status }) => status === 200).map(({ path }) => path);

describe("a feed at an address", () => {
  test.concurrent.each(["", "/"])(
    "is taken from there, whether it ends in a slash or not: %p",
    async (ending) => {
      using web = await startWeb();
      const world = await createWorld("", web.source.replace(/\/$/, ending));
      expect(await run(world)).toMatchObject({ ...isTaken, notes: [] });
      expect(await statusOf(world)).toBe("I");
      expect(await spools(world)).toEqual([]);
    },
    withinMs,
  );

  test.concurrent(
    "is taken by hand",
    async () => {
      using web = await startWeb();
      const world = await createWorld();
      expect(await importing(world, web.source)).toMatchObject(isTaken);
      expect(await importing(world, web.source)).toMatchObject(isLeft);
      expect(await importing(world, web.source, "--force")).toMatchObject(isTaken);
    },
    withinMs,
  );

  test.concurrent(
    "is asked for with the secret that was set, which is never shown",
    async () => {
      const secret = "Bearer hush-0123456789";
      using web = await startWeb({ authorization: secret });
      const world = await createWorld("", web.source, { FEED_AUTHORIZATION: secret });
      const taken = await run(world);
      expect(taken).toMatchObject(isTaken);
      const refused = await run(world, { FEED_AUTHORIZATION: "Bearer hush-wrong" });
      expect(refused).toMatchObject({ ...isFailed, reason: `${web.source}pzlines.csv: 401 Unauthorized` });
      expect(web.asked.filter(({ status }) => status === 401)).toHaveLength(1);
      const commands = [["config"], ["config", "--json"], ["jobs", "--json"], ["history", "--json"]];
      const shown = await Promise.all(commands.map((command) => pds(command, world.environment)));
      for (const { stdout, stderr } of [taken, refused, ...shown]) expect(stdout + stderr).not.toContain("hush");
    },
    withinMs,
  );

  test.concurrent.each([
    ["tag", "if-none-match"],
    ["time", "if-modified-since"],
  ] as const)(
    "that is the same by its %s is not sent again, and is sent whole when a file changed",
    async (validators, condition) => {
      using web = await startWeb({ validators });
      const world = await createWorld("", web.source);
      expect(await take(world)).toMatchObject(isTaken);
      web.asked.length = 0;
      const same = await take(world);
      expect(same).toMatchObject(isLeft);
      expect(same.notes).toEqual([
        `${web.source}: the same feed as the one that was imported last, so there was nothing to do`,
      ]);
      expect(web.asked.map(({ status }) => status)).toEqual([304, 304, 304]);
      for (const { headers } of web.asked) expect(headers[condition]).toBeString();
      expect(await spools(world)).toEqual([]);

      web.asked.length = 0;
      web.files.set("pzlines.csv", { content: linesWith("new"), changed: new Date("2024-01-02") });
      expect(await take(world)).toMatchObject(isTaken);
      expect(new Set(sent(web))).toEqual(new Set(names.map((name) => `/feed/${name}`)));
      expect(await statusOf(world)).toBe("new");
      expect(await take(world)).toMatchObject(isLeft);
    },
    withinMs,
  );

  test.concurrent(
    "of which the server tells neither tag nor time is known by its content",
    async () => {
      using web = await startWeb({ validators: "none" });
      const world = await createWorld("", web.source);
      expect(await take(world)).toMatchObject(isTaken);
      expect(await take(world)).toMatchObject(isLeft);
      web.files.set("pzlines.csv", { content: linesWith("Z") });
      expect(await take(world)).toMatchObject(isTaken);
      expect(await counts(world)).toEqual([12, 0, 12]);
    },
    withinMs,
  );

  test.concurrent(
    "is another feed at another address, even one whose files are older",
    async () => {
      using web = await startWeb({ validators: "time" });
      using other = await startWeb({ validators: "time" });
      for (const name of names) {
        const content = name === "pzlines.csv" ? linesWith("other") : feedFiles[name as keyof typeof feedFiles];
        other.files.set(name, { content, changed: new Date("2023-01-01") });
      }
      const world = await createWorld("", web.source);
      expect(await take(world)).toMatchObject(isTaken);
      await configure(world, "", other.source);
      expect(await take(world)).toMatchObject(isTaken);
      expect(await statusOf(world)).toBe("other");
    },
    withinMs,
  );

  test.concurrent.each([
    ["with the default names", "", /: there is no pzchoices\.csv and no pzchoices\.ndjson/],
    ["with names that were set", 'files = { pzchoices = "wanted.csv" }', /: there is no wanted\.csv$/],
  ])(
    "without one of its files is refused, %s",
    async (_, options, message) => {
      using web = await startWeb();
      web.files.delete("pzchoices.csv");
      const world = await createWorld(options, web.source);
      const { reason, ...failed } = await take(world);
      expect(failed).toMatchObject(isFailed);
      expect(reason).toMatch(message);
      expect(reason).toStartWith(web.source);
      expect(web.asked.filter(({ path }) => path.endsWith("pzlines.csv"))).toHaveLength(1);
    },
    withinMs,
  );

  const failsTwice: [string, (time: number, response: ServerResponse) => boolean][] = [
    ["fails", (time, response) => time <= 2 && refuse(response, time === 1 ? 500 : 503)],
    ["hangs up", (time, response) => time <= 2 && hangUp(response)],
    ["asks for patience", (time, response) => time <= 1 && refuse(response, 429)],
    [
      "hangs up in the middle of a file",
      (time, response) =>
        (time === 2 || time === 3) && cutOff(response, "sku_id,", { "Content-Length": 100, ETag: tagOfLines }),
    ],
  ];
  const tagOfLines = `"${Bun.hash(feedFiles["pzlines.csv"])}"`;

  test.concurrent.each(failsTwice)(
    "is taken after all when the server %s at first",
    async (_, fail) => {
      using web = await startWeb();
      web.intercept = (path, time, response) => path.endsWith("pzlines.csv") && fail(time, response);
      const world = await createWorld("", web.source);
      expect(await take(world)).toMatchObject(isTaken);
      expect(await statusOf(world)).toBe("I");
      expect(await spools(world)).toEqual([]);
    },
    withinMs,
  );

  const failsForever: [string, RegExp, (time: number, response: ServerResponse) => boolean][] = [
    ["fails", /pzlines\.csv: 500 Internal Server Error$/, (_, response) => refuse(response, 500)],
    ["hangs up", /pzlines\.csv: .*closed/, (_, response) => hangUp(response)],
    [
      "sends less than it promised",
      /pzlines\.csv: .*(closed|of 5000 bytes came)/,
      (time, response) => time > 1 && cutOff(response, linesWith("cut"), { "Content-Length": 5000, ETag: tagOfLines }),
    ],
  ];

  test.concurrent.each(failsForever)(
    "is given up when the server %s each time, and nothing is changed",
    async (_, message, fail) => {
      using web = await startWeb();
      const world = await createWorld();
      expect(await take(world)).toMatchObject(isTaken);
      const before = await answer(world);
      await configure(world, "", web.source);
      web.files.set("pzchoices.csv", { content: feedFiles["pzchoices.csv"].replace("Serif", "Sans Serif") });
      web.intercept = (path, time, response) => path.endsWith("pzlines.csv") && fail(time, response);
      const { reason, ...failed } = await take(world);
      expect(failed).toMatchObject(isFailed);
      expect(reason).toStartWith(web.source);
      expect(reason).toMatch(message);
      expect(await answer(world)).toBe(before);
      expect((await rollback(world)).code).toBe(1);
      expect(await spools(world)).toEqual([]);
    },
    withinMs,
  );

  test.concurrent(
    "is what came last when a download broke off after more than that",
    async () => {
      using web = await startWeb({ validators: "none" });
      const world = await createWorld("", web.source);
      const longer = `${linesWith("old")}${"ROW,NOTE,1,A\n".repeat(50)}`;
      web.intercept = (path, time, response) =>
        path.endsWith("pzlines.csv") && time === 2 && cutOff(response, longer, { "Content-Length": 9999 });
      expect(await take(world)).toMatchObject(isTaken);
    },
    withinMs,
  );

  test.concurrent(
    "that is replaced between the look and the download is left for the next run",
    async () => {
      using web = await startWeb();
      const world = await createWorld("", web.source);
      web.intercept = (path) => {
        if (path.endsWith("pzchoices.csv"))
          web.files.set("pzstyles.csv", { content: `${feedFiles["pzstyles.csv"]}S,A,1,X,\n` });
        return false;
      };
      const { notes, ...left } = await run(world);
      expect(left).toMatchObject(isLeft);
      expect(notes).toEqual([expect.stringContaining(`${web.source}pzstyles.csv was changed while it was read`)]);
      expect(await spools(world)).toEqual([]);
      expect(await run(world)).toMatchObject({ code: 0, counts: 13, notes: [] });
    },
    withinMs,
  );

  test.concurrent(
    "that is still being written is left for the next run",
    async () => {
      using web = await startWeb();
      const world = await createWorld("settle_seconds = 1", web.source);
      let content = feedFiles["pzlines.csv"];
      const grow = () => web.files.set("pzlines.csv", { content, changed: new Date() });
      grow();
      web.intercept = (path) => {
        if (path.endsWith("pzchoices.csv") && content === feedFiles["pzlines.csv"]) content += "CUP,NOTE,1,A\n";
        grow();
        return false;
      };
      const { notes, ...left } = await run(world);
      expect(left).toMatchObject(isLeft);
      expect(notes).toEqual([expect.stringContaining(`${web.source}pzlines.csv is still being written`)]);
      expect(await run(world)).toMatchObject({ code: 0, counts: 13 });
    },
    withinMs,
  );

  test.concurrent(
    "is read as it lies there, packed or not",
    async () => {
      using web = await startWeb();
      const packed = feedIn("csv.gz", "ndjson.zst", "ndjson.gz");
      web.files.clear();
      for (const [name, content] of Object.entries(packed)) {
        // As a server does that takes the ending for an encoding of the transport.
        web.files.set(name, { content, ...(name.endsWith(".gz") && { headers: { "Content-Encoding": "gzip" } }) });
      }
      const world = await createWorld("", web.source);
      expect(await take(world)).toMatchObject(isTaken);
      expect(await statusOf(world)).toBe("I");
      for (const { headers } of web.asked) expect(headers["accept-encoding"]).toBe("identity");
      expect(await take(world)).toMatchObject(isLeft);
    },
    withinMs,
  );

  test.concurrent(
    "is followed to where the server sends, but its secret stays behind",
    async () => {
      const secret = "Bearer hush-0123456789";
      using elsewhere = await startWeb();
      using web = await startWeb({ authorization: secret });
      web.intercept = (path, _, response) => {
        const place = path.endsWith("pzlines.csv") ? path.replace("/feed/", "/moved/") : undefined;
        if (path.endsWith("pzstyles.csv")) response.writeHead(302, { Location: `${elsewhere.source}pzstyles.csv` });
        else if (place !== undefined && path.startsWith("/feed/")) response.writeHead(307, { Location: place });
        else return false;
        response.end();
        return true;
      };
      web.files.set("/moved/pzlines.csv", { content: linesWith("moved") });
      const world = await createWorld("", web.source, { FEED_AUTHORIZATION: secret });
      expect(await take(world)).toMatchObject(isTaken);
      expect(await statusOf(world)).toBe("moved");
      expect(sent(elsewhere)).toContain("/feed/pzstyles.csv");
      for (const { headers } of elsewhere.asked) expect(headers).not.toHaveProperty("authorization");
      expect(await take(world)).toMatchObject(isLeft);
    },
    withinMs,
  );

  test.concurrent(
    "waits for its marker",
    async () => {
      using web = await startWeb();
      const world = await createWorld('marker = "done"', web.source);
      const isMissing = await run(world);
      expect(isMissing).toMatchObject(isLeft);
      expect(isMissing.notes.join()).toContain(`${web.source}: the marker done is not there yet`);
      web.files.set("done", { content: "", changed: new Date("2023-12-31") });
      const isOlder = await run(world);
      expect(isOlder).toMatchObject(isLeft);
      expect(isOlder.notes.join()).toContain(`the marker done is older than ${web.source}pzlines.csv`);
      web.files.set("done", { content: "", changed: new Date("2024-01-02") });
      expect(await run(world)).toMatchObject(isTaken);
      // The same feed under another marker is the same feed.
      web.files.set("done", { content: "again", changed: new Date("2024-01-03") });
      expect(await run(world)).toMatchObject(isLeft);
    },
    withinMs,
  );

  test.concurrent.each([
    ["http://feeds.example/acme/", /expected https:\/\/ or s3:\/\/ \(http:\/\/ is only valid for this machine\)/],
    ["http://127.0.0.1.feeds.example/", /expected https:\/\/ or s3:\/\//],
    ["https://acme:hush@feeds.example/", /without user, password, query or fragment: .*FEED_AUTHORIZATION/],
    ["https://feeds.example/acme/?token=hush", /without user, password, query or fragment/],
    ["https://feeds.example/acme/#hush", /without user, password, query or fragment/],
    ["ftp://feeds.example/acme/", /expected https:\/\/ or s3:\/\//],
    ["s3:///acme/", /expected .*s3:\/\/BUCKET\/PREFIX/],
    ["https://", /expected .*https:\/\/HOST\/PATH/],
  ])(
    "may not be %p, and a secret in it is not repeated",
    async (source, message) => {
      const world = await createWorld("", source);
      const configured = await run(world);
      expect(configured.code).toBe(1);
      expect(configured.stderr).toContain(`${world.environment.PDS_CONFIG}: jobs.personalization-import.source: `);
      const byHand = await pds(["import", "personalization", source], {
        ...world.environment,
        PDS_CONFIG: "/dev/null",
      });
      expect(byHand.code).toBe(2);
      for (const { stdout, stderr } of [configured, byHand]) {
        expect(stderr).toMatch(message);
        expect(stdout).toBe("");
        expect(stderr).not.toContain("hush");
      }
    },
    withinMs,
  );
});

const putFeed = (store: Store, folder: string, files: Files = feedFiles) => {
  for (const [name, content] of Object.entries(files)) store.objects.set(`${folder}/${name}`, { content });
};

describe("a feed in a bucket", () => {
  test.concurrent.each([
    ["s3://feeds", "feeds"],
    ["s3://feeds/", "feeds"],
    ["s3://feeds/a/b é", "feeds/a/b é"],
    ["s3://feeds/a/b+c/", "feeds/a/b+c"],
  ])(
    "is taken from %p, and left alone without a download when it is the same",
    async (source, folder) => {
      using store = await startStore();
      putFeed(store, folder, feedIn("csv", "csv.gz", "ndjson.zst"));
      const world = await createWorld("", source, store.environment);
      expect(await run(world)).toMatchObject({ ...isTaken, notes: [] });
      expect(await statusOf(world)).toBe("I");
      store.requests.length = 0;
      expect(await take(world)).toMatchObject(isLeft);
      expect(store.requests.filter((request) => !request.startsWith("HEAD "))).toEqual([]);
      store.objects.set(`${folder}/pzlines.csv`, { content: linesWith("new") });
      expect(await take(world)).toMatchObject(isTaken);
      expect(await statusOf(world)).toBe("new");
      expect(await counts(world)).toEqual([12, 0, 12]);
      expect(await spools(world)).toEqual([]);
    },
    withinMs,
  );

  test.concurrent(
    "is taken by hand",
    async () => {
      using store = await startStore();
      putFeed(store, "feeds/acme");
      const world = await createWorld("", undefined, store.environment);
      expect(await importing(world, "s3://feeds/acme/")).toMatchObject(isTaken);
      expect(await importing(world, "s3://feeds/acme")).toMatchObject(isLeft);
    },
    withinMs,
  );

  test.concurrent(
    "lacks an object, or has one twice: that is named",
    async () => {
      using store = await startStore();
      putFeed(store, "feeds/acme");
      const world = await createWorld("", "s3://feeds/acme", store.environment);
      putFeed(store, "feeds/acme", { "pzlines.csv.gz": gzipSync(feedFiles["pzlines.csv"]) });
      const isTwice = await take(world);
      expect(isTwice).toMatchObject(isFailed);
      expect(isTwice.reason).toContain("both s3://feeds/acme/pzlines.csv and s3://feeds/acme/pzlines.csv.gz are there");
      store.objects.delete("feeds/acme/pzlines.csv");
      store.objects.delete("feeds/acme/pzlines.csv.gz");
      const isMissing = await take(world);
      expect(isMissing).toMatchObject(isFailed);
      expect(isMissing.reason).toStartWith("s3://feeds/acme/: there is no pzlines.csv and no pzlines.ndjson");
    },
    withinMs,
  );

  test.concurrent(
    "waits for its marker, and takes one of the same second",
    async () => {
      using store = await startStore();
      putFeed(store, "feeds/acme");
      const world = await createWorld('marker = "done"', "s3://feeds/acme", store.environment);
      const isMissing = await run(world);
      expect(isMissing).toMatchObject(isLeft);
      expect(isMissing.notes.join()).toContain("the marker done is not there yet");
      store.objects.set("feeds/acme/done", { content: "", changed: new Date("2023-12-31") });
      const isOlder = await run(world);
      expect(isOlder).toMatchObject(isLeft);
      expect(isOlder.notes.join()).toContain("the marker done is older than s3://feeds/acme/pzlines.csv");
      store.objects.set("feeds/acme/done", { content: "" });
      expect(await run(world)).toMatchObject(isTaken);
    },
    withinMs,
  );

  test.concurrent(
    "that is replaced while it is read is left for the next run",
    async () => {
      using store = await startStore();
      putFeed(store, "feeds/acme");
      const world = await createWorld("", "s3://feeds/acme", store.environment);
      store.intercept = ({ method }) => {
        if (method === "GET") store.objects.set("feeds/acme/pzlines.csv", { content: linesWith("new") });
        return false;
      };
      const { notes, ...left } = await run(world);
      expect(left).toMatchObject(isLeft);
      expect(notes).toEqual([expect.stringContaining("s3://feeds/acme/pzlines.csv was changed while it was read")]);
      expect(await take(world)).toMatchObject(isTaken);
      expect(await statusOf(world)).toBe("new");
    },
    withinMs,
  );

  const wrongs: [string, Environment, RegExp][] = [
    [
      "another secret",
      { S3_SECRET_ACCESS_KEY: "hush-hush" },
      /^s3:\/\/feeds\/acme\/pzlines\.csv\S*: SignatureDoesNotMatch/,
    ],
    ["an unknown key", { S3_ACCESS_KEY_ID: "AKIDHUSH" }, /: InvalidAccessKeyId/],
    ["another region", { S3_REGION: "elsewhere" }, /: AuthorizationHeaderMalformed/],
    ["no credentials", { S3_ACCESS_KEY_ID: "", S3_SECRET_ACCESS_KEY: "" }, /: ERR_S3_MISSING_CREDENTIALS/],
  ];

  test.concurrent.each(wrongs)(
    "is asked for with %s: the store's refusal is told, and no secret",
    async (_, also, message) => {
      using store = await startStore();
      putFeed(store, "feeds/acme");
      const world = await createWorld("", "s3://feeds/acme", { ...store.environment, ...also });
      const { reason, ...failed } = await run(world);
      expect(failed).toMatchObject(isFailed);
      expect(reason).toMatch(message);
      const commands = [
        ["config", "--json"],
        ["jobs", "--json"],
        ["history", "--json"],
      ];
      const shown = await Promise.all(commands.map((command) => pds(command, world.environment)));
      for (const { stdout, stderr } of [failed, ...shown]) {
        expect(stdout + stderr).not.toMatch(/hush/i);
        expect(stdout + stderr).not.toContain(store.environment.S3_SECRET_ACCESS_KEY);
      }
    },
    withinMs,
  );

  const away: [string, RegExp, (store: Store) => void][] = [
    ["is down", /^s3:\/\/feeds\/acme\/pzlines\.csv\S*: ConnectionRefused/, (store) => store.stop()],
    [
      "sends less than it promised",
      /^s3:\/\/feeds\/acme\/pzlines\.csv: ConnectionClosed/,
      (store) => {
        store.intercept = ({ method }, response) =>
          method === "GET" && cutOff(response, linesWith("cut"), { "Content-Length": 5000 });
      },
    ],
  ];

  test.concurrent.each(away)(
    "is given up when the store %s, and nothing is changed",
    async (_, message, fail) => {
      using store = await startStore();
      putFeed(store, "feeds/acme", { ...feedFiles, "pzlines.csv": linesWith("new") });
      const world = await createWorld("", undefined, store.environment);
      expect(await take(world)).toMatchObject(isTaken);
      await configure(world, "", "s3://feeds/acme");
      fail(store);
      const { reason, ...failed } = await take(world);
      expect(failed).toMatchObject(isFailed);
      expect(reason).toMatch(message);
      expect(await statusOf(world)).toBe("I");
      expect(await spools(world)).toEqual([]);
    },
    withinMs,
  );
});

/** Begins the job. */
const begin = ({ environment }: World) =>
  Bun.spawn([process.execPath, main, "run", "personalization-import"], {
    env: { PATH: process.env.PATH, ...environment } as Record<string, string>,
    stdio: ["ignore", "ignore", "pipe"],
    // A group of its own, so that it can be killed together with the process that does its work.
    detached: true,
  });

/** Lets a web server send the beginning of a file when it is downloaded, and then nothing. */
function stall(web: Web): void {
  web.intercept = (path, time, response) => {
    if (!path.endsWith("pzstyles.csv") || time < 2) return false;
    const content = feedFiles["pzstyles.csv"];
    response.writeHead(200, { "Content-Length": content.length, ETag: `"${Bun.hash(content)}"` });
    response.write(content.slice(0, 40));
    return true;
  };
}

describe("what is downloaded", () => {
  test.concurrent(
    "is removed when the feed turns out to be wrong",
    async () => {
      using web = await startWeb();
      web.files.set("pzlines.csv", { content: "sku_id\nMUG\n" });
      const world = await createWorld("", web.source);
      const { reason, ...failed } = await take(world);
      expect(failed).toMatchObject({ code: 1, outcome: "failed" });
      expect(reason).toContain(`${web.source}pzlines.csv:1: the header lacks`);
      expect(sent(web)).toContain("/feed/pzlines.csv");
      expect(await readdir(world.temporary)).toEqual([]);
    },
    withinMs,
  );

  test.concurrent(
    "is removed when the run is told to stop in the middle",
    async () => {
      using web = await startWeb();
      stall(web);
      const world = await createWorld("", web.source);
      const child = begin(world);
      await until(
        "it downloads",
        async () => (await spools(world)).length > 0 && web.asked.at(-1)?.status === 0,
        startsWithinMs,
      );
      child.kill("SIGTERM");
      expect(await child.exited).toBe(1);
      expect(await child.stderr.text()).toContain("stopped by SIGTERM");
      expect(await readdir(world.temporary)).toEqual([]);
      expect(await counts(world)).toEqual([0]);
    },
    withinMs,
  );

  test.concurrent(
    "and was left behind by a run that was killed is removed by the next",
    async () => {
      using web = await startWeb();
      stall(web);
      const world = await createWorld("", web.source);
      const child = begin(world);
      await until("it downloads", async () => (await spools(world)).length > 0, startsWithinMs);
      process.kill(-child.pid, "SIGKILL");
      await child.exited;
      await endLeases(world.environment.DATABASE_URL);
      const [left = ""] = await spools(world);
      expect(left).toMatch(/^pds-feed-\d+-/);
      // Its parent is dead as well: until the system has buried it, it counts as alive.
      const worker = Number(left.split("-")[2]);
      await until("the process that did the work is gone", () => {
        try {
          return !process.kill(worker, 0);
        } catch {
          return true;
        }
      });
      const ours = `pds-feed-${process.pid}-ours`;
      const strange = "pds-feed-of-somebody";
      for (const folder of [ours, strange]) await mkdir(join(world.temporary, folder));
      web.intercept = () => false;
      expect(await take(world)).toMatchObject(isTaken);
      expect((await spools(world)).sort()).toEqual([ours, strange].sort());
    },
    withinMs,
  );
});

test.concurrent(
  "a run that waits for a store that says nothing stops when it is told to",
  async () => {
    using store = await startStore();
    store.intercept = () => true;
    const world = await createWorld("", "s3://feeds/acme", store.environment);
    const child = begin(world);
    await until("it asks", () => store.requests.length > 0, startsWithinMs);
    child.kill("SIGTERM");
    let isOver = false;
    child.exited.then(() => {
      isOver = true;
    });
    await until("it stops", () => isOver).finally(() => child.kill("SIGKILL"));
    expect(await child.exited).toBe(1);
    expect(await child.stderr.text()).toContain("stopped by SIGTERM");
  },
  withinMs,
);
