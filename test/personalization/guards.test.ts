import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { toSnakeCase } from "../../src/commands/output.ts";
import { toListFile, writeFeed } from "../support/feed.ts";
import { countGenerationRows } from "../support/generation-tables.ts";
import { importHere, storedReason } from "../support/import-here.ts";
import {
  connectTo,
  createStore,
  enginesOf,
  pds,
  serveWithAndWithoutCache,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";

/**
 * The number of SKUs, styles, choices, and invalid rows of a feed. `files` replaces whole files.
 */
interface Shape {
  readonly skus?: number;
  readonly styles?: number;
  readonly choices?: number;
  readonly rejected?: number;
  readonly mark?: string;
  readonly files?: Readonly<Record<string, string>>;
}

function toFiles({ skus = 40, styles = 30, choices = 25, rejected = 0, mark = "A", files = {} }: Shape) {
  const rows = (count: number, row: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => row(index));
  const lines = rows(skus, (index) => `SKU-${index},STYLE-${index % 30},1,${mark}`);
  const wrong = rows(rejected, (index) => `,STYLE-${index},1,A`);
  return {
    "pzlines.csv": toListFile("pzlines", [...lines, ...wrong]),
    "pzstyles.csv": toListFile(
      "pzstyles",
      rows(styles, (index) => `STYLE-${index},A,1,TYPE,${mark}`),
    ),
    "pzchoices.csv": toListFile(
      "pzchoices",
      rows(choices, (index) => `TYPE,A,${index},Choice ${index}`),
    ),
    ...files,
  };
}

const noChoices = { files: { "pzchoices.csv": toListFile("pzchoices", []) } };
const unusedChoices = {
  files: { ...noChoices.files, "pzstyles.csv": toListFile("pzstyles", ["STYLE-0,A,1,,Text", "STYLE-1,A,1,,Text"]) },
};
const noStyles = { files: { "pzstyles.csv": toListFile("pzstyles", []) } };
const noLines = { files: { "pzlines.csv": toListFile("pzlines", []) } };
const blankChoices = { files: { "pzchoices.csv": "\n" } };
const toml = (text: string) => `[jobs.personalization-import]\nsource = "."\n${text}\n`;

const folder = await temporaryFolder();
const settings = await temporaryFolder();
const [tenth = "", half = "", everything = "", fewAdded = "", rows94 = "", rows95 = ""] = await writeFiles(settings, {
  "tenth.toml": toml("max_removed_share = 0.1"),
  "half.toml": toml("max_rejected_share = 0.5"),
  "everything.toml": toml("max_removed_share = 1\nmax_rejected_share = 1"),
  "few-added.toml": toml("max_added_share = 0.1"),
  "rows-94.toml": toml("max_rows = 94"),
  "rows-95.toml": toml("max_rows = 95"),
});

/** The end of every refusal. */
const unchanged = ", so nothing was changed; use --force to import it anyway";

/** No settings file. */
const defaults = "/dev/null";

let feeds = 0;
const writtenFeed = (shape: Shape) => writeFeed(folder, `feed-${feeds++}`, toFiles(shape));

const removal = (removed: string, percent = 20) => `${removed} would be removed (max_removed_share allows ${percent}%)`;
const addition = (added: string, before: number, percent = 1000) =>
  `${added} would be added to ${before} (max_added_share allows ${percent}%)`;
const rejection = (rejected: string, percent: number) => `${rejected} rejected (max_rejected_share allows ${percent}%)`;
const emptyList = (list: string) => `FOLDER/${list}.csv: the file has a header but no rows`;
const tooManyRows = "FOLDER/pzlines.csv: the feed has more rows than max_rows allows (94)";
const blankFile = `FOLDER/pzchoices.csv: the file is empty; expected the header choice_type, choice_status, choice_display_seq, choice_value`;

/** The previous feed, the new feed, the settings, and the expected violations. */
const violationCases: readonly [string, Shape | undefined, Shape, string, string[]][] = [
  ["that removes too many SKUs", {}, { skus: 31 }, defaults, [removal("9 of 40 SKUs")]],
  ["that removes too many styles", {}, { styles: 23 }, defaults, [removal("7 of 30 styles")]],
  ["that removes too many choices", {}, { choices: 19 }, defaults, [removal("6 of 25 choices")]],
  ["that removes more than the configured share", {}, { skus: 35 }, tenth, [removal("5 of 40 SKUs", 10)]],
  ["that removes too many of exactly 20 SKUs", { skus: 20 }, { skus: 15 }, defaults, [removal("5 of 20 SKUs")]],
  ["that adds too many SKUs", { skus: 20 }, { skus: 221 }, defaults, [addition("201 SKUs", 20)]],
  ["that adds too many styles", { styles: 20 }, { styles: 221 }, defaults, [addition("201 styles", 20)]],
  ["that adds too many choices", { choices: 20 }, { choices: 221 }, defaults, [addition("201 choices", 20)]],
  ["that adds more than the configured share", {}, { skus: 45 }, fewAdded, [addition("5 SKUs", 40, 10)]],
  ["with more rows than configured", undefined, {}, rows94, [tooManyRows]],
  ["with a rejected row", {}, { rejected: 1 }, defaults, [rejection("1 of 96 rows was", 0)]],
  [
    "with more rejected rows than configured",
    undefined,
    { skus: 5, styles: 3, choices: 2, rejected: 11 },
    half,
    [rejection("11 of 21 rows were", 50)],
  ],
  [
    "with several violations",
    {},
    { skus: 1, choices: 1, rejected: 2 },
    defaults,
    [rejection("2 of 34 rows were", 0), removal("39 of 40 SKUs"), removal("24 of 25 choices")],
  ],
  ["without choices, for a new brand", undefined, noChoices, defaults, [emptyList("pzchoices")]],
  ["without styles, for a new brand", undefined, noStyles, everything, [emptyList("pzstyles")]],
  ["without choices, after one with choices", { choices: 3 }, noChoices, everything, [emptyList("pzchoices")]],
  ["without lines, for a new brand", undefined, noLines, everything, [emptyList("pzlines")]],
  ["without lines, after one with lines", {}, noLines, everything, [emptyList("pzlines")]],
  ["with a blank file", {}, blankChoices, everything, [blankFile]],
];

const validCases: readonly [string, Shape | undefined, Shape, string][] = [
  ["that removes the maximum of SKUs", {}, { skus: 32 }, defaults],
  ["that removes the maximum of styles", {}, { styles: 24 }, defaults],
  ["that removes the maximum of choices", {}, { choices: 20 }, defaults],
  [
    "that removes most of fewer than 20",
    { skus: 19, styles: 19, choices: 19 },
    { skus: 1, styles: 1, choices: 1 },
    defaults,
  ],
  ["that adds the maximum", { skus: 20, styles: 20, choices: 20 }, { skus: 220, styles: 220, choices: 220 }, defaults],
  ["that adds many to fewer than 20", { skus: 19 }, { skus: 400 }, defaults],
  ["with the maximum of rows", undefined, {}, rows95],
  ["without choices that a style names, for a new brand", undefined, unusedChoices, defaults],
  ["with the maximum of rejected rows", {}, { skus: 5, styles: 3, choices: 2, rejected: 10 }, everything],
  ["that is small, for a new brand", undefined, { skus: 1, styles: 1, choices: 1 }, defaults],
];

for (const engine of enginesOf("sqlite")) {
  const url = await createStore(engine);
  const environment = { DATABASE_URL: url, BRAND: "acme" };
  const { text } = await serveWithAndWithoutCache(environment);

  const importFeed = async (feed: string, options: string[] = [], config = defaults, brand = "acme") => {
    const args = ["import", "personalization", feed, "--json", "--brand", brand, ...options];
    const { code, stdout, stderr } = await importHere(args, { ...environment, PDS_CONFIG: config });
    return { code, stderr, report: JSON.parse(stdout) };
  };
  const getResponses = () => Promise.all([0, 19, 39, 40].map((index) => text(`/api/v1/products/pz/SKU-${index}`)));

  /** Everything an import may change except the runs. */
  const stored = async () => {
    await using store = await connectTo(url);
    return {
      generations: await store`SELECT id, brand, state FROM generation ORDER BY id`,
      current: await store`SELECT * FROM current_generation ORDER BY brand`,
      rows: await countGenerationRows(store),
    };
  };
  const runs = async () => {
    await using store = await connectTo(url);
    return await store`SELECT * FROM run ORDER BY id DESC`;
  };

  let brands = 0;
  /** Creates a brand with only this feed. */
  const brandWith = async (shape: Shape | undefined, ...options: string[]) => {
    const brand = `brand-${brands++}`;
    if (shape !== undefined)
      expect((await importFeed(await writtenFeed(shape), options, everything, brand)).code).toBe(0);
    return brand;
  };

  describe(`on ${engine}, the personalization import of a feed`, () => {
    test.each(violationCases)(
      "%s fails, also as a dry run, and succeeds if forced",
      async (_, before, after, config, violations) => {
        const brand = await brandWith(before);
        const feed = await writtenFeed({ ...after, mark: "new" });
        const expected = violations.map((violation) => violation.replaceAll("FOLDER", feed));
        const reason = `${expected.join("; ")}${unchanged}`;
        const [stateBefore, responsesBefore, runsBefore] = [await stored(), await getResponses(), await runs()];

        const dryRun = await importFeed(feed, ["--dry-run"], config, brand);
        expect(await runs()).toEqual(runsBefore);
        const { code, report, stderr } = await importFeed(feed, [], config, brand);
        expect(dryRun).toEqual({ code, report, stderr });
        expect(code).toBe(1);
        expect(report).toMatchObject({ outcome: "failed", reason, overridden: [] });
        expect(stderr).toEndWith(`pds: personalization-import: ${reason}\n`);
        expect(await stored()).toEqual(stateBefore);
        expect(await getResponses()).toEqual(responsesBefore);
        const [run, ...others] = await runs();
        expect(others).toEqual(runsBefore);
        const { job, outcome, counts, brand: _brand, reason: _reason, ...kept } = report;
        expect(run).toMatchObject({ job, outcome, counts, reason: storedReason(report), brand });
        expect(toSnakeCase(JSON.parse(run.report))).toEqual(kept);

        const forced = await importFeed(feed, ["--force"], config, brand);
        expect(forced.code).toBe(0);
        expect(forced.report).toMatchObject({ outcome: "succeeded", overridden: expected });
        expect(forced.stderr).toEndWith(expected.map((violation) => `overridden by --force: ${violation}\n`).join(""));
        expect(await stored()).not.toEqual(stateBefore);
      },
    );

    test.each(validCases)("%s succeeds, and a dry run gives the same report", async (_, before, after, config) => {
      const brand = await brandWith(before);
      const feed = await writtenFeed({ ...after, mark: "new" });
      const [stateBefore, runsBefore] = [await stored(), await runs()];
      const dryRun = await importFeed(feed, ["--dry-run"], config, brand);
      expect(await stored()).toEqual(stateBefore);
      expect(await runs()).toEqual(runsBefore);
      const imported = await importFeed(feed, [], config, brand);
      expect(dryRun).toEqual(imported);
      expect(imported).toMatchObject({ code: 0, report: { outcome: "succeeded", overridden: [] } });
      expect((await stored()).current).not.toEqual(stateBefore.current);
    });

    test.each([
      ["pzchoices.csv", noChoices],
      ["pzstyles.csv", noStyles],
    ])("without rows in %s succeeds if there were none before", async (_, without) => {
      const brand = await brandWith(without, "--force");
      expect(await importFeed(await writtenFeed({ ...without, mark: "next" }), [], defaults, brand)).toMatchObject({
        code: 0,
        report: { overridden: [] },
      });
    });

    test("without lines fails even if there were none before", async () => {
      const brand = await brandWith(noLines, "--force");
      const feed = await writtenFeed({ ...noLines, mark: "next" });
      expect(await importFeed(feed, [], everything, brand)).toMatchObject({
        code: 1,
        report: { reason: `${feed}/pzlines.csv: the file has a header but no rows${unchanged}` },
      });
    });

    test("with an empty JSON array means that there are no choices", async () => {
      const { "pzchoices.csv": _, ...others } = toFiles({});
      const feed = await writeFeed(folder, `feed-${feeds++}`, { ...others, "pzchoices.ndjson": "[]" });
      expect((await importFeed(feed, [], defaults, await brandWith(undefined))).code).toBe(0);
      expect((await importFeed(feed, [], defaults, await brandWith({ choices: 19 }))).code).toBe(0);
      expect(await importFeed(feed, [], defaults, await brandWith({ choices: 20 }))).toMatchObject({
        code: 1,
        report: {
          reason: `20 of 20 choices would be removed (max_removed_share allows 20%)${unchanged}`,
        },
      });
    });

    test("without styles and choices succeeds for a new brand if the list of styles is empty", async () => {
      const { "pzstyles.csv": _, ...others } = toFiles(noChoices);
      const feed = await writeFeed(folder, `feed-${feeds++}`, { ...others, "pzstyles.ndjson": "[]" });
      expect(await importFeed(feed, [], defaults, await brandWith(undefined))).toMatchObject({
        code: 0,
        report: { overridden: [] },
      });
    });

    test("with too many rows is not read to its end", async () => {
      const lines = Array.from({ length: 20_000 }, (_, index) => `SKU-${index},STYLE-0,1,A`);
      const pzlines = toListFile("pzlines", [...lines, "x".repeat(2_000_000)]);
      const feed = await writtenFeed({ files: { "pzlines.csv": pzlines } });
      const brand = await brandWith(undefined);
      const { code, report } = await importFeed(feed, [], rows95, brand);
      expect(code).toBe(1);
      expect(report.reason).toBe(`${feed}/pzlines.csv: the feed has more rows than max_rows allows (95)${unchanged}`);
      expect((await importFeed(feed, ["--force"], rows95, brand)).report.reason).toContain("row longer than");
    });

    test("changes the responses only if it succeeds", async () => {
      expect((await importFeed(await writtenFeed({ mark: "first" }))).code).toBe(0);
      const before = await getResponses();
      expect(before[0]).toContain('"style_sku_status":"first"');
      const feed = await writtenFeed({ skus: 10, mark: "second" });
      expect((await importFeed(feed)).code).toBe(1);
      const dryRun = await importFeed(feed, ["--dry-run", "--force"]);
      expect(await getResponses()).toEqual(before);
      expect(await importFeed(feed, ["--force"])).toEqual(dryRun);
      expect(dryRun.code).toBe(0);
      expect((await getResponses())[0]).toContain('"style_sku_status":"second"');
    });
  });
}

test("a dry run without a store gives the same report and creates no store", async () => {
  const path = join(folder, "nowhere", "pds.sqlite");
  for (const [shape, code] of [
    [{}, 0],
    [{ rejected: 1 }, 1],
  ] as const) {
    const feed = await writtenFeed(shape);
    const environment = (url: string) => ({ DATABASE_URL: url, BRAND: "acme" });
    const dryRun = await pds(["import", "personalization", feed, "--dry-run", "--json"], environment(`sqlite:${path}`));
    expect(existsSync(join(folder, "nowhere"))).toBe(false);
    const store = `sqlite:${join(folder, `store-${code}.sqlite`)}`;
    expect(dryRun).toEqual(await pds(["import", "personalization", feed, "--json"], environment(store)));
    expect(dryRun.code).toBe(code);
  }
});
