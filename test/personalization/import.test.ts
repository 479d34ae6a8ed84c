import { beforeAll, describe, expect, test } from "bun:test";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { casesFor, createStore, engines, pds, serveWithAndWithoutCache, temporaryFolder } from "../support/pds.ts";

type Files = Partial<Record<string, string | Uint8Array>>;

/** A feed's CSV as NDJSON, for the simple files of these tests. */
function toNdjson(csv: string): string {
  const [header = "", ...rows] = csv.trimEnd().split("\n");
  const columns = header.split(",");
  const cells = (row: string) =>
    [...row.matchAll(/"((?:[^"]|"")*)"|([^,]+)/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain);
  const toObject = (row: string) => Object.fromEntries(columns.map((column, index) => [column, cells(row)[index]]));
  return rows.map((row) => JSON.stringify(toObject(row))).join("\n");
}

for (const engine of engines) {
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL: await createStore(engine), BRAND: "acme" };
  const { text } = await serveWithAndWithoutCache(environment);

  let feeds = 0;
  const importing = async (files: Files, ...options: string[]) => {
    const present = Object.entries(files).filter(
      (entry): entry is [string, string | Uint8Array] => entry[1] !== undefined,
    );
    const feed = await writeFeed(folder, `feed-${feeds++}`, Object.fromEntries(present));
    return await pds(["import", "personalization", feed, ...options], environment);
  };
  const answer = (sku: string) => text(`/api/v1/products/pz/${encodeURIComponent(sku)}`);
  const newestHistory = async () => {
    const { histories } = JSON.parse(await text("/api/v1/histories")) as { histories: unknown[] };
    return histories[0];
  };
  const nothing = '{"pzlines":[],"pzstyles":[],"pzchoices":[]}';
  const line = (sku: string, style = "SCRIPT", status = "A") => `${sku},${style},1,${status}`;
  const linesOf = (...rows: string[]) =>
    ["sku_id,style_code,style_display_seq,style_sku_status", ...rows, ""].join("\n");

  describe(`on ${engine}, an import of personalization`, () => {
    test("reads CSV and NDJSON alike, and replaces the whole set", async () => {
      await importing({ ...feedFiles, "pzlines.csv": linesOf(line("OLD")) });
      expect((await importing(feedFiles)).code).toBe(0);
      const fromCsv = await answer("MUG");
      expect(fromCsv).toContain('"choice_value":"Heart"');
      expect(await answer("OLD")).toBe(nothing);
      expect(await newestHistory()).toMatchObject({ brand: "acme", counts: 12 });

      await importing({ ...feedFiles, "pzlines.csv": linesOf(line("OLD")) });
      const ndjson = Object.entries(feedFiles).map(([name, csv]) => [name.replace(".csv", ".ndjson"), toNdjson(csv)]);
      expect((await importing(Object.fromEntries(ndjson))).code).toBe(0);
      expect(await answer("MUG")).toBe(fromCsv);
      expect(await answer("OLD")).toBe(nothing);
    });

    test("leaves every value as it came", async () => {
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
      const quoted = (value: string) => `"${value.replaceAll('"', '""')}"`;
      const rows = values.map((value, index) => `S,${quoted(value)},${index},C,${quoted(value)}`);
      const styles = ["style_code,line_status,line_display_seq,choice_type,instruct_text", ...rows, ""].join("\n");
      await importing({ ...feedFiles, "pzlines.csv": linesOf(line("S", "S")), "pzstyles.csv": styles });
      const { pzstyles } = JSON.parse(await answer("S"));
      expect(pzstyles.map((style: Record<string, string>) => style.line_status)).toEqual(values);
      expect(pzstyles.map((style: Record<string, string>) => style.instruct_text)).toEqual(values);
    });

    test("takes columns in any order, and tells those that it does not know", async () => {
      const pzlines = "extra,style_sku_status,sku_id,style_display_seq,more,style_code\nx,A,MUG,1,y,BLOCK\n";
      const { code, stderr } = await importing({ ...feedFiles, "pzlines.csv": pzlines });
      expect(code).toBe(0);
      expect(stderr).toMatch(/pzlines\.csv: unknown columns, left out: extra, more/);
      expect(JSON.parse(await answer("MUG")).pzlines).toEqual([
        { sku_id: "MUG", style_code: "BLOCK", style_display_seq: "1", style_sku_status: "A" },
      ]);
    });

    test("tells a key that comes twice, and the last one wins", async () => {
      const pzlines = linesOf(line("MUG", "BLOCK", "first"), line("CUP"), line("MUG", "BLOCK", "last"));
      const { code, stderr } = await importing({ ...feedFiles, "pzlines.csv": pzlines });
      expect(code).toBe(0);
      expect(stderr).toMatch(/pzlines\.csv:4: duplicate key "MUG, BLOCK", first at line 2; the last one wins/);
      expect(JSON.parse(await answer("MUG")).pzlines).toMatchObject([{ style_sku_status: "last" }]);
      expect(await newestHistory()).toMatchObject({ counts: 2 + 5 + 4 });
    });

    test("keeps the order of the feed where display sequences are the same", async () => {
      const skus = ["Z", "A", "M"].map((style) => line("SAME", style));
      const styles = ["M", "Z", "A"].map((style) => `${style},A,1,T${style},`);
      await importing({
        "pzlines.csv": linesOf(...skus),
        "pzstyles.csv": ["style_code,line_status,line_display_seq,choice_type,instruct_text", ...styles, ""].join("\n"),
        "pzchoices.csv": [
          "choice_type,choice_status,choice_display_seq,choice_value",
          "TM,A,1,b",
          "TZ,A,1,z",
          "TM,A,1,a",
          "",
        ].join("\n"),
      });
      const { pzlines, pzstyles, pzchoices } = JSON.parse(await answer("SAME"));
      expect(pzlines.map((row: Record<string, string>) => row.style_code)).toEqual(["Z", "A", "M"]);
      expect(pzstyles.map((row: Record<string, string>) => row.style_code)).toEqual(["Z", "A", "M"]);
      expect(pzchoices.map((row: Record<string, string>) => row.choice_value)).toEqual(["z", "b", "a"]);
    });

    test("loads more rows than fit one statement", async () => {
      const rows = Array.from({ length: 12_345 }, (_, index) => line(`BULK-${index}`));
      expect((await importing({ ...feedFiles, "pzlines.csv": linesOf(...rows) })).code).toBe(0);
      for (const index of [0, 999, 1000, 12_344]) expect(await answer(`BULK-${index}`)).toContain(`"BULK-${index}"`);
    });

    const { "pzlines.csv": lines, "pzstyles.csv": styles } = feedFiles;
    const refusals: [string, Files, RegExp][] = [
      ["a missing file", { "pzchoices.csv": undefined }, /there is no pzchoices\.csv and no pzchoices\.ndjson/],
      ["a file that is there twice", { "pzlines.ndjson": "" }, /both .*pzlines\.csv and .*pzlines\.ndjson are there/],
      [
        "a missing column",
        { "pzstyles.csv": styles.replace("choice_type", "group") },
        /pzstyles\.csv:1: the header lacks choice_type; it has/,
      ],
      [
        "a column that is there twice",
        { "pzlines.csv": lines.replace("sku_id,", "sku_id,sku_id,") },
        /pzlines\.csv:1: the header has sku_id twice/,
      ],
      ["an empty file", { "pzchoices.csv": "" }, /pzchoices\.csv: empty; expected a header of choice_type,/],
      [
        "an empty NDJSON file",
        { "pzlines.csv": undefined, "pzlines.ndjson": "" },
        /pzlines\.ndjson: empty; an empty list is written as \[\]/,
      ],
      [
        "a row too short",
        { "pzlines.csv": linesOf(line("A"), "B,C,1") },
        /pzlines\.csv:3: has 3 fields where the header has 4/,
      ],
      [
        "a row too long",
        { "pzlines.csv": linesOf(`${line("A")},x`) },
        /pzlines\.csv:2: has 5 fields where the header has 4/,
      ],
      ["an empty SKU", { "pzlines.csv": linesOf(line("A"), line("")) }, /pzlines\.csv:3: sku_id: is empty/],
      [
        "a SKU too long",
        { "pzlines.csv": linesOf(line("x".repeat(256))) },
        /pzlines\.csv:2: sku_id: is longer than 255 characters/,
      ],
      ["a NUL", { "pzlines.csv": linesOf(line("A\0")) }, /pzlines\.csv:2: sku_id: holds a NUL character/],
      ["an open quote", { "pzlines.csv": linesOf(line("A"), '"B,C,1,A') }, /pzlines\.csv:\d+: .*[Qq]uot/],
      ["a stray quote", { "pzlines.csv": linesOf('A"B,C,1,A') }, /pzlines\.csv:2: .*[Qq]uot/],
      [
        "a row behind a value of several lines",
        { "pzstyles.csv": `${styles.replace("Choose a font", '"Two\nlines"')}x\n` },
        /pzstyles\.csv:8: has 1 fields/,
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
        "no JSON in NDJSON",
        { "pzlines.csv": undefined, "pzlines.ndjson": "sku_id,style_code" },
        /pzlines\.ndjson:1: not JSON/,
      ],
      [
        "bytes that are no text",
        { "pzchoices.csv": new Uint8Array([0x00, 0xfe, 0x01, 0x80]) },
        /pzchoices\.csv: not text: it begins with binary data/,
      ],
    ];
    describe("of a wrong feed", () => {
      let before: string;
      beforeAll(async () => {
        // Whatever the test before left there is no reason to refuse this.
        await importing(feedFiles, "--force");
        before = await answer("MUG");
        expect(before).not.toBe(nothing);
      });

      test.each(casesFor(engine, refusals))("names %s and changes nothing", async (_, changes, message) => {
        const { code, stderr, stdout } = await importing({ ...feedFiles, ...changes });
        expect(stderr).toMatch(message);
        expect(code).toBe(1);
        expect(stdout).toBe("");
        expect(await answer("MUG")).toBe(before);
      });
    });

    test("of one brand leaves another's alone; a SKU of both is the configured brand's", async () => {
      await importing({ ...feedFiles, "pzlines.csv": linesOf(line("BOTH", "SCRIPT", "acme"), line("OURS")) });
      await importing(
        { ...feedFiles, "pzlines.csv": linesOf(line("BOTH", "SCRIPT", "aaa"), line("THEIRS")) },
        "--brand",
        "aaa",
      );
      expect(await answer("BOTH")).toContain('"style_sku_status":"acme"');
      expect(await answer("OURS")).toContain("OURS");
      expect(await answer("THEIRS")).toContain("THEIRS");
      expect(await newestHistory()).toMatchObject({ brand: "aaa" });
    });

    test("can be rolled back, and an old generation does not stay forever", async () => {
      for (const status of ["1", "2", "3", "4"]) {
        await importing({ ...feedFiles, "pzlines.csv": linesOf(line("ROLL", "SCRIPT", status)) });
      }
      const status = async () => JSON.parse(await answer("ROLL")).pzlines[0].style_sku_status;
      const rollback = async () => (await pds(["rollback", "personalization"], environment)).code;
      expect(await status()).toBe("4");
      expect([await rollback(), await status()]).toEqual([0, "3"]);
      expect([await rollback(), await status()]).toEqual([0, "2"]);
      expect([await rollback(), await status()]).toEqual([1, "2"]);
    });
  });
}
