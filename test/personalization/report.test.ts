import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { toSnakeCase } from "../../src/commands/output.ts";
import { quote, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  connectTo,
  createStore,
  enginesOf,
  isCampaign,
  pds,
  serveWithAndWithoutCache,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";

const columns = {
  pzlines: ["sku_id", "style_code", "style_display_seq", "style_sku_status"],
  pzstyles: ["style_code", "line_status", "line_display_seq", "choice_type", "instruct_text"],
  pzchoices: ["choice_type", "choice_status", "choice_display_seq", "choice_value"],
} as const;
type List = keyof typeof columns;
const listNames = Object.keys(columns) as List[];

/** Rows as written. Some have too many or too few cells, or an empty key. */
type Feed = Readonly<Record<List, readonly (readonly string[])[]>>;

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? quote(cell) : cell);
const toCsv = (rows: readonly (readonly string[])[]) => rows.map((row) => `${row.map(quoted).join(",")}\n`).join("");
const toFiles = (feed: Feed) =>
  Object.fromEntries(listNames.map((list) => [`${list}.csv`, toCsv([columns[list], ...feed[list]])]));

/** A simple model of the report and the responses for a feed. */
class Model {
  accepted = 0;
  duplicates = 0;
  rejected = 0;
  /** Number of rows by column and status code. */
  readonly statuses = new Map<string, Map<string, number>>();
  nonNumericSequences = 0;
  readonly orphans: Record<
    "lines_without_style" | "styles_without_line" | "unused_choice_groups" | "types_without_choices",
    number
  >;
  /** The rows of each list by key, in the order of their last occurrence. */
  readonly #rows: Record<List, Map<string, readonly string[]>> = {
    pzlines: new Map(),
    pzstyles: new Map(),
    pzchoices: new Map(),
  };

  constructor(feed: Feed) {
    const read = {} as Record<List, (readonly string[])[]>;
    for (const list of listNames) {
      read[list] = feed[list].filter((row) => isValid(list, row));
      this.rejected += feed[list].length - read[list].length;
      for (const row of read[list]) this.#take(list, row);
    }
    const of = (list: List, index: number) => read[list].map((row) => row[index] ?? "");
    const [styles, groups] = [new Set(of("pzstyles", 0)), new Set(of("pzchoices", 0))];
    // A replaced row no longer uses its group.
    const usedGroups = new Set([...this.#rows.pzstyles.values()].map((row) => row[3] ?? ""));
    this.orphans = {
      lines_without_style: of("pzlines", 1).filter((style) => !styles.has(style)).length,
      styles_without_line: styles.difference(new Set(of("pzlines", 1))).size,
      unused_choice_groups: groups.difference(usedGroups).size,
      types_without_choices: usedGroups.difference(groups).difference(new Set([""])).size,
    };
  }

  #take(list: List, row: readonly string[]): void {
    const rows = this.#rows[list];
    const key = keyOf(list, row);
    if (rows.delete(key)) this.duplicates++;
    else this.accepted++;
    rows.set(key, row);
    const column = columns[list].find((name) => name.endsWith("_status")) ?? "";
    const status = row[(columns[list] as readonly string[]).indexOf(column)] ?? "";
    const codes = this.statuses.get(column) ?? new Map<string, number>();
    this.statuses.set(column, codes.set(status, (codes.get(status) ?? 0) + 1));
    if (numberOf(sequenceOf(list, row)) === Number.POSITIVE_INFINITY) this.nonNumericSequences++;
  }

  /** The rows of each SKU, style, or choice, in display order. */
  #entities(list: List): Map<string, string> {
    const rowsOf = new Map<string, string[]>();
    const inOrder = [...this.#rows[list]].sort(([, one], [, other]) =>
      compare(sequenceOf(list, one), sequenceOf(list, other)),
    );
    for (const [key, row] of inOrder) {
      const entity = list === "pzchoices" ? key : (row[0] ?? "");
      rowsOf.set(entity, [...(rowsOf.get(entity) ?? []), JSON.stringify(row)]);
    }
    return new Map([...rowsOf].map(([entity, rows]) => [entity, rows.join()]));
  }

  differenceFrom(before: Model, list: List): object {
    const [old, now] = [before.#entities(list), this.#entities(list)];
    return {
      total: now.size,
      added: [...now.keys()].filter((entity) => !old.has(entity)).length,
      changed: [...now].filter(([entity, rows]) => old.has(entity) && old.get(entity) !== rows).length,
      removed: [...old.keys()].filter((entity) => !now.has(entity)).length,
    };
  }

  get skus(): string[] {
    return [...new Set([...this.#rows.pzlines.values()].map(([sku = ""]) => sku))];
  }

  getPersonalization(sku: string): object {
    const inOrder = (list: List, keys: readonly string[], index: number) =>
      [...this.#rows[list].values()]
        .filter((row) => keys.includes(row[index] ?? ""))
        .map((row) => ({ row, group: keys.indexOf(row[index] ?? ""), sequence: sequenceOf(list, row) }))
        .sort((a, b) => a.group - b.group || compare(a.sequence, b.sequence))
        .map(({ row }) => row);
    const distinct = (rows: (readonly string[])[], index: number) => [...new Set(rows.map((row) => row[index] ?? ""))];
    const lines = inOrder("pzlines", [sku], 0);
    const styles = inOrder("pzstyles", distinct(lines, 1), 0);
    const choices = inOrder("pzchoices", distinct(styles, 3), 0);
    const objects = (list: List, rows: (readonly string[])[]) =>
      rows.map((row) => Object.fromEntries(columns[list].map((column, index) => [column, row[index]])));
    return {
      pzlines: objects("pzlines", lines),
      pzstyles: objects("pzstyles", styles),
      pzchoices: objects("pzchoices", choices),
    };
  }
}

const keyIndexes: Record<List, readonly [number, number]> = { pzlines: [0, 1], pzstyles: [0, 2], pzchoices: [0, 3] };
const keyOf = (list: List, row: readonly string[]) => JSON.stringify(keyIndexes[list].map((index) => row[index]));
const sequenceOf = (list: List, row: readonly string[]) => row[2] ?? (list satisfies string);
const isValid = (list: List, row: readonly string[]) =>
  row.length === columns[list].length && keyIndexes[list].every((index) => row[index] !== "");
const numberOf = (text: string) =>
  text.trim() === "" || Number.isNaN(Number(text)) ? Number.POSITIVE_INFINITY : Number(text);
const compare = (a: string, b: string) =>
  numberOf(a) === numberOf(b) ? (a < b ? -1 : a > b ? 1 : 0) : numberOf(a) - numberOf(b);

/** Few names, so that they collide. */
const names = (prefix: string, count: number) =>
  fc.oneof(
    { weight: 15, arbitrary: fc.nat(count - 1).map((number) => `${prefix}${number}`) },
    { weight: 1, arbitrary: fc.constantFrom("", `${prefix},é+`, `${prefix} "quoted"`, `${prefix}\nlines`, " ") },
  );
const sequence = fc.constantFrom("1", "2", "02", "10", "-1", "2.5", " 3 ", "x", "", "1,5");
const status = fc.constantFrom("A", "A", "A", "I", "", "__proto__");
const cells: Record<List, fc.Arbitrary<string[]>> = {
  pzlines: fc.tuple(names("SKU", 8), names("STYLE", 6), sequence, status),
  pzstyles: fc.tuple(names("STYLE", 6), status, sequence, names("GROUP", 4), fc.constantFrom("", "One", 'a "b"\nc')),
  pzchoices: fc.tuple(names("GROUP", 4), status, sequence, names("Choice", 6)),
};
const row = (list: List) =>
  fc.oneof(
    { weight: 12, arbitrary: cells[list] },
    { weight: 1, arbitrary: cells[list].map((whole) => whole.slice(1)) },
    { weight: 1, arbitrary: cells[list].map((whole) => [...whole, "more"]) },
  );
const rows = (list: List) => fc.array(row(list), { maxLength: 25 });
const feed = fc.record({ pzlines: rows("pzlines"), pzstyles: rows("pzstyles"), pzchoices: rows("pzchoices") });
const edit = fc.constantFrom(...listNames).chain((list) =>
  fc.record({
    list: fc.constant(list),
    kind: fc.constantFrom("add", "change", "remove", "repeat", "reverse"),
    index: fc.nat(25),
    row: row(list),
  }),
);
type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

function edited(before: Feed, edits: readonly Edit[]): Feed {
  const after = Object.fromEntries(listNames.map((list) => [list, [...before[list]]])) as Record<
    List,
    (readonly string[])[]
  >;
  for (const { list, kind, index, row: given } of edits) {
    const of = after[list];
    const at = of.length === 0 ? 0 : index % of.length;
    const current = of[at];
    if (kind === "add" || current === undefined) of.splice(at, 0, given);
    else if (kind === "change") of[at] = [...current.slice(0, -1), `${current.at(-1)}!`];
    else if (kind === "remove") of.splice(at, 1);
    else if (kind === "repeat") of.push([...current.slice(0, -1), given.at(-1) ?? ""]);
    else of.reverse();
  }
  return after;
}

let stamps = 0;
/** Adds a row to each list, so that no list is empty and no two feeds are equal. */
function stamped(of: Feed): Feed {
  const stamp = `${stamps++}`;
  return {
    pzlines: [["STAMP", "STAMP", "1", stamp], ...of.pzlines],
    pzstyles: [["STAMP", "A", "1", "STAMP", stamp], ...of.pzstyles],
    pzchoices: [["STAMP", "A", "1", "STAMP"], ...of.pzchoices],
  };
}

const settings = await temporaryFolder();
const [lenient = ""] = await writeFiles(settings, {
  "pds.toml": '[jobs.personalization-import]\nsource = "."\nmax_removed_share = 1\nmax_rejected_share = 1\n',
});

for (const engine of enginesOf("sqlite")) {
  const folder = await temporaryFolder();
  const url = await createStore(engine);
  const environment = { DATABASE_URL: url, BRAND: "acme", PDS_CONFIG: lenient };
  const { text } = await serveWithAndWithoutCache({ ...environment, PDS_CONFIG: "/dev/null" });

  let feeds = 0;
  const feedOf = (files: Readonly<Record<string, string>>) => writeFeed(folder, `feed-${feeds++}`, files);
  /** Imports in a process, which prints for people. */
  const importFiles = async (files: Readonly<Record<string, string>>, change: object = {}) =>
    await pds(["import", "personalization", await feedOf(files)], { ...environment, ...change });
  const reportOf = async (files: Readonly<Record<string, string>>, change: object = {}) => {
    const args = ["import", "personalization", await feedOf(files), "--json"];
    return JSON.parse((await importHere(args, { ...environment, ...change })).stdout);
  };
  const getPersonalization = async (sku: string) =>
    JSON.parse(await text(`/api/v1/products/pz/${encodeURIComponent(sku)}`));
  const lastRun = async () => {
    await using sql = await connectTo(url);
    const [run] = await sql`SELECT * FROM run ORDER BY id DESC LIMIT 1`;
    return { ...run, report: JSON.parse(run.report) };
  };
  const whole = (): Feed => stamped({ pzlines: [], pzstyles: [], pzchoices: [] });

  const oneRejected = ["SKU", ""].map((sku) => [sku, "STAMP", "1", "A"]);

  describe(`on ${engine}, the report of a personalization import`, () => {
    let current: Model;
    const provide = async (of: Feed) => {
      await reportOf(toFiles(of));
      current = new Model(of);
    };
    beforeEach(() => provide(whole()));

    const check = async (of: Feed) => {
      const before = current;
      const model = new Model(of);
      const { personalization, ...report } = await reportOf(toFiles(of));
      current = model;
      const { accepted, duplicates, rejected, orphans } = model;
      expect(report).toMatchObject({ outcome: "succeeded", counts: accepted, accepted, duplicates, rejected });
      expect(report.rejections.reduce((sum: number, { rows: count }: { rows: number }) => sum + count, 0)).toBe(
        rejected,
      );
      const { skus, styles, choices, non_numeric_sequences, statuses } = personalization;
      expect({ skus, styles, choices }).toEqual({
        skus: model.differenceFrom(before, "pzlines"),
        styles: model.differenceFrom(before, "pzstyles"),
        choices: model.differenceFrom(before, "pzchoices"),
      });
      const counts = Object.entries(personalization.orphans as Record<string, { count: number; examples: string[] }>);
      expect(Object.fromEntries(counts.map(([what, { count }]) => [what, count]))).toEqual(orphans);
      for (const [, { count, examples }] of counts) expect(examples).toHaveLength(Math.min(count, 5));
      expect(non_numeric_sequences.count).toBe(model.nonNumericSequences);
      expect(non_numeric_sequences.examples).toHaveLength(Math.min(model.nonNumericSequences, 5));
      expect(
        Object.entries(statuses).map(([column, codes]) => [column, new Map(Object.entries(codes as object))]),
      ).toEqual([...model.statuses]);
      expect(personalization.files.map(({ list, rows }: { list: List; rows: number }) => [list, rows]).sort()).toEqual(
        listNames.map((list) => [list, of[list].length]).sort(),
      );
      for (const sku of new Set([...model.skus, ...before.skus])) {
        expect(await getPersonalization(sku)).toEqual(model.getPersonalization(sku));
      }
    };

    test("and the responses agree with a model of the feed", async () => {
      const edits = fc.array(edit, { maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(feed, edits, async (old, changes) => {
          await check(stamped(old));
          await check(stamped(edited(old, changes)));
        }),
        { numRuns: isCampaign ? 50 : 5, endOnFailure: true },
      );
    }, 600_000);

    test("has no differences if it is the first of its brand", async () => {
      const { personalization } = await reportOf(toFiles(whole()), { BRAND: "new" });
      expect(personalization).toMatchObject({ skus: null, styles: null, choices: null });
    });

    test("counts many thousand rows correctly, and the last row of a key wins", async () => {
      const many = 70_000;
      const lines = (status: string, from = 0) =>
        Array.from({ length: many }, (_, index) => [`SKU-${from + index}`, "BULK", "1", status]);
      const bulk = (...parts: string[][][]): Feed => ({ ...whole(), pzlines: [...whole().pzlines, ...parts.flat()] });
      const [first, second] = [bulk(lines("first"), lines("last")), bulk(lines("last", 30_000))];
      const report = await reportOf(toFiles(first));
      expect(report).toMatchObject({ accepted: many + 3, duplicates: many, rejected: 0 });
      expect(report.personalization.skus.total).toBe(many + 1);
      expect(report.personalization.statuses.style_sku_status).toMatchObject({ first: many, last: many });
      expect(report.notes).toHaveLength(21);
      expect(report.notes[0]).toMatch(
        /pzlines\.csv:70003: duplicate key "SKU-0, BULK", first at line 3; the last one wins$/,
      );
      expect(report.notes.at(-1)).toBe(`${many - 20} more duplicates`);
      for (const index of [0, 1, 49_998, 49_999, 50_000, many - 1]) {
        expect(await getPersonalization(`SKU-${index}`)).toMatchObject({ pzlines: [{ style_sku_status: "last" }] });
      }
      expect((await reportOf(toFiles(second))).personalization.skus).toEqual({
        total: many + 1,
        added: 30_000,
        changed: 1,
        removed: 30_000,
      });
    });

    test("counts a repeated row once, and the response has it in its last position", async () => {
      const again = ["A", "B", "C", "A"].map((style, index) => ["AGAIN", style, "1", `${index}`]);
      const of = stamped({ pzlines: again, pzstyles: [], pzchoices: [] });
      expect(await reportOf(toFiles(of))).toMatchObject({ accepted: 3 + 3, duplicates: 1 });
      expect(await getPersonalization("AGAIN")).toEqual(new Model(of).getPersonalization("AGAIN"));
      expect((await getPersonalization("AGAIN")) as object).toMatchObject({
        pzlines: ["B", "C", "A"].map((style_code) => ({ style_code })),
      });
    });

    test("groups rejected rows by reason, with five examples each, up to twenty reasons", async () => {
      const header = columns.pzlines.join(",");
      const short = Array.from({ length: 7 }, (_, index) => `SHORT-${index},S,1`);
      const empty = Array.from({ length: 6 }, (_, index) => `EMPTY-${index},,1,A`);
      const long = Array.from({ length: 25 }, (_, index) => `LONG-${index},S,1,A${",more".repeat(index + 1)}`);
      const { accepted, rejected, rejections } = await reportOf({
        ...toFiles(whole()),
        "pzlines.csv": [header, "RIGHT,STAMP,1,A", ...short, ...empty, ...long, ""].join("\n"),
      });
      const file = join(folder, `feed-${feeds - 1}`, "pzlines.csv");
      expect({ accepted, rejected }).toEqual({ accepted: 3, rejected: 7 + 6 + 25 });
      expect(rejections.slice(0, 3)).toEqual([
        {
          reason: "has 3 fields, but the header has 4",
          rows: 7,
          examples: short.slice(0, 5).map((text, index) => ({ file, line: 3 + index, text: JSON.stringify(text) })),
        },
        {
          field: "style_code",
          reason: "is empty",
          rows: 6,
          examples: empty.slice(0, 5).map((text, index) => ({ file, line: 10 + index, text: JSON.stringify(text) })),
        },
        {
          reason: "has 5 fields, but the header has 4",
          rows: 1,
          examples: [{ file, line: 16, text: JSON.stringify(long[0]) }],
        },
      ]);
      expect(rejections).toHaveLength(21);
      expect(rejections[19]).toMatchObject({ reason: "has 22 fields, but the header has 4", rows: 1 });
      expect(rejections[20]).toMatchObject({ reason: "other reasons", rows: 25 - 18 });
      expect(rejections[20].examples.map(({ line }: { line: number }) => line)).toEqual([34, 35, 36, 37, 38]);
      expect(await getPersonalization("RIGHT")).toMatchObject({ pzlines: [{ style_code: "STAMP" }] });
      expect(await getPersonalization("SHORT-0")).toMatchObject({ pzlines: [] });
    });

    test("shows examples of orphans and sequences, and counts up to fifty status codes", async () => {
      const codes = Array.from({ length: 60 }, (_, index) => ["MANY", `S${index}`, "1", `codeX-${index}`]);
      const { personalization } = await reportOf({
        "pzlines.csv": toCsv([columns.pzlines, ["SKU", "LOST", "one", "A"], ["SKU", "FOUND", "1", "A"], ...codes]),
        "pzstyles.csv": toCsv([columns.pzstyles, ["FOUND", "A", "1", "TEXT", ""], ["ALONE", "A", "1", "USED", ""]]),
        "pzchoices.csv": toCsv([columns.pzchoices, ["USED", "A", "1", "x"], ["FREE", "A", "2", "x".repeat(100)]]),
      });
      const at = (name: string) => join(folder, `feed-${feeds - 1}`, name);
      const { orphans, non_numeric_sequences, statuses } = personalization;
      expect(orphans).toEqual({
        lines_without_style: {
          count: 61,
          examples: [
            `${at("pzlines.csv")}:2: "LOST"`,
            ...[4, 5, 6, 7].map((line) => `${at("pzlines.csv")}:${line}: "S${line - 4}"`),
          ],
        },
        styles_without_line: { count: 1, examples: [`${at("pzstyles.csv")}:3: "ALONE"`] },
        unused_choice_groups: { count: 1, examples: [`${at("pzchoices.csv")}:3: "FREE"`] },
        types_without_choices: { count: 1, examples: ['"TEXT"'] },
      });
      expect(non_numeric_sequences).toEqual({ count: 1, examples: [`${at("pzlines.csv")}:2: "one"`] });
      expect(Object.keys(statuses.style_sku_status)).toHaveLength(51);
      expect(statuses.style_sku_status).toMatchObject({ A: 2, "codeX-0": 1, "codeX-48": 1, "(others)": 11 });
    });

    test("notes unusual but accepted input", async () => {
      const { "pzlines.csv": lines = "", ...others } = toFiles(whole());
      const { notes } = await reportOf({
        ...others,
        "pzlines.csv": lines.replaceAll(",", ";").replace("\n", ";more\n").replace(/\n$/, ";x\n"),
      });
      const file = join(folder, `feed-${feeds - 1}`, "pzlines.csv");
      expect(notes).toEqual([`${file}: ignored unknown columns: more`, `${file}: read with delimiter ";"`]);
    });

    test("is printed to standard output, and problems to standard error", async () => {
      const { stdout, stderr, code } = await importFiles(
        toFiles({
          ...whole(),
          pzlines: [
            ["SKU", "LOST", "x", "A"],
            ["", "STAMP", "1", "A"],
            ["MORE", "STAMP", "1", ""],
          ],
        }),
      );
      expect(code).toBe(0);
      const at = (name: string) => join(folder, `feed-${feeds - 1}`, name);
      expect(stdout).toContain(`${at("pzlines.csv")}: 3 rows\n`);
      expect(stdout).toMatch(/^SKUs: 2 \(2 added, 0 changed, 1 removed\)$/m);
      expect(stdout).toContain(`lines whose style is not defined: 1\n  ${at("pzlines.csv")}:2: "LOST"\n`);
      expect(stdout).toContain(`display sequences that are not numbers: 1\n  ${at("pzlines.csv")}:2: "x"\n`);
      expect(stdout).toContain('style_sku_status: A 1, "" 1\n');
      expect(stdout).toEndWith("personalization-import: 4 imported for acme\n");
      expect(stderr).toBe(`${at("pzlines.csv")}:3: sku_id: is empty: ",STAMP,1,A"\n`);
    });

    test("is printed to standard error if the import fails", async () => {
      await provide({ ...whole(), pzlines: ["SKU", "MORE"].map((sku) => [sku, "STAMP", "1", "before"]) });
      const refused = toFiles({ ...whole(), pzlines: oneRejected });
      const { stdout, stderr, code } = await importFiles(refused, { PDS_CONFIG: "/dev/null" });
      expect(code).toBe(1);
      expect(stdout).toBe("");
      expect(stderr).toContain('sku_id: is empty: ",STAMP,1,A"\n');
      expect(stderr).toMatch(/^SKUs: 1 \(0 added, 1 changed, 1 removed\)$/m);
      expect(stderr).toEndWith(
        "pds: personalization-import: 1 of 4 rows was rejected (max_rejected_share allows 0%), " +
          "so nothing was changed; use --force to import it anyway\n",
      );
    });

    test("is stored with the run", async () => {
      const printed = await reportOf(toFiles({ ...whole(), pzlines: oneRejected }));
      const { job, brand, outcome, counts, ...report } = printed;
      expect(outcome).toBe("succeeded");
      expect(report.personalization.skus.total).toBe(1);
      const { report: stored, ...run } = await lastRun();
      expect(run).toMatchObject({ job, brand, outcome, counts, reason: null });
      expect(toSnakeCase(stored)).toEqual(report);
    });
  });
}
