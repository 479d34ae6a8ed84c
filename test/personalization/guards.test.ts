import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { writeFeed } from "../support/feed.ts";
import {
  casesFor,
  createStore,
  enginesInTurn,
  pds,
  serveWithAndWithoutCache,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";

const headers = {
  pzlines: "sku_id,style_code,style_display_seq,style_sku_status",
  pzstyles: "style_code,line_status,line_display_seq,choice_type,instruct_text",
  pzchoices: "choice_type,choice_status,choice_display_seq,choice_value",
} as const;

/** How many SKUs, styles and choices a feed has, and how many rows that are rejected; a list as text is taken as it is. */
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
  const csv = (...lines: string[]) => `${lines.join("\n")}\n`;
  const lines = rows(skus, (index) => `SKU-${index},STYLE-${index % 30},1,${mark}`);
  const wrong = rows(rejected, (index) => `,STYLE-${index},1,A`);
  return {
    "pzlines.csv": csv(headers.pzlines, ...lines, ...wrong),
    "pzstyles.csv": csv(headers.pzstyles, ...rows(styles, (index) => `STYLE-${index},A,1,TYPE,${mark}`)),
    "pzchoices.csv": csv(headers.pzchoices, ...rows(choices, (index) => `TYPE,A,${index},Choice ${index}`)),
    ...files,
  };
}

const noChoices = { files: { "pzchoices.csv": `${headers.pzchoices}\n` } };
const noStyles = { files: { "pzstyles.csv": `${headers.pzstyles}\n` } };
const noLines = { files: { "pzlines.csv": headers.pzlines } };
const blankChoices = { files: { "pzchoices.csv": "\n" } };
const toml = (text: string) => `[jobs.personalization-import]\nsource = "."\n${text}\n`;

const folder = await temporaryFolder();
const settings = await temporaryFolder();
const [tenth = "", half = "", everything = ""] = await writeFiles(settings, {
  "tenth.toml": toml("max_removed_share = 0.1"),
  "half.toml": toml("max_rejected_share = 0.5"),
  "everything.toml": toml("max_removed_share = 1\nmax_rejected_share = 1"),
});

let feeds = 0;
const writtenFeed = (shape: Shape) => writeFeed(folder, `feed-${feeds++}`, toFiles(shape));

/** A feed, what the brand had before, the settings, and what is said against it. */
const refusals: readonly [string, Shape | undefined, Shape, string, string[]][] = [
  [
    "of which too many SKUs would vanish",
    {},
    { skus: 31 },
    "/dev/null",
    ["9 of 40 SKUs would vanish (max_removed_share allows 20 %)"],
  ],
  [
    "of which too many styles would vanish",
    {},
    { styles: 23 },
    "/dev/null",
    ["7 of 30 styles would vanish (max_removed_share allows 20 %)"],
  ],
  [
    "of which too many choices would vanish",
    {},
    { choices: 19 },
    "/dev/null",
    ["6 of 25 choices would vanish (max_removed_share allows 20 %)"],
  ],
  [
    "beyond the share that is set",
    {},
    { skus: 35 },
    tenth,
    ["5 of 40 SKUs would vanish (max_removed_share allows 10 %)"],
  ],
  [
    "of just twenty SKUs",
    { skus: 20 },
    { skus: 15 },
    "/dev/null",
    ["5 of 20 SKUs would vanish (max_removed_share allows 20 %)"],
  ],
  ["with a row that is rejected", {}, { rejected: 1 }, "/dev/null", ["1 of 96 were rejected"]],
  [
    "with more rows rejected than is set",
    undefined,
    { skus: 5, styles: 3, choices: 2, rejected: 11 },
    half,
    ["11 of 21 were rejected (max_rejected_share allows 50 %)"],
  ],
  [
    "with more than one thing to be said against it",
    {},
    { skus: 1, choices: 1, rejected: 2 },
    "/dev/null",
    [
      "2 of 34 were rejected",
      "39 of 40 SKUs would vanish (max_removed_share allows 20 %)",
      "24 of 25 choices would vanish (max_removed_share allows 20 %)",
    ],
  ],
  [
    "without choices, the first of a brand",
    undefined,
    noChoices,
    "/dev/null",
    ["FOLDER/pzchoices.csv: has a header and no rows"],
  ],
  [
    "without styles, the first of a brand",
    undefined,
    noStyles,
    everything,
    ["FOLDER/pzstyles.csv: has a header and no rows"],
  ],
  [
    "without choices, where there were some",
    { choices: 3 },
    noChoices,
    everything,
    ["FOLDER/pzchoices.csv: has a header and no rows"],
  ],
  [
    "without lines, the first of a brand",
    undefined,
    noLines,
    everything,
    ["FOLDER/pzlines.csv: has a header and no rows"],
  ],
  ["without lines, where there were some", {}, noLines, everything, ["FOLDER/pzlines.csv: has a header and no rows"]],
  [
    "with a file that is blank",
    {},
    blankChoices,
    everything,
    ["FOLDER/pzchoices.csv: empty; expected a header of choice_type, choice_status, choice_display_seq, choice_value"],
  ],
];

const passes: readonly [string, Shape | undefined, Shape, string][] = [
  ["of which as many SKUs vanish as may", {}, { skus: 32 }, "/dev/null"],
  ["of which as many styles vanish as may", {}, { styles: 24 }, "/dev/null"],
  ["of which as many choices vanish as may", {}, { choices: 20 }, "/dev/null"],
  [
    "of fewer than twenty, most of which vanish",
    { skus: 19, styles: 19, choices: 19 },
    { skus: 1, styles: 1, choices: 1 },
    "/dev/null",
  ],
  ["with as many more as there are", { skus: 20 }, { skus: 400 }, "/dev/null"],
  ["with as many rejected rows as may be", {}, { skus: 5, styles: 3, choices: 2, rejected: 10 }, everything],
  ["the first of a brand, however small", undefined, { skus: 1, styles: 1, choices: 1 }, "/dev/null"],
];

for (const engine of enginesInTurn) {
  const url = await createStore(engine);
  const environment = { DATABASE_URL: url, BRAND: "acme" };
  const { text } = await serveWithAndWithoutCache(environment);

  const importing = async (feed: string, options: string[] = [], config = "/dev/null", brand = "acme") => {
    const args = ["import", "personalization", feed, "--json", "--brand", brand, ...options];
    const { code, stdout, stderr } = await pds(args, { ...environment, PDS_CONFIG: config });
    return { code, stderr, report: JSON.parse(stdout) };
  };
  const answers = () => Promise.all([0, 19, 39, 40].map((index) => text(`/api/v1/products/pz/SKU-${index}`)));

  /** All that an import may change, but for the runs. */
  const stored = async () => {
    await using store = new SQL(url, { max: 1 });
    const count = async (table: string, column = "generation") =>
      await store.unsafe(
        `SELECT ${column} AS id, count(*) AS rows FROM ${table} GROUP BY ${column} ORDER BY ${column}`,
      );
    return {
      generations: await store`SELECT id, brand, state FROM generation ORDER BY id`,
      current: await store`SELECT * FROM current_generation ORDER BY brand`,
      lines: await count("personalization_line"),
      styles: await count("personalization_style"),
      choices: await count("personalization_choice"),
      digests: await count("generation_digest"),
    };
  };
  const runs = async () => {
    await using store = new SQL(url, { max: 1 });
    return await store`SELECT * FROM run ORDER BY id DESC`;
  };

  let brands = 0;
  /** A brand with nothing but this feed. */
  const brandWith = async (shape: Shape | undefined, ...options: string[]) => {
    const brand = `brand-${brands++}`;
    if (shape !== undefined)
      expect((await importing(await writtenFeed(shape), options, everything, brand)).code).toBe(0);
    return brand;
  };

  describe(`on ${engine}, an import of personalization`, () => {
    test.each(casesFor(engine, refusals))(
      "%s is refused, rehearsed or not, and taken when it is forced",
      async (_, before, after, config, objections) => {
        const brand = await brandWith(before);
        const feed = await writtenFeed({ ...after, mark: "new" });
        const said = objections.map((objection) => objection.replaceAll("FOLDER", feed));
        const reason = `${said.join("; ")}, so nothing was changed`;
        const [stateBefore, answersBefore, runsBefore] = [await stored(), await answers(), await runs()];

        const rehearsed = await importing(feed, ["--dry-run"], config, brand);
        expect(await runs()).toEqual(runsBefore);
        const { code, report, stderr } = await importing(feed, [], config, brand);
        expect(rehearsed).toEqual({ code, report, stderr });
        expect(code).toBe(1);
        expect(report).toMatchObject({ outcome: "failed", reason, overridden: [] });
        expect(stderr).toEndWith(`pds: personalization-import: ${reason}\n`);
        expect(await stored()).toEqual(stateBefore);
        expect(await answers()).toEqual(answersBefore);
        const [run, ...others] = await runs();
        expect(others).toEqual(runsBefore);
        const { job, outcome, counts, brand: _brand, reason: _reason, ...kept } = report;
        expect(run).toMatchObject({ job, outcome, counts, reason, brand });
        expect(JSON.parse(run.report)).toEqual(kept);

        const forced = await importing(feed, ["--force"], config, brand);
        expect(forced.code).toBe(0);
        expect(forced.report).toMatchObject({ outcome: "succeeded", overridden: said });
        expect(forced.stderr).toEndWith(said.map((objection) => `overridden by --force: ${objection}\n`).join(""));
        expect(await stored()).not.toEqual(stateBefore);
      },
    );

    test.each(casesFor(engine, passes))(
      "%s passes, and its rehearsal says the same",
      async (_, before, after, config) => {
        const brand = await brandWith(before);
        const feed = await writtenFeed({ ...after, mark: "new" });
        const [stateBefore, runsBefore] = [await stored(), await runs()];
        const rehearsed = await importing(feed, ["--dry-run"], config, brand);
        expect(await stored()).toEqual(stateBefore);
        expect(await runs()).toEqual(runsBefore);
        const imported = await importing(feed, [], config, brand);
        expect(rehearsed).toEqual(imported);
        expect(imported).toMatchObject({ code: 0, report: { outcome: "succeeded", overridden: [] } });
        expect((await stored()).current).not.toEqual(stateBefore.current);
      },
    );

    test.each([
      ["pzchoices.csv", noChoices],
      ["pzstyles.csv", noStyles],
    ])("may have no rows in %s when it had none before", async (_, without) => {
      const brand = await brandWith(without, "--force");
      expect(await importing(await writtenFeed({ ...without, mark: "next" }), [], "/dev/null", brand)).toMatchObject({
        code: 0,
        report: { overridden: [] },
      });
    });

    test("never has no lines, not even when it had none before", async () => {
      const brand = await brandWith(noLines, "--force");
      const feed = await writtenFeed({ ...noLines, mark: "next" });
      expect(await importing(feed, [], everything, brand)).toMatchObject({
        code: 1,
        report: { reason: `${feed}/pzlines.csv: has a header and no rows, so nothing was changed` },
      });
    });

    test("may say with an empty list of JSON that there are no choices", async () => {
      const { "pzchoices.csv": _, ...others } = toFiles({});
      const feed = await writeFeed(folder, `feed-${feeds++}`, { ...others, "pzchoices.ndjson": "[]" });
      expect((await importing(feed, [], "/dev/null", await brandWith(undefined))).code).toBe(0);
      expect((await importing(feed, [], "/dev/null", await brandWith({ choices: 19 }))).code).toBe(0);
      expect(await importing(feed, [], "/dev/null", await brandWith({ choices: 20 }))).toMatchObject({
        code: 1,
        report: {
          reason: "20 of 20 choices would vanish (max_removed_share allows 20 %), so nothing was changed",
        },
      });
    });

    test("that is refused leaves what the service answers as it was, and one that is forced changes it", async () => {
      expect((await importing(await writtenFeed({ mark: "first" }))).code).toBe(0);
      const before = await answers();
      expect(before[0]).toContain('"style_sku_status":"first"');
      const feed = await writtenFeed({ skus: 10, mark: "second" });
      expect((await importing(feed)).code).toBe(1);
      const rehearsed = await importing(feed, ["--dry-run", "--force"]);
      expect(await answers()).toEqual(before);
      expect(await importing(feed, ["--force"])).toEqual(rehearsed);
      expect(rehearsed.code).toBe(0);
      expect((await answers())[0]).toContain('"style_sku_status":"second"');
    });
  });
}

test("a rehearsal where there is no store yet says what an import would, and makes none", async () => {
  const path = join(folder, "nowhere", "pds.sqlite");
  for (const [shape, code] of [
    [{}, 0],
    [{ rejected: 1 }, 1],
  ] as const) {
    const feed = await writtenFeed(shape);
    const environment = (url: string) => ({ DATABASE_URL: url, BRAND: "acme" });
    const rehearsed = await pds(
      ["import", "personalization", feed, "--dry-run", "--json"],
      environment(`sqlite:${path}`),
    );
    expect(existsSync(join(folder, "nowhere"))).toBe(false);
    const store = `sqlite:${join(folder, `store-${code}.sqlite`)}`;
    expect(rehearsed).toEqual(await pds(["import", "personalization", feed, "--json"], environment(store)));
    expect(rehearsed.code).toBe(code);
  }
});
