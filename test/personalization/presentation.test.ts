import { describe, expect, test } from "bun:test";
import { formatRejectedRow, type ImportReport } from "../../src/jobs/import-report.ts";
import { toCharacterClass } from "../../src/personalization/presentation/characters.ts";
import { readPresentation } from "../../src/personalization/presentation/parse.ts";
import { writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { connectTo, createStore, enginesOf, pds, temporaryFolder, writeFiles } from "../support/pds.ts";

const folder = await temporaryFolder();
let files = 0;

/** Writes a presentation file. @returns its path */
async function write(text: string | Uint8Array): Promise<string> {
  const [path = ""] = await writeFiles(folder, { [`presentation-${files++}.toml`]: text });
  return path;
}

const toml = `
[styles.BLOCK]
name.en = "Block letters"
name.de = "Blockschrift"
image = "/images/block.svg"

[styles.BLOCK.lines.1]
name.en = "Font"
required = true

[styles.NOTE.lines.1]
help.en = "It is stitched below the rim."
limit = 12
characters = "A-Za-z &"
uppercase = true

[choices.FONT.Serif]
name.de = "Mit Serifen"
name.en = "${"😀".repeat(200)}"
`;

const entries = [
  { group: "FONT", choice: "Serif", name: { de: "Mit Serifen", en: "😀".repeat(200) } },
  { style: "BLOCK", line: "1", name: { en: "Font" }, required: true },
  {
    style: "NOTE",
    line: "1",
    help: { en: "It is stitched below the rim." },
    limit: 12,
    characters: "[ &A-Za-z]",
    uppercase: true,
  },
  { style: "BLOCK", name: { en: "Block letters", de: "Blockschrift" }, image: "/images/block.svg" },
];

const manyStyles = (count: number) =>
  Array.from({ length: count }, (_, number) => `[styles.S${number}]\nname.en = "Style ${number}"\n`).join("");

for (const engine of enginesOf("sqlite")) {
  describe(`on ${engine}, a presentation`, async () => {
    const url = await createStore(engine);
    const environment = { DATABASE_URL: url, BRAND: "acme" };
    const feed = await writeFeed(folder, `feed-${engine}`);
    const importFeed = (brand: string) =>
      importHere(["import", "personalization", feed, "--brand", brand], environment);
    await importFeed("acme");
    const query = async (statement: string) => {
      await using store = await connectTo(url);
      return await store.unsafe(statement);
    };
    const run = async (path: string, ...options: string[]) => {
      const { code, stdout, stderr } = await importHere(
        ["import", "presentation", path, "--json", ...options],
        environment,
      );
      return { code, stderr, report: JSON.parse(stdout) as ImportReport & { counts: number; reason?: string } };
    };
    const importText = async (text: string, ...options: string[]) => await run(await write(text), ...options);
    const readStored = async (brand = "acme") => {
      const [row] = await query(`SELECT document FROM presentation WHERE brand = '${brand}' AND since IS NOT NULL`);
      return row === undefined ? undefined : JSON.parse(row.document);
    };

    test("is stored as entries in the order of their keys", async () => {
      await importFeed("new");
      const first = await importText(toml, "--brand", "new");
      expect(first).toMatchObject({ code: 0, stderr: "", report: { counts: 4, accepted: 4, rejected: 0 } });
      expect(first.report.presentation).toMatchObject({
        locales: ["de", "en"],
        entries: null,
        codes_without_names: { examples: expect.arrayContaining(["line 1 of BLOCK (de)"]) },
        names_without_codes: { count: 0, examples: [] },
      });
      expect(await readStored("new")).toEqual(entries);
      const second = await importText(`# The same\n${toml}`, "--brand", "new");
      expect(second.report.presentation?.entries).toEqual({ total: 4, added: 0, changed: 0, removed: 0 });
      expect(await readStored("new")).toEqual(entries);
    });

    test("is not imported again if the file has not changed", async () => {
      const path = await write(`${toml}\n# again`);
      expect((await run(path)).report.counts).toBe(4);
      const again = await run(path);
      expect(again).toMatchObject({ code: 0, report: { counts: 0 } });
      expect(again.stderr).toContain("skipped: the file has not changed since the last import");
      expect((await run(path, "--force")).report.counts).toBe(4);
    });

    test("is refused as a whole because of one invalid entry", async () => {
      const before = await readStored();
      const { code, stderr } = await importText(`${toml}[styles.A]\nname.en = 1\n`);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /presentation-\d+\.toml:21: styles\.A\.name\.en: expected a text\n.*1 of 5 entries was rejected/,
      );
      expect(await readStored()).toEqual(before);
    });

    test("is imported without its invalid entries if that is forced", async () => {
      const { code, report } = await importText('[styles.A]\nname.en = "A"\n[styles.B]\nnamed.en = "B"', "--force");
      expect(code).toBe(0);
      expect(report).toMatchObject({ counts: 1, rejected: 1, overridden: ["1 of 2 entries was rejected"] });
      expect(await readStored()).toEqual([{ style: "A", name: { en: "A" } }]);
    });

    test("is refused if it removes more entries than the limit allows", async () => {
      // Of a brand of its own: no small file may replace a large one.
      const importMany = (count: number) => importText(manyStyles(count), "--brand", "many");
      await importMany(40);
      const { code, report } = await importMany(31);
      expect(code).toBe(1);
      expect(report.reason).toContain("9 of 40 entries would be removed (max_removed_share allows 20%)");
      expect(await readStored("many")).toHaveLength(40);
      expect((await importMany(32)).code).toBe(0);
    });

    test("changes nothing in a dry run", async () => {
      await importText(manyStyles(1));
      const before = await readStored();
      expect((await importText(toml, "--dry-run", "--force")).report.counts).toBe(4);
      expect(await readStored()).toEqual(before);
    });

    test("is kept for rollbacks, apart for each brand", async () => {
      for (const name of ["One", "Two", "Three", "Four"]) {
        await importText(`[styles.A]\nname.en = "${name}"`, "--brand", "other");
      }
      const nameOf = async () => (await readStored("other"))[0].name.en;
      const ids = (await query("SELECT id FROM presentation WHERE brand = 'other' ORDER BY id")).map(
        ({ id }: { id: number }) => id,
      );
      expect(ids).toHaveLength(3);
      const rollback = (...options: string[]) =>
        pds(["rollback", "presentation", "--brand", "other", ...options], environment);
      expect(await rollback()).toMatchObject({
        code: 0,
        stderr: `made presentation ${ids[1]} of other current instead of ${ids[2]}\n`,
      });
      expect(await nameOf()).toBe("Three");
      const selected = await rollback("--to", `${ids[0]}`, "--json");
      expect(JSON.parse(selected.stdout)).toEqual({ brand: "other", presentation: ids[0], before: ids[1] });
      expect(await nameOf()).toBe("Two");
      await rollback();
      expect(await nameOf()).toBe("Three");
      const missing = await rollback("--to", "999");
      expect(missing.code).toBe(1);
      expect(missing.stderr).toMatch(
        /presentation 999 is not stored; stored presentations of other: \d+ \(loaded .*, current\)/,
      );
    });

    test("is removed with its brand", async () => {
      await importText(toml, "--brand", "gone");
      const { code, stdout } = await pds(["brands", "remove", "gone", "--json"], environment);
      expect([code, JSON.parse(stdout)]).toEqual([0, { brand: "gone", generations: 0, presentations: 1 }]);
      expect(await readStored("gone")).toBeUndefined();
    });

    test("can be checked against the feed, and written from it", async () => {
      const template = await pds(["presentation", "template"], environment);
      expect(template).toMatchObject({ code: 0, stderr: "" });
      expect(template.stdout).toContain(
        '# Up to 12 characters\n[styles.NOTE.lines.1]\n# name.en = "Up to 12 characters"\nlimit = 12\n',
      );
      const named = template.stdout.replace(/^# (?=\S*name\.en = )/gm, "");
      const complete = await write(named);
      expect(await pds(["presentation", "check", complete], environment)).toMatchObject({ code: 0, stdout: "" });
      const extended = await write(`${named.replace("# MOTIF", "")}\n[styles.GONE]\nname.de = "Fort"\n`);
      const found = await pds(["presentation", "check", extended], environment);
      expect(found.code).toBe(1);
      expect(found.stdout).toContain("not in the feed: style GONE\n");
      expect(found.stdout).toContain("no name: choice Heart of MOTIF (de)\n");
      await importText(toml, "--force");
      const stored = JSON.parse((await pds(["presentation", "check", "--json"], environment)).stdout);
      expect(stored).toMatchObject({ brand: "acme", entries: 4, names_without_codes: [] });
      expect(stored.codes_without_names).toContain("line 1 of NOTE (de, en)");
    });
  });
}

describe("a presentation file", () => {
  test.each([
    ["[styles.A]\nname.en = 1", /:2: styles\.A\.name\.en: expected a text/],
    ['[styles.A]\nname = "Block"', /:2: styles\.A\.name: expected a table/],
    ['[styles.A]\nname.english_us = "x"', /:2: styles\.A\.name\.english_us: is not a locale such as en/],
    ['[styles.A]\nname.en-us = "x"\nname.en-US = "y"', /:3: .*: repeats the locale en-US in other letters/],
    ['[styles.A]\nname.en = " "', /:2: styles\.A\.name\.en: is empty/],
    ["[styles.A]\nlimit = 3", /:2: styles\.A\.limit: is a field of lines, not of styles and choices/],
    ["[styles.A.lines.1]\nlimits = 3", /:2: styles\.A\.lines\.1\.limits: is not a field; did you mean "limit"\?/],
    ["[styles.A.lines.1]\nlimit = 0", /:2: styles\.A\.lines\.1\.limit: expected at least 1/],
    ['[styles.A.lines.1]\nlimit = "3"', /:2: styles\.A\.lines\.1\.limit: expected a (whole )?number/],
    ['[styles.A.lines.1]\ncharacters = "Z-A"', /:2: .*characters: "Z-A" is not a range/],
    ['[choices.A.B]\nimage = "//host/path.jpg"', /:2: choices\.A\.B\.image: expected an https:.* begins with one \//],
    [`[choices.A.B]\nname.en = "${"😀".repeat(201)}"`, /:2: choices\.A\.B\.name\.en: is longer than 200 characters/],
    ['[choices.A.B]\nimage = "javascript:alert(1)"', /:2: choices\.A\.B\.image: expected an https:/],
    ['[style.A]\nname.en = "x"', /:1: style: "style" is not a table of a presentation; did you mean "styles"\?/],
    ['[styles]\nA = "x"', /:2: styles\.A: expected a table/],
    ["[styles]\nA = 2026-03-08", /:2: styles\.A: expected a table/],
    ["choices = 2026-03-08T06:30:00Z", /:1: choices: expected a table/],
    ["[styles]\nA = {\n  limit = 3,\n}", /:3: styles\.A\.limit: is a field of lines/],
    ['[styles.A]\nname.__proto__ = "x"', /:2: styles\.A\.name\.__proto__: is not a locale such as en/],
    [`[styles.A]\n${"k".repeat(9000)} = 1`, /^.{150,400}…: is not a field/],
    [`${"k".repeat(9000)} = 1`, /^.{150,400}…: "k{80}…" is not a table/],
    [`[styles.A]\nname.en = "${"x".repeat(2 ** 20)}"`, /\d\.toml: invalid TOML: a value is too long/],
    [`[styles.A.lines.1]\ncharacters = "${"A".repeat(1001)}"`, /characters: is longer than 1000 characters/],
    ["[styles.A\n", /presentation-\d+\.toml:2:1: invalid TOML/],
    [Uint8Array.of(0x50, 0x4b, 3, 4), /not a text file/],
  ])("is refused with the line and the reason: %p", async (text, message) => {
    const path = await write(text);
    const problems = await readPresentation(path, path).then(
      ({ rejected }) => rejected.flat().map(formatRejectedRow),
      (error: Error) => [error.message],
    );
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
  });

  test.each([0, 40_000])("may have any code, after %d characters of comment", async (length) => {
    const keys = ["__proto__", "constructor", "toString"];
    const text = keys.map((key) => `[styles.${key}.lines.${key}]\nlimit = 3\n[choices.${key}.${key}]\nimage = "/a"\n`);
    const path = await write(`#${"x".repeat(length)}\n${text.join("")}`);
    const { entries, rejected } = await readPresentation(path, path);
    expect(rejected).toEqual([]);
    expect(new Set(entries)).toEqual(
      new Set(
        keys.flatMap((key) => [
          { style: key, line: key, limit: 3 },
          { group: key, choice: key, image: "/a" },
        ]),
      ),
    );
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  test.each([
    ["values", `a = [${"1,".repeat(200_000)}]`, "at most 200000 tables, keys, and values"],
    ["keys", "a.b=1\n".repeat(200_001), "at most 200000 tables, keys, and values"],
    ["tables", "[a]\n".repeat(200_001), "at most 200000 tables, keys, and values"],
  ])("with any number of %s is refused at once", async (_, text, message) => {
    const path = await write(text);
    await expect(readPresentation(path, path)).rejects.toThrow(message);
  });
});

describe("allowed characters", () => {
  test.each([
    ["A-Z", "ABZ", "a-"],
    ["A-Z-", "A-Z", "az"],
    ["-A", "-A", "B"],
    [" &'", " &'", '"'],
    ["]^\\\\", "]^\\", "["],
    ["\\-+.", "-+.", ",/"],
    ["!-&&", '!"#$%&', "'("],
    ["\\p{L}é", "aéßж", "1 "],
    ["α-ω", "αβω", "a"],
  ])("%p become a class with the flags u and v", (text, allowed, refused) => {
    for (const flag of ["u", "v"]) {
      const pattern = new RegExp(`^${toCharacterClass(text)}$`, flag);
      expect([...allowed].filter((character) => !pattern.test(character))).toEqual([]);
      expect([...refused].filter((character) => pattern.test(character))).toEqual([]);
    }
  });

  test.each([
    ["", /at least one/],
    ["\\p{Nope}", /is not a property of Unicode/],
    ["\\d", /is not supported/],
    ["\\", /expected a character after/],
    ["Z-A", /is not a range/],
  ])("%p are refused", (text, message) => {
    expect(() => toCharacterClass(text)).toThrow(message);
  });
});
