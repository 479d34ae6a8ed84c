import { beforeAll, describe, expect, test } from "bun:test";
import { feedFiles, quote, toListFile, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { createStore, enginesOf, serveWithAndWithoutCache, temporaryFolder } from "../support/pds.ts";

type Files = Partial<Record<string, string | Uint8Array>>;

for (const engine of enginesOf("sqlite")) {
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL: await createStore(engine), BRAND: "acme" };
  const { text } = await serveWithAndWithoutCache(environment);

  let feeds = 0;
  const importFiles = async (files: Files, ...options: string[]) => {
    const present = Object.entries(files).filter(
      (entry): entry is [string, string | Uint8Array] => entry[1] !== undefined,
    );
    const feed = await writeFeed(folder, `feed-${feeds++}`, Object.fromEntries(present));
    return await importHere(["import", "personalization", feed, ...options], environment);
  };
  const getPersonalization = (sku: string) => text(`/api/v1/products/pz/${encodeURIComponent(sku)}`);
  const newestHistory = async () => {
    const { histories } = JSON.parse(await text("/api/v1/histories")) as { histories: unknown[] };
    return histories[0];
  };
  const nothing = '{"pzlines":[],"pzstyles":[],"pzchoices":[]}';
  const line = (sku: string, style = "SCRIPT", status = "A") => `${sku},${style},1,${status}`;
  const linesOf = (...rows: string[]) => toListFile("pzlines", rows);

  describe(`on ${engine}, an import of personalization`, () => {
    test("keeps every value unchanged", async () => {
      const values = [
        " 010 ",
        "é😀",
        'a "quote"',
        "two\nlines",
        "two\r\nlines",
        "a,b;c\td|e",
        "'; DROP TABLE x",
        "</script>",
        "",
        "NULL",
        "\\N",
      ];
      const rows = values.map((value, index) => `S,${quote(value)},${index},C,${quote(value)}`);
      const styles = toListFile("pzstyles", rows);
      await importFiles({ ...feedFiles, "pzlines.csv": linesOf(line("S", "S")), "pzstyles.csv": styles });
      const { pzstyles } = JSON.parse(await getPersonalization("S"));
      expect(pzstyles.map((style: Record<string, string>) => style.line_status)).toEqual(values);
      expect(pzstyles.map((style: Record<string, string>) => style.instruct_text)).toEqual(values);
    });

    test("keeps the order of the feed for equal display sequences", async () => {
      const skus = ["Z", "A", "M"].map((style) => line("SAME", style));
      const styles = ["M", "Z", "A"].map((style) => `${style},A,1,T${style},`);
      await importFiles({
        "pzlines.csv": linesOf(...skus),
        "pzstyles.csv": toListFile("pzstyles", styles),
        "pzchoices.csv": toListFile("pzchoices", ["TM,A,1,b", "TZ,A,1,z", "TM,A,1,a"]),
      });
      const { pzlines, pzstyles, pzchoices } = JSON.parse(await getPersonalization("SAME"));
      expect(pzlines.map((row: Record<string, string>) => row.style_code)).toEqual(["Z", "A", "M"]);
      expect(pzstyles.map((row: Record<string, string>) => row.style_code)).toEqual(["Z", "A", "M"]);
      expect(pzchoices.map((row: Record<string, string>) => row.choice_value)).toEqual(["z", "b", "a"]);
    });

    const { "pzstyles.csv": styles } = feedFiles;
    const invalidFeeds: [string, Files, RegExp][] = [
      [
        "a missing column",
        { "pzstyles.csv": styles.replace("choice_type", "group") },
        /pzstyles\.csv:1: the header is missing choice_type; it has/,
      ],
      [
        "an empty NDJSON file",
        { "pzlines.csv": undefined, "pzlines.ndjson": "" },
        /pzlines\.ndjson: the file is empty; write an empty list as \[\]/,
      ],
      [
        "a row after a multi-line value",
        { "pzstyles.csv": `${styles.replace("Choose a font", '"Two\nlines"')}x\n` },
        /pzstyles\.csv:8: has 1 field, but the header has 5/,
      ],
      [
        "a number in NDJSON",
        { "pzlines.csv": undefined, "pzlines.ndjson": '{"sku_id":1}' },
        /pzlines\.ndjson:1: sku_id: expected text, got 1/,
      ],
      [
        "a missing field in NDJSON",
        { "pzlines.csv": undefined, "pzlines.ndjson": '\n{"sku_id":"A"}' },
        /pzlines\.ndjson:2: style_code: is missing/,
      ],
      [
        "invalid JSON in NDJSON",
        { "pzlines.csv": undefined, "pzlines.ndjson": "sku_id,style_code" },
        /pzlines\.ndjson:1: invalid JSON/,
      ],
    ];
    describe("of an invalid feed", () => {
      let before: string;
      beforeAll(async () => {
        // Forced, so that the outcome does not depend on earlier tests.
        await importFiles(feedFiles, "--force");
        before = await getPersonalization("MUG");
        expect(before).not.toBe(nothing);
      });

      test.each(invalidFeeds)("names %s and changes nothing", async (_, changes, message) => {
        const { code, stderr, stdout } = await importFiles({ ...feedFiles, ...changes });
        expect(stderr).toMatch(message);
        expect(code).toBe(1);
        expect(stdout).toBe("");
        expect(await getPersonalization("MUG")).toBe(before);
      });
    });

    const rowsOf = (name: string) =>
      Array.from({ length: 200 }, (_, index) =>
        JSON.stringify({
          sku_id: `${name}${index}`,
          style_code: "SCRIPT",
          style_display_seq: "1",
          style_sku_status: "A",
        }),
      );
    test.each<[string, Files, RegExp]>([
      [
        "a row is cut off",
        {
          "pzlines.csv": undefined,
          "pzlines.ndjson": [...rowsOf("A"), rowsOf("B")[0]?.slice(0, 30), ...rowsOf("C")].join("\n"),
        },
        /pzlines\.ndjson:401: the file ends inside the document that starts at line 201/,
      ],
      [
        "a quote is not closed",
        { "pzlines.csv": linesOf(line("A"), '"B,SCRIPT,1,A', line("C")) },
        /pzlines\.csv:3: missing closing quote: the file ends inside this row/,
      ],
    ])("is refused, also by force, when %s: it may hide any number of rows", async (_, changes, message) => {
      await importFiles(feedFiles, "--force");
      const before = await getPersonalization("MUG");
      expect(await importFiles({ ...feedFiles, ...changes }, "--force")).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(message),
      });
      expect(await getPersonalization("MUG")).toBe(before);
    });

    test("of one brand keeps other brands; a SKU of several is the configured brand's", async () => {
      await importFiles({ ...feedFiles, "pzlines.csv": linesOf(line("BOTH", "SCRIPT", "acme"), line("OURS")) });
      await importFiles(
        { ...feedFiles, "pzlines.csv": linesOf(line("BOTH", "SCRIPT", "aaa"), line("THEIRS")) },
        "--brand",
        "aaa",
      );
      expect(await getPersonalization("BOTH")).toContain('"style_sku_status":"acme"');
      expect(await getPersonalization("OURS")).toContain("OURS");
      expect(await getPersonalization("THEIRS")).toContain("THEIRS");
      expect(await newestHistory()).toMatchObject({ brand: "aaa" });
    });
  });
}
