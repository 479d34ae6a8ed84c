import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { constants, createDeflateRaw, gzipSync, zstdCompressSync } from "node:zlib";
import { feedFiles, toNdjson, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  begin,
  connectTo,
  createStore,
  engines,
  type Finished,
  isCampaign,
  serveWithAndWithoutCache,
  temporaryFolder,
} from "../support/pds.ts";

const megabyte = 1024 * 1024;
const maxRowsOfGroup = 100_000;
const longLineBytes = 1024 * megabyte;
/** An uncompressed gigabyte takes disk space and time, so only the campaign uses one. */
const plainLineBytes = isCampaign ? longLineBytes : 8 * megabyte;
const mostMemory = 300_000_000;

const folder = await temporaryFolder();
const environment = { DATABASE_URL: await createStore("sqlite"), BRAND: "acme" };
const { text } = await serveWithAndWithoutCache(environment);

/** A file's content, or a function that writes it. */
type Content = string | Uint8Array | ((path: string) => Promise<void>);
type Changes = Partial<Record<string, Content>>;

let feeds = 0;

/** Writes the valid feed with some lists' files replaced. @returns its folder */
async function feedWith(changes: Changes): Promise<string> {
  const replaced = Object.keys(changes).map((name) => name.split(".")[0]);
  const kept = Object.entries(feedFiles).filter(([name]) => !replaced.includes(name.split(".")[0]));
  const feed = await writeFeed(folder, `feed-${feeds++}`, Object.fromEntries(kept));
  for (const [name, content = ""] of Object.entries(changes)) {
    const path = join(feed, name);
    if (typeof content === "function") await content(path);
    else await Bun.write(path, content);
  }
  return feed;
}

/** Imports the valid feed with these changes. */
async function importWith(changes: Changes, ...options: string[]): Promise<Finished> {
  const feed = await feedWith(changes);
  const finished = await importHere(["import", "personalization", feed, ...options], environment);
  await rm(feed, { recursive: true });
  return finished;
}

/** Whether the import could take much memory. */
const isLarge = (changes: Changes) =>
  Object.values(changes).some((content = "") => typeof content === "function" || content.length > megabyte / 2);

/** Imports the valid feed with these changes in a process of its own, to measure its memory. */
async function importMeasured(changes: Changes): Promise<Finished & { readonly memory: number }> {
  const feed = await feedWith(changes);
  const child = begin(["import", "personalization", feed], environment);
  const [stdout, stderr, code, memory] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
    peakMemory(child),
  ]);
  await rm(feed, { recursive: true });
  return { code, stdout, stderr, memory };
}

/** In bytes. On Linux, the resource usage of a process includes its parent's memory at the fork. */
async function peakMemory(child: Bun.Subprocess): Promise<number> {
  if (process.platform !== "linux") return child.exited.then(() => child.resourceUsage()?.maxRSS ?? Number.NaN);
  let peak = 0;
  while (child.exitCode === null) {
    const status = await readFile(`/proc/${child.pid}/status`, "utf8").catch(() => "");
    peak = Math.max(peak, Number(status.match(/VmHWM:\s+(\d+) kB/)?.[1] ?? 0) * 1024);
    await Bun.sleep(5);
  }
  return peak;
}

const getPersonalization = (sku: string) => text(`/api/v1/products/pz/${encodeURIComponent(sku)}`);
const getPersonalizations = () => Promise.all(["MUG", "A/B é+"].map(getPersonalization));
const nothing = '{"pzlines":[],"pzstyles":[],"pzchoices":[]}';

/** Outcome and end of the last run. */
async function lastRun(): Promise<{ outcome: string; finished: string }> {
  await using store = await connectTo(environment.DATABASE_URL);
  const [run] = await store`SELECT outcome, finished_at AS finished FROM run ORDER BY id DESC LIMIT 1`;
  return run;
}

const { "pzlines.csv": lines, "pzstyles.csv": styles, "pzchoices.csv": choices } = feedFiles;
const [header = "", ...rows] = lines.trimEnd().split("\n");

/** Differs on each line, so that it stays large when compressed. */
const longLines = [
  header,
  ...Array.from({ length: 20_000 }, (_, index) => `SKU-${Bun.hash(`${index}`)},SCRIPT,${index},A`),
  "",
].join("\n");

async function* repeated(text: string, times: number): AsyncGenerator<Uint8Array> {
  const piece = Buffer.from(text);
  for (let written = 0; written < times; written++) yield piece;
}

const writing =
  (...parts: AsyncIterable<Uint8Array>[]) =>
  async (path: string) => {
    const writer = Bun.file(path).writer();
    for (const part of parts) {
      for await (const piece of part) {
        writer.write(piece);
        await writer.flush();
      }
    }
    await writer.end();
  };

/** A text, and then what is generated. */
const followed = (text: string, rest: AsyncIterable<Uint8Array>) => writing(repeated(text, 1), rest);

const manyAfter = (text: string, count: number, toRow: (index: number) => string) =>
  followed(text, manyRows(count, toRow));

const x = "x".repeat(megabyte);
const longLine = followed(lines, repeated(x, plainLineBytes / megabyte));

/** The same, compressed: one compressed megabyte that is repeated many times. */
async function writeLongLineCompressed(path: string): Promise<void> {
  const packer = createDeflateRaw();
  packer.write(lines);
  await new Promise<void>((resolve) => packer.flush(constants.Z_FULL_FLUSH, resolve));
  const before: Buffer = packer.read();
  packer.write(x);
  await new Promise<void>((resolve) => packer.flush(constants.Z_FULL_FLUSH, resolve));
  const piece: Buffer = packer.read();
  packer.destroy();
  const begin = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
  const end = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const pieces = Array.from({ length: longLineBytes / megabyte }, () => piece);
  await Bun.write(path, Buffer.concat([begin, before, ...pieces, end]));
}

const damaged = (bytes: Uint8Array) => {
  const copy = Buffer.from(bytes);
  const middle = copy.length >> 1;
  copy.fill(0xaa, middle, middle + 100);
  return copy;
};

const in1252 = (text: string) => Buffer.from(text, "latin1");

const lineObjects = toNdjson(lines);

/** An object with very many fields. */
async function* objectWithFields(count: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from("{");
  for (let start = 0; start < count; start += 10_000) {
    yield Buffer.from(Array.from({ length: 10_000 }, (_, index) => `"field${start + index}":"",`).join(""));
  }
  yield Buffer.from('"last":""}\n');
}

/** Many rows, each different. */
async function* manyRows(count: number, toRow: (index: number) => string): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < count; start += 10_000) {
    const length = Math.min(10_000, count - start);
    yield Buffer.from(Array.from({ length }, (_, index) => `${toRow(start + index)}\n`).join(""));
  }
}

/** Reverses and renames the columns. */
const reordered = (csv: string, rename: (name: string) => string) =>
  csv
    .split("\n")
    .map((row, index) =>
      row
        .split(",")
        .map((cell) => (index === 0 ? rename(cell) : cell))
        .reverse()
        .join(","),
    )
    .join("\n");

let expected: string[];
beforeAll(async () => {
  await importWith({});
  expected = await getPersonalizations();
  expect(expected).not.toContain(nothing);
});

describe("an import of personalization", () => {
  const notGzip = /: truncated or not valid gzip: .+/;
  const notZstd = /: truncated or not valid zstd: .+/;
  const tooLong = ": row longer than 1048576 characters; ";
  const tooMany = "begins here, and has more than 100000 rows or 4 MB\n";
  const isEmpty = ": the file is empty; expected the header";
  const ofLines: [what: string, content: Content, problem: string | RegExp][] = [
    [`a line of ${plainLineBytes / megabyte} megabytes`, longLine, `:5${tooLong}`],
    ["a NUL in a value", `${lines}A\0B,SCRIPT,1,A\n`, ':5: sku_id: contains a NUL character: "A\\u0000B,'],
    [
      "a duplicate column",
      lines.replace(",style_code,", ",style_code,Style_Code,"),
      ":1: the header has a duplicate column style_code (as style_code and Style_Code)\n",
    ],
    [
      "a hundred thousand columns",
      `${"c,".repeat(100_000)}\n`,
      /:1: the header is missing sku_id, .*; it has c, c, .{1,100}\n/,
    ],
    [
      "a row of a million delimiters",
      `${lines}${",".repeat(1_000_000)}\n`,
      /:5: has 1000001 fields, but the header has 4: ",,,,.{0,100}\n/,
    ],
    [
      "another list's content",
      styles,
      /:1: the header is missing sku_id, .*; it has style_code, line_status, .*; this looks like pzstyles\n/,
    ],
    [
      "no header",
      rows.join("\n"),
      ':1: no header: the first line is "MUG, SCRIPT, 10, A", expected sku_id, style_code, ',
    ],
    ["a file with only blank lines", "\n\r\n\n", `${isEmpty} sku_id, `],
    ["a repeated header", `${lines}${lines}`, ':5: repeats the header: "sku_id,'],
    ...["k", "😀"].map((character): [string, string, string] => [
      `a SKU of 256 characters such as ${character}`,
      `${lines}${character.repeat(256)},SCRIPT,1,A\n`,
      ":5: sku_id: is longer than 255 characters: ",
    ]),
    [
      "a style code that is too long",
      `${lines}MUG,${"é".repeat(1301)},1,A\n`,
      ":5: style_code: is longer than 2600 bytes in UTF-8: ",
    ],
    [
      "a SKU with too many rows",
      manyAfter(lines, maxRowsOfGroup + 1, (index) => `BIG,S${index},1,A`),
      `:5: sku_id "BIG" ${tooMany}`,
    ],
    [
      "a SKU with too many rows among others",
      manyAfter(lines, isCampaign ? 3_000_000 : 250_000, (index) => `${index % 2 ? "BIG" : index},S,1,A`),
      `:6: sku_id "BIG" ${tooMany}`,
    ],
    [
      "style codes that take too much memory",
      manyAfter(lines, 30_000, (index) => `SKU,${index}${"x".repeat(2500)},1,A`),
      /:\d+: too many different style codes: the \d+ so far take more than 64 MB\n/,
    ],
  ];
  test.each<[what: string, name: string, content: Content, problem: string | RegExp]>([
    ...ofLines.map(([what, content, problem]): [string, string, Content, string | RegExp] => [
      what,
      "pzlines.csv",
      content,
      problem,
    ]),
    [
      "a truncated gzip file",
      "pzlines.csv.gz",
      gzipSync(longLines).subarray(0, -1000),
      ": truncated or not valid gzip: unexpected end of file\n",
    ],
    ["a .gz file that is not gzip", "pzlines.csv.gz", `${lines}CUP,SCRIPT,1,A\n`, notGzip],
    ["an empty gzip file", "pzlines.csv.gz", "", notGzip],
    ["a damaged gzip file", "pzlines.csv.gz", damaged(gzipSync(longLines)), /: .+\n/],
    [
      "a gzip file with padding and then data",
      "pzlines.csv.gz",
      Buffer.concat([gzipSync(lines), new Uint8Array(1000), gzipSync(rows.join("\n"))]),
      ": truncated or not valid gzip: unexpected data after the end\n",
    ],
    ["a damaged zstd file", "pzlines.csv.zst", damaged(zstdCompressSync(longLines)), notZstd],
    ["a truncated zstd file", "pzlines.csv.zst", zstdCompressSync(longLines).subarray(0, -1000), notZstd],
    ["a .zst file that is gzip", "pzlines.csv.zst", gzipSync(lines), notZstd],
    ["a compressed line of a gigabyte", "pzlines.csv.gz", writeLongLineCompressed, `:5${tooLong}`],
    [
      "an empty file",
      "pzchoices.csv",
      "",
      new RegExp(`${isEmpty} choice_type, .*, so nothing was changed; use --force to import it anyway\n`),
    ],
    [
      "JSON that is nested 20 million levels deep",
      "pzlines.ndjson",
      followed(`${lineObjects}{"a":`, repeated("[".repeat(1_000_000), 20)),
      ":4: row nested more than 64 levels deep\n",
    ],
    [
      "a JSON object of three million fields",
      "pzlines.ndjson",
      followed(lineObjects, objectWithFields(3_000_000)),
      ":4: row with more than 1000 fields\n",
    ],
    [
      `a JSON row of ${plainLineBytes / megabyte} megabytes`,
      "pzlines.ndjson",
      followed(`${lineObjects}{"a":"`, repeated(x, plainLineBytes / megabyte)),
      `:4${tooLong}`,
    ],
    [
      "a JSON field that occurs twice",
      "pzlines.ndjson",
      `${lineObjects}{"a":{"b":":"},"sku_id":"A",${lineObjects.slice(1)}`,
      ':4: has the field "sku_id" more than once: ',
    ],
    [
      "a JSON field that occurs in two spellings",
      "pzlines.ndjson",
      `${lineObjects}{"SKU_ID":"A",${lineObjects.slice(1)}`,
      ":4: has the field sku_id more than once: ",
    ],
    [
      "a choice type that is too long",
      "pzstyles.csv",
      `${styles}SCRIPT,A,7,${"x".repeat(2601)},Text\n`,
      /:\d+: choice_type: is longer than 2600 bytes in UTF-8: /,
    ],
    [
      "a style with too many rows",
      "pzstyles.csv",
      manyAfter(styles, isCampaign ? 1_000_000 : 110_000, (index) => `BIG,A,${index},NONE,Text`),
      new RegExp(`:\\d+: style_code "BIG" ${tooMany}`),
    ],
    [
      "a style with few rows of much text",
      "pzstyles.csv",
      [styles, ...[1, 2, 3, 4, 5].map((line) => `BIG,A,${line},NONE,${"x".repeat(1e6)}\n`)].join(""),
      new RegExp(`:\\d+: style_code "BIG" ${tooMany}`),
    ],
    [
      "a choice group with too many rows",
      "pzchoices.csv",
      manyAfter(choices, isCampaign ? 1_000_000 : 110_000, (index) => `BIG,A,1,Value ${index}`),
      new RegExp(`:\\d+: choice_type "BIG" ${tooMany}`),
    ],
  ])(
    "is rejected with %s, names file and reason, changes nothing, and uses little memory",
    async (_, name, content, problem) => {
      const changes = { [name]: content };
      const message = typeof problem === "string" ? RegExp.escape(problem) : problem.source;
      const startedAt = new Date().toISOString();
      const { code, stdout, stderr, memory } = isLarge(changes)
        ? await importMeasured(changes)
        : { ...(await importWith(changes)), memory: 1 };
      expect(stderr).toMatch(new RegExp(`/${RegExp.escape(name)}${message}`));
      expect([code, stdout]).toEqual([1, ""]);
      expect(memory).toBeGreaterThan(0);
      expect(memory).toBeLessThan(mostMemory);
      expect(await getPersonalizations()).toEqual(expected);
      const { outcome, finished } = await lastRun();
      expect(outcome).toBe("failed");
      expect(finished >= startedAt).toBe(true);
    },
  );

  let cases = 0;
  test.each<[string, string, (csv: string) => Content, RegExp | undefined]>([
    ["a header in another order and case", "", (csv) => reordered(csv, (name) => ` ${name.toUpperCase()} `), undefined],
    ["semicolons", "", (csv) => csv.replaceAll(",", ";"), /\/pzlines\.csv: read with delimiter ";"\n/],
    [
      "gzip with two members, padded with zeros",
      ".gz",
      (csv) => Buffer.concat([gzipSync(csv.slice(0, 70)), gzipSync(csv.slice(70)), new Uint8Array(100_000)]),
      undefined,
    ],
    [
      "packed semicolons in Windows-1252",
      ".gz",
      (csv) => gzipSync(in1252(csv.replaceAll(",", ";"))),
      /\/pzlines\.csv\.gz: read as windows-1252\n(.*\n)*.*\/pzlines\.csv\.gz: read with delimiter ";"\n/,
    ],
  ])("imports a file with %s like any other, and reports what is special", async (_, ending, write, note) => {
    const sku = `CASE-${cases++}`;
    const { code, stderr } = await importWith({ [`pzlines.csv${ending}`]: write(`${lines}${sku},NOTE,1,A\n`) });
    expect(code).toBe(0);
    if (note === undefined) expect(stderr).not.toMatch(/read as|separated by/);
    else expect(stderr).toMatch(note);
    expect(await getPersonalizations()).toEqual(expected);
    expect(JSON.parse(await getPersonalization(sku))).toMatchObject({
      pzlines: [{ sku_id: sku, style_sku_status: "A" }],
    });
  });

  test("accepts a SKU with as many rows as are allowed", async () => {
    const most = manyAfter(lines, maxRowsOfGroup, (index) => `BIG,S${index},1,A`);
    const { code, stderr } = await importWith({ "pzlines.csv": most }, "--dry-run");
    expect(stderr).not.toContain("has more than");
    expect(code).toBe(0);
  });

  test.each([...engines])("stores the longest keys on %s", async (engine) => {
    const store = { DATABASE_URL: await createStore(engine), BRAND: "acme" };
    // Different letters, because a compressed key would take less.
    const key = (first: number) => String.fromCharCode(...Array.from({ length: 866 }, (_, index) => first + 7 * index));
    const [style, group] = [key(0x4e00), key(0x4e01)];
    const feed = await feedWith({
      "pzlines.csv": `${lines}${"語".repeat(255)},${style},1,A\n${"😀".repeat(255)},${style},1,A\n`,
      "pzstyles.csv": `${styles}${style},A,1,${group},Text\n`,
      "pzchoices.csv": `${choices}${group},A,1,Value\n`,
    });
    expect(await importHere(["import", "personalization", feed], store)).toMatchObject({ code: 0 });
  });

  test.each([
    [
      "a field under its name and its alias",
      "pzlines.ndjson",
      `{"Article":"A",${lineObjects.slice(1)}`,
      "has the field sku_id",
    ],
    ["a header with an alias", "pzlines.csv", `${lines}${lines.replace("sku_id", "Article")}`, "repeats the header"],
  ])("rejects a file that repeats %s", async (_, name, content, reason) => {
    const feed = await feedWith({ [name]: content });
    const PDS_CONFIG = join(feed, "pds.toml");
    const job = `[jobs.personalization-import]\nsource = "${feed}"\n`;
    await Bun.write(PDS_CONFIG, `${job}[jobs.personalization-import.aliases]\nsku_id = ["Article"]\n`);
    const finished = await importHere(["import", "personalization", feed, "--dry-run"], { ...environment, PDS_CONFIG });
    expect(finished.stderr).toMatch(new RegExp(`/${name.replace(".", "\\.")}:[15]: ${reason}`));
    expect(finished.code).toBe(1);
  });

  describe("that is forced", () => {
    // The other tests expect the valid feed.
    afterEach(() => importWith({}));

    test("reads a file without a header by position", async () => {
      const { code, stderr } = await importWith({ "pzlines.csv": rows.join("\n").replace(",I", ",X") }, "--force");
      expect(stderr).toMatch(
        /\/pzlines\.csv:1: no header; columns read as sku_id, style_code, style_display_seq, style_sku_status\n/,
      );
      expect(code).toBe(0);
      expect(await getPersonalizations()).toEqual(
        expected.map((text) => text.replace('"style_sku_status":"I"', '"style_sku_status":"X"')),
      );
    });

    test("reads an empty file as an empty list", async () => {
      expect(await getPersonalization("MUG")).toContain('"choice_value":"Heart"');
      const { code, stderr } = await importWith({ "pzchoices.csv": "" }, "--force");
      expect(stderr).toMatch(/\/pzchoices\.csv: the file is empty; expected the header /);
      expect(code).toBe(0);
      expect(JSON.parse(await getPersonalization("MUG"))).toMatchObject({ pzlines: { length: 2 }, pzchoices: [] });
    });

    test("rejects another list's content nevertheless", async () => {
      const { code, stderr } = await importWith({ "pzlines.csv": choices }, "--force");
      expect(stderr).toMatch(/this looks like pzchoices/);
      expect(code).toBe(1);
      expect(await getPersonalizations()).toEqual(expected);
    });
  });
});
