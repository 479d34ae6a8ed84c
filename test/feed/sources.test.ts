import { describe, expect, test } from "bun:test";
import { appendFile, mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { certificate, certificateKey } from "../support/certificate.ts";
import { feedFiles, toNdjson, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  begin,
  connectTo,
  type Environment,
  type Finished,
  killRun,
  pds,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { readPersonalization } from "../support/personalization.ts";
import { type Store, type StoredObject, startStore } from "../support/s3.ts";
import { startBreakableServer, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";

type Files = Readonly<Record<string, string | Uint8Array>>;

interface Report {
  readonly outcome: string;
  readonly counts: number;
  readonly notes: readonly string[];
  readonly reason?: string;
}

type Setup = Awaited<ReturnType<typeof createSetup>>;

const setupsFolder = await temporaryFolder();
let created = 0;

/**
 * A separate store, with a feed folder, settings, and a temporary folder.
 * @param options the job's options other than the source, as TOML
 * @param source the job's feed source
 */
async function createSetup(options = "", source?: string, overrides: Environment = {}) {
  const folder = join(setupsFolder, `${created++}`);
  const temporary = join(folder, "tmp");
  await mkdir(temporary, { recursive: true });
  const feed = await writeFeed(folder, "feed");
  const paths = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, PDS_CONFIG: join(folder, "pds.toml") };
  const environment = { BRAND: "acme", TMPDIR: temporary, ...overrides, ...paths };
  const setup = { folder, temporary, feed, source: source ?? feed, environment };
  await configure(setup, options);
  return setup;
}

async function configure(
  setup: { source: string; folder: string },
  options: string,
  source = setup.source,
): Promise<void> {
  setup.source = source;
  const settles = options.includes("settle_seconds") ? "" : "settle_seconds = 0";
  const table = `[jobs.personalization-import]\nsource = ${JSON.stringify(source)}\n${settles}\n${options}\n`;
  await writeFiles(setup.folder, { "pds.toml": table });
}

const toReport = (finished: Finished): Finished & Report => ({
  ...finished,
  ...(JSON.parse(finished.stdout || "{}") as Report),
});

const runArguments = ["run", "personalization-import", "--json"];

/** Runs the job. */
const run = async ({ environment }: Setup) => toReport(await importHere(runArguments, environment));

/** Runs the job in a process of its own, with everything that it prints. */
const runProcess = async ({ environment }: Setup, overrides: Environment = {}) =>
  toReport(await pds(runArguments, { ...environment, ...overrides }));

/** Imports manually. */
const importFrom = async ({ environment }: Setup, source: string, ...options: string[]) =>
  toReport(await importHere(["import", "personalization", source, "--json", ...options], environment));

/** Imports the job's feed manually. */
const importFeed = (setup: Setup) => importFrom(setup, setup.source);

const success = { code: 0, outcome: "succeeded", counts: 12 } as const;
const noChange = { code: 0, outcome: "succeeded", counts: 0 } as const;
const failure = { code: 1, outcome: "failed", counts: 0 } as const;

/** The reason of a run that refused a file because it changed. */
const changed = (name: string) => `${name}: changed while it was read; nothing was imported`;

const rollback = ({ environment }: Setup) => pds(["rollback", "personalization"], environment);

/** Queries the store directly, which is faster than starting a process. */
async function query<Row>({ environment }: Setup, statement: string): Promise<Row[]> {
  await using sql = await connectTo(environment.DATABASE_URL);
  return await sql.unsafe(statement);
}

/** The counts of the runs, newest first. */
const counts = async (setup: Setup) =>
  (await query<{ counts: number }>(setup, "SELECT counts FROM run ORDER BY id DESC")).map((run) => run.counts);

/** The status code of a line that is served. */
async function statusOf(setup: Setup): Promise<string | undefined> {
  const { pzlines } = await readPersonalization(setup.environment.DATABASE_URL, "acme", "MUG");
  return pzlines.find((line) => line.style_code === "BLOCK")?.style_sku_status;
}

/** The feed's lines with the status code that `statusOf` reads. */
const linesWithStatus = (status: string) => feedFiles["pzlines.csv"].replace("MUG,BLOCK,9,I", `MUG,BLOCK,9,${status}`);

const listDownloads = async ({ temporary }: Setup) =>
  (await readdir(temporary)).filter((name) => name.startsWith("pds-feed-"));

const writers: Readonly<Record<string, (csv: string) => string | Uint8Array>> = {
  csv: (csv) => csv,
  "csv.gz": (csv) => gzipSync(csv),
  "csv.zst": (csv) => zstdCompressSync(csv),
  ndjson: toNdjson,
  "ndjson.gz": (csv) => gzipSync(toNdjson(csv)),
  "ndjson.zst": (csv) => zstdCompressSync(toNdjson(csv)),
};

/** The feed's files in the formats of these extensions. */
const feedAs = (...endings: readonly string[]): Files =>
  Object.fromEntries(
    Object.entries(feedFiles).map(([name, csv], index) => {
      const ending = endings[index] ?? "csv";
      return [name.replace("csv", ending), (writers[ending] ?? String)(csv)];
    }),
  );

async function replaceFeed({ feed }: Setup, files: Files): Promise<void> {
  await rm(feed, { recursive: true });
  await mkdir(feed);
  await writeFiles(feed, files);
}

/** On a busy machine, the sender may pause for the settle time, and go on while the file is read. */
function expectLeft({ counts, notes, reason }: Awaited<ReturnType<typeof run>>): void {
  expect(counts).toBe(0);
  expect([...notes, reason].join()).toMatch(/pzlines\.csv(: changed while it was read| is still being written)/);
}

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
/** Sets the modification time of files. */
const setTimes = (folder: string, at: Date, ...names: string[]) =>
  Promise.all(names.map((name) => utimes(join(folder, name), at, at)));
const names = Object.keys(feedFiles);
const contentOf = (name: string) => feedFiles[name as keyof typeof feedFiles];

describe("a feed in a folder", () => {
  test.concurrent.each<[string, string, string]>([
    ["csv", "csv.gz", "csv.zst"],
    ["ndjson", "csv.gz", "ndjson.gz"],
    ["ndjson.zst", "ndjson.gz", "csv"],
  ])("gives the same personalization as %s, %s, and %s as in plain CSV", async (lines, styles, choices) => {
    const [plain, setup] = [await createSetup(), await createSetup()];
    await replaceFeed(setup, feedAs(lines, styles, choices));
    for (const each of [plain, setup]) expect(await importFeed(each)).toMatchObject(success);
    const mugOf = ({ environment }: Setup) => readPersonalization(environment.DATABASE_URL, "acme", "MUG");
    expect(await mugOf(setup)).toEqual(await mugOf(plain));
    expect(await mugOf(plain)).toMatchObject({
      pzchoices: expect.arrayContaining([expect.objectContaining({ choice_value: "Heart" })]),
    });
  });

  test.concurrent("can have configured file names, whose extensions give the format", async () => {
    const setup = await createSetup('files = { pzlines = "Lines é.csv.gz", pzchoices = "c.ndjson" }');
    const {
      "pzlines.csv.gz": lines = "",
      "pzstyles.csv": styles = "",
      "pzchoices.ndjson": choices = "",
    } = feedAs("csv.gz", "csv", "ndjson");
    await replaceFeed(setup, { "Lines é.csv.gz": lines, "pzstyles.csv": styles, "c.ndjson": choices });
    expect(await importFeed(setup)).toMatchObject(success);
    expect((await importFrom(setup, setup.feed, "--force")).code).toBe(0);
  });

  test.concurrent("is left for the next run while it is being written", async () => {
    const setup = await createSetup("settle_seconds = 1");
    await setTimes(setup.feed, minutesAgo(5), ...names);
    expect(await run(setup)).toMatchObject(success);
    await writeFiles(setup.feed, { "pzlines.csv": linesWithStatus("new") });
    let rows = 0;
    const writer = setInterval(() => appendFile(join(setup.feed, "pzlines.csv"), `ROW-${rows++},NOTE,1,A\n`), 100);
    const left = await run(setup);
    clearInterval(writer);
    expectLeft(left);
    expect(await statusOf(setup)).toBe("I");
    const taken = await run(setup);
    expect(taken).toMatchObject({ code: 0, counts: 12 + rows, notes: [] });
    expect(await statusOf(setup)).toBe("new");
    expect(await counts(setup)).toEqual([12 + rows, 0, 12]);
  });

  test.concurrent("is left for the next run while a sender that keeps sizes and times delivers it", async () => {
    const setup = await createSetup("settle_seconds = 1");
    const at = minutesAgo(5);
    await setTimes(setup.feed, at, ...names);
    let writing = Promise.resolve();
    const deliver = async (status: string) => {
      await writeFiles(setup.folder, { ".pzlines.csv": linesWithStatus(status) });
      await setTimes(setup.folder, at, ".pzlines.csv");
      await rename(join(setup.folder, ".pzlines.csv"), join(setup.feed, "pzlines.csv"));
    };
    const writer = setInterval(() => {
      writing = writing.then(() => deliver("Y"));
    }, 100);
    const left = await run(setup);
    clearInterval(writer);
    expectLeft(left);
    await writing;
    await deliver("Z");
    expect(await run(setup)).toMatchObject({ ...success, notes: [] });
    expect(await statusOf(setup)).toBe("Z");
  });

  test.concurrent("is imported only when the marker exists and arrived after the files, whatever their times", async () => {
    const setup = await createSetup('marker = "done"');
    const withoutMarker = await run(setup);
    expect(withoutMarker).toMatchObject(noChange);
    expect(withoutMarker.notes.join()).toContain(`${setup.feed}: the marker file done does not exist yet`);

    await writeFiles(setup.feed, { done: "" });
    // A sender that keeps times delivers an older file again.
    await until("the clock of files moves on", async () => {
      await utimes(join(setup.feed, "pzlines.csv"), minutesAgo(5), minutesAgo(5));
      const changedAt = async (name: string) => (await stat(join(setup.feed, name))).ctimeMs;
      return (await changedAt("pzlines.csv")) > (await changedAt("done"));
    });
    const withOldMarker = await run(setup);
    expect(withOldMarker).toMatchObject(noChange);
    expect(withOldMarker.notes.join()).toMatch(/the marker file done is older than .*pzlines\.csv/);

    // Its marker is older than the files.
    await setTimes(setup.feed, minutesAgo(9), "done");
    expect(await run(setup)).toMatchObject({ ...success, notes: [] });
    expect(await counts(setup)).toEqual([12, 0, 0]);
  });

  test.concurrent("fails a manual import if the marker is missing, unless forced", async () => {
    const setup = await createSetup('marker = "done"');
    const refused = await importFrom(setup, setup.feed);
    expect(refused).toMatchObject(failure);
    expect(refused.reason).toContain(
      "the marker file done does not exist yet; use --force to import the feed as it is",
    );
    expect(await importFrom(setup, setup.feed, "--force")).toMatchObject(success);
  });

  test.concurrent("is skipped if its content has not changed, even if files were rewritten", async () => {
    const setup = await createSetup();
    await replaceFeed(setup, feedAs("csv.gz", "csv", "ndjson.zst"));
    expect(await importFeed(setup)).toMatchObject(success);
    await setTimes(setup.feed, minutesAgo(7), "pzlines.csv.gz", "pzstyles.csv");
    const rewritten = await importFeed(setup);
    await replaceFeed(setup, feedAs("csv.gz", "csv", "ndjson.zst"));
    const recompressed = await importFeed(setup);
    for (const same of [rewritten, recompressed]) {
      expect(same).toMatchObject(noChange);
      expect(same.notes).toEqual([expect.stringContaining("the feed has not changed since the last import")]);
    }
    expect(await importFrom(setup, setup.feed)).toMatchObject(noChange);
    expect(await counts(setup)).toEqual([0, 0, 0, 12]);
    const { code, stderr } = await rollback(setup);
    expect(stderr).toContain("nothing to roll back to for acme");
    expect(code).toBe(1);
  });

  test.concurrent("is imported if one byte changed but size and time did not", async () => {
    const setup = await createSetup();
    const at = minutesAgo(5);
    await setTimes(setup.feed, at, ...names);
    expect(await importFeed(setup)).toMatchObject(success);
    await writeFiles(setup.feed, { "pzlines.csv": linesWithStatus("Z") });
    await setTimes(setup.feed, at, ...names);
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await statusOf(setup)).toBe("Z");
  });

  test.concurrent.each([
    ["the delimiter", 'separator = ","'],
    ["the encoding", 'encoding = "utf-8"'],
    ["a column alias", 'aliases = { sku_id = ["Article"] }'],
  ])("is imported again after %s was configured", async (_, options) => {
    const setup = await createSetup();
    expect(await importFeed(setup)).toMatchObject(success);
    await configure(setup, options);
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await importFeed(setup)).toMatchObject(noChange);
  });

  test.concurrent("is not imported again after a rollback, unless forced or changed", async () => {
    const setup = await createSetup();
    expect(await importFeed(setup)).toMatchObject(success);
    await writeFiles(setup.feed, { "pzlines.csv": linesWithStatus("bad") });
    expect(await importFeed(setup)).toMatchObject(success);
    expect((await rollback(setup)).code).toBe(0);
    for (const again of [await run(setup), await importFrom(setup, setup.feed)]) {
      expect(again).toMatchObject(noChange);
      expect(again.notes.join()).toMatch(/since its import was rolled back; use --force to import it again/);
    }
    expect(await statusOf(setup)).toBe("I");
    expect(await importFrom(setup, setup.feed, "--force")).toMatchObject(success);
    expect(await statusOf(setup)).toBe("bad");
    expect((await rollback(setup)).code).toBe(0);
    await writeFiles(setup.feed, { "pzlines.csv": linesWithStatus("good") });
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await statusOf(setup)).toBe("good");
  });
});

const tagOf = (content: string | Uint8Array) => `"${Bun.hash(content)}"`;

interface WebFile extends StoredObject {
  readonly headers?: Readonly<Record<string, string>>;
}

interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  status: number;
}

type Web = Awaited<ReturnType<typeof startWeb>>;
type Validators = "tag" | "tag only" | "time" | "none";

/** A web server with files below `/feed/`. */
async function startWeb(validators: Validators = "tag", authorization?: string) {
  const origin = await startBreakableServer((received, response) => {
    const { method = "", url: path = "", headers } = received;
    const request: ReceivedRequest = { method, path, headers, status: 0 };
    web.requests.push(request);
    response.on("finish", () => {
      request.status = response.statusCode;
    });
    // Without validators, a look is a HEAD and then a GET.
    const isFirstOfTwo = method === "HEAD" && validators === "none";
    const isCounted = (earlier: ReceivedRequest) =>
      earlier.path === path && (validators !== "none" || earlier.method === "GET");
    const time = web.requests.filter(isCounted).length;
    if (authorization !== undefined && headers.authorization !== authorization) return response.writeHead(401).end();
    if (!isFirstOfTwo && web.intercept(path, time, response)) return;
    const file = web.files.get(decodeURIComponent(path.replace(/^\/feed\//, "")));
    if (file === undefined) return response.writeHead(404).end();
    const { content, changed = new Date("2024-01-01"), headers: more } = file;
    const sent = {
      ...((validators === "tag" || validators === "time") && { "Last-Modified": changed.toUTCString() }),
      ...(validators.startsWith("tag") && { ETag: tagOf(content) }),
      ...more,
      "Content-Length": Buffer.byteLength(content),
    };
    response.writeHead(200, sent).end(content);
  });
  const web = {
    source: `${origin}/feed/`,
    files: new Map<string, WebFile>(Object.entries(feedFiles).map(([name, content]) => [name, { content }])),
    /** The requests received so far; status 0 without a complete response. */
    requests: [] as ReceivedRequest[],
    /**
     * Called before each response, with the number of requests for this path. Returns true if it has
     * responded itself.
     */
    intercept: (_path: string, _time: number, _response: ServerResponse): boolean => false,
  };
  return web;
}

async function createWebSetup(options = "", ...[validators, authorization]: Parameters<typeof startWeb>) {
  const web = await startWeb(validators, authorization);
  const secret = authorization === undefined ? {} : { FEED_AUTHORIZATION: authorization };
  return { web, setup: await createSetup(options, web.source, secret) };
}

async function createBucketSetup(options = "", overrides: Environment = {}) {
  const store = await startStore();
  putFeed(store, "feeds/acme");
  return { store, setup: await createSetup(options, "s3://feeds/acme", { ...store.environment, ...overrides }) };
}

/** Sends the beginning of a file and closes the connection. */
function sendPartially(response: ServerResponse, content: string, headers: Record<string, string | number> = {}): true {
  response.writeHead(200, headers);
  response.write(content);
  setTimeout(() => response.socket?.destroy(), 50);
  return true;
}

/** The paths of complete responses. */
const completePaths = ({ requests }: Web) =>
  requests.filter(({ method, status }) => method === "GET" && status === 200).map(({ path }) => path);

const putFeed = (store: Store, folder: string, files: Files = feedFiles) => {
  for (const [name, content] of Object.entries(files)) store.objects.set(`${folder}/${name}`, { content });
};

const tooLarge = /larger than MAX_FILE_MEGABYTES allows \(1 MB\)$/;
// More blank lines in a row are refused for themselves.
const blank = "\n".repeat(600_000);
const large = [feedFiles["pzlines.csv"], "CUP,NOTE,1,A", ""].join(blank);
const bomb = gzipSync(large);

/** Sends a file without its length, and more than its limit. */
function sendOnAndOn(response: ServerResponse): true {
  response.writeHead(200, { "Last-Modified": new Date(0).toUTCString() });
  const timer = setInterval(() => response.write(blank), 1);
  response.on("close", () => clearInterval(timer));
  return true;
}

/** A place of feeds, with the feed's files in it. */
interface Place {
  /** Ends with a slash. */
  readonly source: string;
  readonly environment: Environment;
  put(files: Files, changed?: Date): Promise<unknown>;
  remove(...names: string[]): Promise<unknown>;
  /** Responds to each download of a file, unless it returns false, where there is something between. */
  readonly answer?: (name: string, reply: (response: ServerResponse) => boolean) => void;
}

/** The files of a server as those of a place. */
const within = (files: Map<string, StoredObject>, folder = ""): Pick<Place, "put" | "remove"> => ({
  put: async (added, changed) => {
    for (const [name, content] of Object.entries(added))
      files.set(folder + name, { content, ...(changed && { changed }) });
  },
  remove: async (...names) => {
    for (const name of names) files.delete(folder + name);
  },
});

const remotePlaces: Readonly<Record<string, () => Promise<Place>>> = {
  "on a web server": async () => {
    const web = await startWeb();
    return {
      ...{ source: web.source, environment: {}, ...within(web.files) },
      answer: (name, reply) => {
        web.intercept = (path, _, response) => path.endsWith(name) && response.req.method === "GET" && reply(response);
      },
    };
  },
  "in a bucket": async () => {
    const store = await startStore();
    putFeed(store, "feeds/acme");
    return {
      ...{ source: "s3://feeds/acme/", environment: store.environment, ...within(store.objects, "feeds/acme/") },
      answer: (name, reply) => {
        store.intercept = ({ method, url }, response) =>
          method === "GET" && `${url}`.includes(`${name}?`) && reply(response);
      },
    };
  },
};

const places: typeof remotePlaces = {
  ...remotePlaces,
  "in a folder": async () => {
    const folder = await writeFeed(await temporaryFolder(), "feed");
    return {
      source: `${folder}/`,
      environment: {},
      put: (files) => writeFiles(folder, files),
      remove: (...names) => Promise.all(names.map((name) => rm(join(folder, name)))),
    };
  },
};

describe.each(Object.entries(places))("a feed %s", (_, open) => {
  test.concurrent("can be imported manually, whether its address ends with a slash or not", async () => {
    const place = await open();
    const setup = await createSetup("", undefined, place.environment);
    expect(await importFrom(setup, place.source)).toMatchObject(success);
    expect(await importFrom(setup, place.source.slice(0, -1))).toMatchObject(noChange);
    expect(await importFrom(setup, place.source, "--force")).toMatchObject(success);
  });

  test.concurrent("is rejected if a file is missing", async () => {
    const place = await open();
    const setup = await createSetup("", place.source, place.environment);
    await place.remove("pzchoices.csv");
    const { reason, ...failed } = await importFeed(setup);
    expect(failed).toMatchObject(failure);
    expect(reason).toStartWith(place.source.slice(0, -1));
    expect(reason).toMatch(/: file not found: expected one of pzchoices\.csv, .+, pzchoices\.ndjson\.zst/);
    await configure(setup, 'files = { pzchoices = "wanted.csv" }');
    expect((await importFeed(setup)).reason).toEndWith(": file not found: expected wanted.csv");
  });

  test.concurrent("is not imported beyond the limit of a file's size, told or not, compressed or not", async () => {
    const place = await open();
    const setup = await createSetup("", place.source, { ...place.environment, MAX_FILE_MEGABYTES: "1" });
    const expectTooLarge = async () => {
      const { reason, ...failed } = await run(setup);
      expect(failed).toMatchObject(failure);
      expect(reason).toMatch(tooLarge);
      expect(reason).toStartWith(`${place.source}pzlines.csv`);
    };
    await place.put({ "pzlines.csv": large });
    await expectTooLarge();
    if (place.answer !== undefined) {
      let downloads = 0;
      place.answer("pzlines.csv", (response) => {
        downloads++;
        return sendOnAndOn(response);
      });
      await expectTooLarge();
      // It is no fault of the network that another attempt would mend.
      expect(downloads).toBeLessThanOrEqual(3);
      place.answer("pzlines.csv", () => true);
    }
    await place.remove("pzlines.csv");
    await place.put({ "pzlines.csv.gz": bomb });
    await expectTooLarge();
    const unlimited = { ...setup, environment: { ...setup.environment, MAX_FILE_MEGABYTES: "0" } };
    expect((await run(unlimited)).reason ?? "").not.toMatch(tooLarge);
    await place.remove("pzlines.csv.gz");
  });
});

describe.each(Object.entries(remotePlaces))("a feed %s", (_, open) => {
  test.concurrent("is imported only when the marker exists and is not older", async () => {
    const place = await open();
    const setup = await createSetup('marker = "done"', place.source, place.environment);
    const withoutMarker = await run(setup);
    expect(withoutMarker).toMatchObject(noChange);
    expect(withoutMarker.notes.join()).toContain(`${place.source}: the marker file done does not exist yet`);
    await place.put({ done: "" }, new Date("2023-12-31"));
    const withOldMarker = await run(setup);
    expect(withOldMarker).toMatchObject(noChange);
    expect(withOldMarker.notes.join()).toContain(`the marker file done is older than ${place.source}pzlines.csv`);
    // Of the same second.
    await place.put({ done: "" });
    expect(await run(setup)).toMatchObject(success);
    // A new marker does not make a new feed.
    await place.put({ done: "again" }, new Date("2024-01-03"));
    expect(await run(setup)).toMatchObject(noChange);
  });

  test.concurrent.each(["pzlines.csv", "pzchoices.csv"])(
    "is refused if its lines change before %s is sent",
    async (name) => {
      const place = await open();
      const setup = await createSetup("", place.source, place.environment);
      place.answer?.(name, () => {
        void place.put({ "pzlines.csv": linesWithStatus("new") });
        return false;
      });
      expect(await run(setup)).toMatchObject({ ...failure, reason: changed(`${place.source}pzlines.csv`) });
      expect(await run(setup)).toMatchObject({ ...success, notes: [] });
      expect(await statusOf(setup)).toBe("new");
    },
  );

  const failures: [string, RegExp, (response: ServerResponse) => unknown][] = [
    ["fails", /: (500 Internal Server Error|status 500)$/, (response) => response.writeHead(500).end("no")],
    ["closes the connection", /: (ECONNRESET: )?.*closed/, (response) => response.socket?.destroy()],
    [
      "sends fewer bytes than announced",
      /: .*(closed|of \d+ bytes)/,
      (response) => sendPartially(response, "sku_id,", headersOfLines),
    ],
  ];
  const headersOfLines = {
    ETag: tagOf(feedFiles["pzlines.csv"]),
    "Last-Modified": new Date("2024-01-01").toUTCString(),
    "Content-Length": Buffer.byteLength(feedFiles["pzlines.csv"]),
  };

  test.concurrent.each(failures)("is not imported if the server %s every time", async (_, message, fail) => {
    const place = await open();
    const setup = await createSetup("", undefined, place.environment);
    expect(await importFeed(setup)).toMatchObject(success);
    await configure(setup, "", place.source);
    await place.put({ "pzchoices.csv": feedFiles["pzchoices.csv"].replace("Serif", "Sans Serif") });
    place.answer?.("pzlines.csv", (response) => {
      fail(response);
      return true;
    });
    const { reason, ...failed } = await importFeed(setup);
    expect(failed).toMatchObject(failure);
    expect(reason).toStartWith(`${place.source}pzlines.csv: `);
    expect(reason).toMatch(message);
    expect(await statusOf(setup)).toBe("I");
    expect((await rollback(setup)).code).toBe(1);
  });
});

describe.each(["in a folder", "in a bucket"])("a feed %s", (place) => {
  test.concurrent.each([
    ["pzlines.csv", "csv.gz"],
    ["pzlines.csv", "ndjson"],
    ["pzchoices.csv", "csv.zst"],
  ] as const)("is rejected if %s also exists as %s", async (name, ending) => {
    const at = (await places[place]?.()) as Place;
    const setup = await createSetup("", at.source, at.environment);
    const other = name.replace("csv", ending);
    await at.put({ [other]: writers[ending]?.(feedFiles[name]) ?? "" });
    const { reason, ...failed } = await importFeed(setup);
    expect(failed).toMatchObject(failure);
    expect(reason).toContain(`found ${at.source}${name} and ${at.source}${other}; keep only one of them`);
  });
});

describe("a feed on a web server", () => {
  test.concurrent("is requested with the configured secret, which is never shown", async () => {
    const secret = "Bearer hush-0123456789";
    const { web, setup } = await createWebSetup("", "tag", secret);
    const taken = await runProcess(setup);
    expect(taken).toMatchObject(success);
    const refused = await runProcess(setup, { FEED_AUTHORIZATION: "Bearer hush-wrong" });
    expect(refused).toMatchObject({ ...failure, reason: `${web.source}pzlines.csv: 401 Unauthorized` });
    expect(web.requests.filter(({ status }) => status === 401)).toHaveLength(2);
    const commands = [["config"], ["config", "--json"], ["jobs", "--json"], ["history", "--json"]];
    const shown = await Promise.all(commands.map((command) => pds(command, setup.environment)));
    for (const { stdout, stderr } of [taken, refused, ...shown]) expect(stdout + stderr).not.toContain("hush");
  });

  test.concurrent.each(["tag", "tag only", "time"] as const)(
    "is not sent again if it is unchanged by its %s, and is sent completely after a change",
    async (validators) => {
      const { web, setup } = await createWebSetup("", validators);
      expect(await importFeed(setup)).toMatchObject(success);
      web.requests.length = 0;
      const same = await importFeed(setup);
      expect(same).toMatchObject(noChange);
      expect(same.notes).toEqual([`${web.source}: skipped: the feed has not changed since the last import`]);
      expect(web.requests.map(({ method }) => method)).toEqual(["HEAD", "HEAD", "HEAD"]);

      web.requests.length = 0;
      web.files.set("pzlines.csv", { content: linesWithStatus("new"), changed: new Date("2024-01-02") });
      expect(await importFeed(setup)).toMatchObject(success);
      expect(new Set(completePaths(web))).toEqual(new Set(names.map((name) => `/feed/${name}`)));
      expect(await statusOf(setup)).toBe("new");
      expect(await importFeed(setup)).toMatchObject(noChange);
    },
  );

  const [before, after] = [
    { content: linesWithStatus("Y"), changed: new Date("2024-01-02"), headers: { ETag: '"1"' } },
    { content: linesWithStatus("Z"), changed: new Date("2024-01-01"), headers: { ETag: '"1"' } },
  ];
  test.concurrent.each<[string, Validators, WebFile]>([
    ["an older file", "time", { ...after, headers: {} }],
    ["one of the same tag and another time", "tag", after],
    ["one of the same tag and another length", "tag only", { ...after, content: `${after.content}\n` }],
  ])("is imported again when %s replaces the lines", async (_, validators, replacement) => {
    const { web, setup } = await createWebSetup("", validators);
    web.files.set("pzlines.csv", validators === "time" ? { ...before, headers: {} } : before);
    expect(await importFeed(setup)).toMatchObject(success);
    web.files.set("pzlines.csv", replacement);
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await statusOf(setup)).toBe("Z");
  });

  test.concurrent.each([202, 203, 206])(
    "is refused with a status that is not that of a whole file: %d",
    async (status) => {
      const { web, setup } = await createWebSetup();
      web.intercept = (path, _, response) => {
        if (!path.endsWith("pzlines.csv")) return false;
        response.writeHead(status, { ETag: '"1"', "Last-Modified": new Date(0).toUTCString() });
        response.end(feedFiles["pzlines.csv"]);
        return true;
      };
      expect(await importFeed(setup)).toMatchObject({
        ...failure,
        reason: expect.stringContaining(`pzlines.csv: ${status} `),
      });
    },
  );

  test.concurrent("is recognized by its content without an entity tag or a time", async () => {
    const { web, setup } = await createWebSetup("", "none");
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await importFeed(setup)).toMatchObject(noChange);
    web.files.set("pzlines.csv", { content: linesWithStatus("Z") });
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await counts(setup)).toEqual([12, 0, 12]);
  });

  test.concurrent("is a different feed at another address, even with older files", async () => {
    const { setup } = await createWebSetup("", "time");
    const other = await startWeb("time");
    for (const name of names) {
      const content = name === "pzlines.csv" ? linesWithStatus("other") : contentOf(name);
      other.files.set(name, { content, changed: new Date("2023-01-01") });
    }
    expect(await importFeed(setup)).toMatchObject(success);
    await configure(setup, "", other.source);
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await statusOf(setup)).toBe("other");
  });

  test.concurrent("is the last download, even if an aborted one was longer", async () => {
    const { web, setup } = await createWebSetup("", "none");
    const longer = `${linesWithStatus("old")}${"ROW,NOTE,1,A\n".repeat(50)}`;
    web.intercept = (path, time, response) =>
      path.endsWith("pzlines.csv") && time === 2 && sendPartially(response, longer, { "Content-Length": 9999 });
    expect(await importFeed(setup)).toMatchObject(success);
  });

  test.concurrent.each(["tag", "tag only", "none"] as const)(
    "must not change for settle_seconds, also if it seems old or its age is unknown, with validators: %s",
    async (validators) => {
      const { web, setup } = await createWebSetup("settle_seconds = 0.1", validators);
      web.files.set("pzlines.csv", { content: linesWithStatus("new") });
      let linesSeen = 0;
      // The styles arrive late: after the last file was requested twice.
      web.intercept = (path, time) => {
        if (path.endsWith("pzlines.csv")) linesSeen = time;
        if (path.endsWith("pzchoices.csv") && time === 2)
          web.files.set("pzstyles.csv", { content: `${feedFiles["pzstyles.csv"]}S,A,1,X,\n` });
        return false;
      };
      expect(await run(setup)).toMatchObject({ ...failure, reason: changed(`${web.source}pzstyles.csv`) });
      // The lines change during the wait, which is before they are requested again.
      const changesAt = linesSeen + 2;
      web.intercept = (path, time) => {
        if (path.endsWith("pzlines.csv") && time === changesAt)
          web.files.set("pzlines.csv", { content: linesWithStatus("Z") });
        return false;
      };
      const { notes, ...left } = await run(setup);
      expect(left).toMatchObject(noChange);
      expect(notes).toEqual([expect.stringContaining(`${web.source}pzlines.csv is still being written`)]);
      expect(await run(setup)).toMatchObject({ code: 0, counts: 13, notes: [] });
      expect(await statusOf(setup)).toBe("Z");
    },
  );

  test.concurrent.each(["tag", "time", "none"] as const)(
    "is refused if a file is replaced during its download, with validators: %s",
    async (validators) => {
      const { web, setup } = await createWebSetup("", validators);
      // Both have the same size, and the half of each is a valid file.
      const [old, replaced] = [linesWithStatus("A"), linesWithStatus("B").replace("NOTE,010", "NOTE,011")];
      const half = old.indexOf("A/B é+");
      web.files.set("pzlines.csv", { content: old });
      web.intercept = (path, time, response) => {
        if (!path.endsWith("pzlines.csv") || time !== 2) return false;
        web.files.set("pzlines.csv", { content: replaced, changed: new Date("2023-01-01") });
        response.writeHead(200, {
          ...(validators === "tag" && { ETag: tagOf(old) }),
          ...(validators !== "none" && { "Last-Modified": new Date("2024-01-01").toUTCString() }),
        });
        response.end(old.slice(0, half) + replaced.slice(half));
        return true;
      };
      expect(await importFeed(setup)).toMatchObject({ ...failure, reason: changed(`${web.source}pzlines.csv`) });
      expect(await importFeed(setup)).toMatchObject(success);
      expect(await statusOf(setup)).toBe("B");
    },
  );

  test.concurrent("is refused if a response does not say that it is of the version that was found", async () => {
    const { web, setup } = await createWebSetup();
    web.intercept = (path, time, response) => {
      if (!path.endsWith("pzlines.csv") || time === 1) return false;
      response.end(linesWithStatus("new"));
      return true;
    };
    expect(await importFeed(setup)).toMatchObject({ ...failure, reason: changed(`${web.source}pzlines.csv`) });
  });

  /** Responds as servers in turn, each with entity tags of its own. */
  const balance = (web: Web, nodes: number, contentOf: (name: string, node: number) => string) => {
    web.intercept = (path, _, response) => {
      const node = web.requests.length % nodes;
      const content = contentOf(path.slice("/feed/".length), node);
      response.writeHead(200, { ETag: `"${Bun.hash(content)}-${node}"`, "Content-Length": Buffer.byteLength(content) });
      response.end(content);
      return true;
    };
  };
  test.concurrent.each([
    [2, 0],
    [2, 0.1],
    [5, 0.1],
    // A new tag with each response.
    [1e9, 0],
    [1e9, 0.1],
  ])(
    "is imported, with a note, if %d servers in turn have different entity tags for it, settled after %p s",
    async (nodes, settleSeconds) => {
      const { web, setup } = await createWebSetup(`settle_seconds = ${settleSeconds}`);
      balance(web, nodes, contentOf);
      const { notes, ...taken } = await run(setup);
      expect(taken).toMatchObject(success);
      expect(notes.join("\n")).toContain(`${web.source}pzlines.csv: the same content has different entity tags`);
      web.requests.length = 0;
      expect(await run(setup)).toMatchObject(noChange);
      // Found by its content, once.
      expect(web.requests).toHaveLength(3);
      balance(web, nodes, (name) => (name === "pzlines.csv" ? linesWithStatus("new") : contentOf(name)));
      expect(await run(setup)).toMatchObject(success);
      expect(await statusOf(setup)).toBe("new");
    },
  );

  test.concurrent("is imported from a server whose responses to HEAD have other headers", async () => {
    const { web, setup } = await createWebSetup();
    web.intercept = (_, __, response) => {
      if (response.req.method === "HEAD") response.writeHead(200, { ETag: '"head"' }).end();
      return response.req.method === "HEAD";
    };
    expect(await run(setup)).toMatchObject(success);
    expect(await run(setup)).toMatchObject(noChange);
    web.files.set("pzlines.csv", { content: linesWithStatus("new") });
    expect(await run(setup)).toMatchObject(success);
  });

  test.concurrent("is refused if each response ends before the length that HEAD promised", async () => {
    const { web, setup } = await createWebSetup();
    const whole = linesWithStatus("new");
    const cut = whole.slice(0, whole.lastIndexOf("\n", whole.length - 2) + 1);
    web.intercept = (path, _, response) => {
      if (!path.endsWith("pzlines.csv")) return false;
      if (response.req.method === "HEAD")
        response.writeHead(200, { ETag: '"1"', "Content-Length": whole.length }).end();
      // Without a length, the client cannot tell.
      else response.writeHead(200, { ETag: '"1"' }).end(cut);
      return true;
    };
    const reason = `${web.source}pzlines.csv: received ${cut.length} bytes of ${whole.length} that HEAD promised`;
    expect(await run(setup)).toMatchObject({ ...failure, reason });
  });

  test.concurrent("is refused if servers in turn have different contents", async () => {
    const { web, setup } = await createWebSetup();
    balance(web, 2, (name, node) => (node === 1 && name === "pzlines.csv" ? linesWithStatus("new") : contentOf(name)));
    expect(await run(setup)).toMatchObject({ ...failure, reason: changed(`${web.source}pzlines.csv`) });
    await configure(setup, "settle_seconds = 0.1");
    const { notes, ...left } = await run(setup);
    expect(left).toMatchObject(noChange);
    expect(notes.join()).toContain("pzlines.csv is still being written, or the servers have different contents");
  });

  const packed = feedAs("csv.gz", "ndjson.zst", "ndjson.gz");
  test.concurrent.each<[string, Files, (name: string) => string | undefined]>([
    [
      "under the names of plain files, as buckets store it with a content encoding",
      {
        ...feedFiles,
        "pzlines.csv": gzipSync(contentOf("pzlines.csv")),
        "pzstyles.csv": zstdCompressSync(contentOf("pzstyles.csv")),
      },
      (name) => ({ "pzlines.csv": "gzip", "pzstyles.csv": "zstd" })[name],
    ],
    // Some servers mistake the extension for a content encoding.
    ["as stored", packed, (name) => (name.endsWith(".gz") ? "gzip" : undefined)],
  ])("is decompressed %s", async (_, files, encodingOf) => {
    const { web, setup } = await createWebSetup();
    web.files.clear();
    for (const [name, content] of Object.entries(files)) {
      const encoding = encodingOf(name);
      web.files.set(name, { content, ...(encoding !== undefined && { headers: { "Content-Encoding": encoding } }) });
    }
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await statusOf(setup)).toBe("I");
    for (const { headers } of web.requests) expect(headers["accept-encoding"]).toBe("identity");
    expect(await importFeed(setup)).toMatchObject(noChange);
  });

  test.concurrent("follows redirects without sending the secret to another host", async () => {
    const secret = "Bearer hush-0123456789";
    const elsewhere = await startWeb();
    const { web, setup } = await createWebSetup("", "tag", secret);
    web.intercept = (path, _, response) => {
      const place = path.endsWith("pzlines.csv") ? path.replace("/feed/", "/moved/") : undefined;
      if (path.endsWith("pzstyles.csv")) response.writeHead(302, { Location: `${elsewhere.source}pzstyles.csv` });
      else if (place !== undefined && path.startsWith("/feed/")) response.writeHead(307, { Location: place });
      else return false;
      response.end();
      return true;
    };
    web.files.set("/moved/pzlines.csv", { content: linesWithStatus("moved") });
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await statusOf(setup)).toBe("moved");
    expect(completePaths(elsewhere)).toContain("/feed/pzstyles.csv");
    for (const { headers } of elsewhere.requests) expect(headers).not.toHaveProperty("authorization");
    expect(await importFeed(setup)).toMatchObject(noChange);
  });

  test.concurrent.each([
    ["http://feeds.example/acme/", /expected https:\/\/ or s3:\/\/ \(http:\/\/ is only valid for this machine\)/],
    ["http://127.0.0.1.feeds.example/", /expected https:\/\/ or s3:\/\//],
    ["https://acme:hush@feeds.example/", /without user, password, query or fragment; .*FEED_AUTHORIZATION/],
    ["https://feeds.example/acme/?token=hush", /without user, password, query or fragment/],
    ["https://feeds.example/acme/#hush", /without user, password, query or fragment/],
    ["ftp://feeds.example/acme/", /expected https:\/\/ or s3:\/\//],
    ["s3:///acme/", /expected .*s3:\/\/BUCKET\/PREFIX/],
    ["https://", /expected .*https:\/\/HOST\/PATH/],
  ])("is rejected as %p, without repeating a secret in it", async (source, message) => {
    const setup = await createSetup("", source);
    const configured = await runProcess(setup);
    expect(configured.code).toBe(2);
    expect(configured.stderr).toContain(`${setup.environment.PDS_CONFIG}:2:1: jobs.personalization-import.source: `);
    const environment = { ...setup.environment, PDS_CONFIG: "/dev/null" };
    const byHand = await pds(["import", "personalization", source], environment);
    expect(byHand.code).toBe(2);
    for (const { stdout, stderr } of [configured, byHand]) {
      expect(stderr).toMatch(message);
      expect(stdout).toBe("");
      expect(stderr).not.toContain("hush");
    }
  });
});

describe("a feed in a bucket", () => {
  test.concurrent.each([
    ["s3://feeds", "feeds"],
    ["s3://feeds/", "feeds"],
    ["s3://feeds/a/b é", "feeds/a/b é"],
    ["s3://feeds/a/b+c/", "feeds/a/b+c"],
  ])("is imported from %p, and not downloaded again if unchanged", async (source, folder) => {
    const store = await startStore();
    putFeed(store, folder, feedAs("csv", "csv.gz", "ndjson.zst"));
    const setup = await createSetup("", source, store.environment);
    expect(await importFeed(setup)).toMatchObject({ ...success, notes: [] });
    expect(await statusOf(setup)).toBe("I");
    store.requests.length = 0;
    expect(await importFeed(setup)).toMatchObject(noChange);
    expect(store.requests.filter((request) => !request.startsWith("HEAD "))).toEqual([]);
    store.objects.set(`${folder}/pzlines.csv`, { content: linesWithStatus("new") });
    expect(await importFeed(setup)).toMatchObject(success);
    expect(await statusOf(setup)).toBe("new");
    expect(await counts(setup)).toEqual([12, 0, 12]);
  });

  test.concurrent("is refused if a response does not say that it is of the version that was found", async () => {
    const { store, setup } = await createBucketSetup();
    store.intercept = ({ method, url }, response) => {
      const isSent = method === "GET" && `${url}`.includes("pzlines.csv?");
      if (isSent) response.end(linesWithStatus("new"));
      return isSent;
    };
    expect(await run(setup)).toMatchObject({ ...failure, reason: changed("s3://feeds/acme/pzlines.csv") });
  });

  test.concurrent.each([
    ["the store's clock is behind", { Date: new Date("2024-01-01T00:00:00Z").toUTCString() }],
    ["the store does not say when it changed", { "Last-Modified": "" }],
    ["its time is when the upload began, as for a large object", {}],
  ])("must not change for settle_seconds if %s", async (_, headers) => {
    const { store, setup } = await createBucketSetup("settle_seconds = 0.1");
    let looks = 0;
    store.intercept = ({ method, url }, response) => {
      if (method === "HEAD" && `${url}`.includes("pzlines.csv?") && ++looks === 2)
        store.objects.set("feeds/acme/pzlines.csv", { content: linesWithStatus("new") });
      const { writeHead } = response;
      response.writeHead = ((status: number, more: Record<string, string>) =>
        writeHead.call(response, status, { ...more, ...headers })) as typeof writeHead;
      return false;
    };
    const { notes, ...left } = await run(setup);
    expect(left).toMatchObject(noChange);
    expect(notes).toEqual([expect.stringContaining("s3://feeds/acme/pzlines.csv is still being written")]);
    expect(await run(setup)).toMatchObject({ ...success, notes: [] });
    expect(await statusOf(setup)).toBe("new");
  });

  const credentialErrors: [string, Environment, RegExp][] = [
    [
      "another secret",
      { S3_SECRET_ACCESS_KEY: "hush-hush" },
      /^s3:\/\/feeds\/acme\/pzlines\.csv\S*: SignatureDoesNotMatch/,
    ],
    ["an unknown key", { S3_ACCESS_KEY_ID: "AKIDHUSH" }, /: InvalidAccessKeyId/],
    ["another region", { S3_REGION: "elsewhere" }, /: AuthorizationHeaderMalformed/],
    ["no credentials", { S3_ACCESS_KEY_ID: "", S3_SECRET_ACCESS_KEY: "" }, /: ERR_S3_MISSING_CREDENTIALS/],
  ];

  test.concurrent.each(credentialErrors)(
    "fails with %s, showing the store's reason but no secret",
    async (_, overrides, message) => {
      const { store, setup } = await createBucketSetup("", overrides);
      const { reason, ...failed } = await runProcess(setup);
      expect(failed).toMatchObject(failure);
      expect(reason).toMatch(message);
      const shown = await Promise.all(
        ["config", "jobs", "history"].map((command) => pds([command, "--json"], setup.environment)),
      );
      for (const { stdout, stderr } of [failed, ...shown]) {
        expect(stdout + stderr).not.toMatch(/hush/i);
        expect(stdout + stderr).not.toContain(store.environment.S3_SECRET_ACCESS_KEY);
      }
    },
  );

  test.concurrent("is not imported if the store refuses without end", async () => {
    const { store, setup } = await createBucketSetup();
    store.intercept = ({ method }, response) => {
      response.writeHead(503);
      if (method === "HEAD") {
        response.end();
        return true;
      }
      response.write("<Error><Code>SlowDown</Code>");
      const timer = setInterval(() => response.write(" ".repeat(1000)), 1);
      response.on("close", () => clearInterval(timer));
      return true;
    };
    const { reason, ...failed } = await importFeed(setup);
    expect(failed).toMatchObject(failure);
    // All names that the file may have are looked for at once.
    expect(reason).toMatch(/^s3:\/\/feeds\/acme\/pzlines\.\S+: SlowDown$/);
  });
});

/** Starts the job. */
const startJob = ({ environment }: Setup) => begin(["run", "personalization-import"], environment);

/** Makes a web server send the beginning of a file and then nothing. */
function stallDownload(web: Web): void {
  web.intercept = (path, time, response) => {
    if (!path.endsWith("pzstyles.csv") || time < 2) return false;
    const content = feedFiles["pzstyles.csv"];
    response.writeHead(200, { "Content-Length": content.length, ETag: tagOf(content) });
    response.write(content.slice(0, 40));
    return true;
  };
}

describe("a download", () => {
  test.concurrent("is removed if the run is stopped", async () => {
    const { web, setup } = await createWebSetup();
    stallDownload(web);
    const child = startJob(setup);
    await until(
      "the download starts",
      async () => (await listDownloads(setup)).length > 0 && web.requests.at(-1)?.status === 0,
    );
    child.kill("SIGTERM");
    expect(await child.exited).toBe(1);
    expect(await child.stderr.text()).toContain("stopped by SIGTERM");
    expect(await readdir(setup.temporary)).toEqual([]);
    expect(await counts(setup)).toEqual([0]);
  });

  test.concurrent("of a killed run is removed by the next run", async () => {
    const { web, setup } = await createWebSetup();
    stallDownload(web);
    const child = startJob(setup);
    await until("the download starts", async () => (await listDownloads(setup)).length > 0);
    await killRun(child, setup.environment.DATABASE_URL);
    const [left = ""] = await listDownloads(setup);
    expect(left).toMatch(/^pds-feed-\d+-/);
    // Its parent is dead too, so it exists until the system reaps it.
    const worker = Number(left.split("-")[2]);
    await until("the worker has exited", () => {
      try {
        return !process.kill(worker, 0);
      } catch {
        return true;
      }
    });
    const recent = `pds-feed-${process.pid}-ours`;
    const strange = "pds-feed-of-somebody";
    for (const folder of [recent, strange]) await mkdir(join(setup.temporary, folder));
    web.intercept = () => false;
    expect(await runProcess(setup)).toMatchObject(success);
    expect((await listDownloads(setup)).sort()).toEqual([recent, strange].sort());
  });
});

test.concurrent("a run stops on a signal even while the store does not respond", async () => {
  const { store, setup } = await createBucketSetup();
  store.intercept = () => true;
  const child = startJob(setup);
  await until("a request arrives", () => store.requests.length > 0);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(1);
  expect(await child.stderr.text()).toContain("stopped by SIGTERM");
});

test.concurrent("a file of products beyond the limit of its size is not imported, compressed or not", async () => {
  const { folder, environment } = await createSetup("", undefined, { MAX_FILE_MEGABYTES: "1" });
  const product = toJson(toProduct(1));
  const largeProducts = [product, product, ""].join(blank);
  const files = { "products.ndjson": largeProducts, "products.ndjson.gz": gzipSync(largeProducts) };
  for (const path of await writeFiles(folder, files)) {
    const { reason, ...failed } = toReport(await importHere(["import", "products", path, "--json"], environment));
    expect(failed).toMatchObject(failure);
    expect(reason).toMatch(tooLarge);
    expect(reason).toStartWith(path);
  }
});

test.concurrent("a store that redirects to a metadata address gets nothing there", async () => {
  const { store, setup } = await createBucketSetup();
  store.intercept = (_, response) => {
    response.writeHead(307, { Location: "http://169.254.169.254/latest/" }).end();
    return true;
  };
  expect((await run(setup)).reason).toMatch(/^s3:\/\/feeds\/acme\/pzlines\.csv\S*: status 307$/);
  const elsewhere = { ...setup.environment, S3_ENDPOINT: "http://169.254.169.254" };
  expect((await run({ ...setup, environment: elsewhere })).reason).toContain("nothing is sent there");
});

test("every import of this process has removed its downloads", async () => {
  expect((await readdir(tmpdir())).filter((name) => name.startsWith(`pds-feed-${process.pid}-`))).toEqual([]);
});

test("jobs trust the authorities of SSL_CERT_FILE, also those that the scheduler starts", async () => {
  const tls = { key: certificateKey, cert: certificate };
  const { port } = new URL(startServer(({ url }) => new Response(contentOf(new URL(url).pathname.slice(1))), { tls }));
  const setup = await createSetup('schedule = "@yearly"', `https://localhost:${port}/`);
  const refused = await pds(runArguments, setup.environment);
  expect(toReport(refused).reason).toEndWith(": self signed certificate");
  const [SSL_CERT_FILE = ""] = await writeFiles(setup.folder, { "authority.pem": certificate });
  // Another brand, whose first run is due.
  await using _service = await serve({ ...setup.environment, BRAND: "other", SSL_CERT_FILE });
  await until("the feed is loaded", async () => {
    const { pzlines } = await readPersonalization(setup.environment.DATABASE_URL, "other", "MUG");
    return pzlines.length > 0;
  });
});
