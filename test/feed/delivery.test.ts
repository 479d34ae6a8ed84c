import { afterEach, expect, spyOn, test } from "bun:test";
import { renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { collectFeed, type KnownFiles } from "../../src/feed/delivery.ts";
import { folderSource } from "../../src/feed/folder.ts";
import type { SourceSettings } from "../../src/feed/source.ts";
import { toProduct } from "../support/catalog.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { connectTo, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

// A sender that replaces files of this machine while they are read.

const { file: openFile } = Bun;
afterEach(() => {
  spyOn(Bun, "file").mockRestore();
});

/**
 * Replaces files just before a file is opened.
 * @param time how often it must have been opened, including this time
 */
function replaceBefore(path: string, time: number, files: Readonly<Record<string, string>>): void {
  let opened = 0;
  spyOn(Bun, "file").mockImplementation(((opening: string) => {
    if (opening === path && ++opened === time) {
      for (const [target, content] of Object.entries(files)) {
        // As rsync does it, which also keeps the time.
        writeFileSync(`${target}.new`, content);
        utimesSync(`${target}.new`, 1e9, 1e9);
        renameSync(`${target}.new`, target);
      }
    }
    return openFile(opening);
  }) as typeof Bun.file);
}

async function createSetup() {
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`, BRAND: "acme" };
  const importFrom = async (...args: string[]) => {
    const { code, stdout } = await importHere(["import", ...args, "--json"], environment);
    return { code, ...(JSON.parse(stdout) as { counts: number; reason?: string }) };
  };
  const countRows = async (table: string) => {
    await using sql = await connectTo(environment.DATABASE_URL);
    const [row] = await sql.unsafe(`SELECT count(*) AS count FROM ${table}`);
    return Number((row as { count: number }).count);
  };
  return { folder, importFrom, countRows };
}

const refused = (path: string) => ({
  ...{ code: 1, counts: 0 },
  reason: `${path}: changed while it was read; nothing was imported`,
});

test("a link is as old as itself, however old its file is", async () => {
  const folder = await temporaryFolder();
  await writeFiles(folder, { target: "" });
  const { ctimeMs } = statSync(join(folder, "target"));
  await until("the file is older", () => Date.now() - ctimeMs > 300);
  const linkedAt = Date.now();
  symlinkSync(join(folder, "target"), join(folder, "link"));
  const found = await folderSource(folder, { maxFileMegabytes: 0 } as SourceSettings).findFile("link");
  // The times of files are a few milliseconds behind.
  expect(found?.changedAtMs).toBeGreaterThan(linkedAt - 100);
});

test("a file must be left alone here, whatever the clock of its server says, unless it was imported", async () => {
  const folder = await temporaryFolder();
  await writeFiles(folder, { file: "content" });
  // The server is an hour behind.
  using _ = spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_000);
  const collect = (settleSeconds: number, known?: KnownFiles<"file">) => {
    const request = { source: folder, fileNames: { file: ["file"] }, marker: undefined, settleSeconds };
    return collectFeed(request, { maxFileMegabytes: 0 } as SourceSettings, known, new AbortController().signal);
  };
  const startedAt = performance.now();
  await using delivery = await collect(0.2);
  expect(performance.now() - startedAt).toBeGreaterThan(199);
  await using again = await collect(3600, delivery.status === "complete" ? delivery.files : undefined);
  expect([delivery.status, again.status]).toEqual(["complete", "unchanged"]);
});

const newLines = feedFiles["pzlines.csv"].replace("MUG,BLOCK,9,I", "MUG,BLOCK,9,N");

test.each([
  ["after they were found", "pzlines.csv", 1],
  ["after they were checked", "pzlines.csv", 2],
  ["after they were read, and before the last file was", "pzchoices.csv", 1],
])("new lines %s are not imported with old styles", async (_, opened, time) => {
  const { folder, importFrom, countRows } = await createSetup();
  const feed = await writeFeed(folder, "feed");
  const lines = join(feed, "pzlines.csv");
  replaceBefore(join(feed, opened), time, { [lines]: newLines });
  expect(await importFrom("personalization", feed)).toMatchObject(refused(lines));
  expect(await countRows("generation")).toBe(0);
  expect(await importFrom("personalization", feed)).toMatchObject({ code: 0, counts: 12 });
});

test.each([1, 2])("a presentation is refused if it is replaced before reading %d", async (time) => {
  const { folder, importFrom, countRows } = await createSetup();
  const presentation = (label: string) => `[styles.NOTE]\nname.en = "${label}"\n`;
  const [path = ""] = await writeFiles(folder, { "presentation.toml": presentation("Old") });
  replaceBefore(path, time, { [path]: presentation("New") });
  expect(await importFrom("presentation", path)).toMatchObject(refused(path));
  expect(await countRows("presentation")).toBe(0);
  expect(await importFrom("presentation", path)).toMatchObject({ code: 0 });
});

test("products are refused if one of their files is replaced while another is read", async () => {
  const { folder, importFrom, countRows } = await createSetup();
  const product = (id: number) => toJson(toProduct(id));
  const [first = "", second = ""] = await writeFiles(folder, { "1.ndjson": product(1), "2.ndjson": product(2) });
  replaceBefore(second, 1, { [first]: product(3) });
  expect(await importFrom("products", first, second)).toMatchObject(refused(first));
  expect(await countRows("product")).toBe(0);
  const again = await importFrom("products", first, second);
  expect(again).toMatchObject({ code: 0, counts: 2 });
});
