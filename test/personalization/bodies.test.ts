import { expect, test } from "bun:test";
import { join } from "node:path";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { PersonalizationReader } from "../../src/personalization/reader.ts";
import { cleanUp } from "../support/clean-up.ts";
import { quote } from "../support/feed.ts";
import { createStore, enginesOf, isCampaign, pds, temporaryFolder } from "../support/pds.ts";

const skus = Number(process.env.BODY_SKUS ?? (isCampaign ? 1_000_000 : 2000));
const styles = 500;
const groups = 40;

const sequences = ["1", "2", "10", "9", "01", " 3", "+3", "-1", ".5", "1.", "x", "", "é", "67108864", "9".repeat(100)];
const texts = ["A", "", '"', "\\", "\u0001", "\u007f", "é", "\u{1f600}", "AB", " ", "\n", "\ufeff", "x".repeat(300)];
const names = ["", '"', "\\", "é", "\u{10ffff}", "\uffff", " ", "{", "\t"];

const pick = <Value>(values: readonly Value[], index: number) => values[index % values.length] as Value;
const skuOf = (index: number) => `${pick(names, index)}SKU-${index}`;
const styleOf = (index: number) => `S${pick(names, index)}${index}`;
const groupOf = (index: number) => `G${pick(names, index)}${index}`;

type Row = Readonly<Record<string, string>>;

/** In the order of the feed. Every tenth style has no rows. */
const linesOf = (index: number): Row[] =>
  Array.from({ length: 1 + (index % 5) }, (_, place) => ({
    sku_id: skuOf(index),
    style_code: styleOf((index * 31 + place * 7) % styles),
    style_display_seq: pick(sequences, index * 3 + place * 4),
    style_sku_status: pick(texts, index + place),
  }));
const rowsOfStyle = (index: number): Row[] =>
  Array.from({ length: index % 10 === 0 ? 0 : 1 + (index % 3) }, (_, place) => ({
    style_code: styleOf(index),
    line_status: pick(texts, index + place),
    line_display_seq: pick(
      sequences.filter((sequence) => sequence !== ""),
      index + place * 5,
    ),
    choice_type: index % 7 === 0 ? "" : groupOf((index + place) % groups),
    instruct_text: pick(texts, index * 2 + place),
  }));
const choicesOf = (index: number): Row[] =>
  Array.from({ length: index % 5 === 0 ? 0 : 1 + (index % 6) }, (_, place) => ({
    choice_type: groupOf(index),
    choice_status: pick(texts, index + place),
    choice_display_seq: pick(sequences, index * 5 + place),
    choice_value: `value ${place} ${pick(names, index)}`,
  }));

const styleRows = new Map(Array.from({ length: styles }, (_, index) => [styleOf(index), rowsOfStyle(index)]));
const choiceRows = new Map(Array.from({ length: groups }, (_, index) => [groupOf(index), choicesOf(index)]));

/** Rows as the contract orders them: numbers, then other texts; equal ones as in the feed. */
function ordered(rows: readonly Row[], column: string): Row[] {
  const numberOf = (text: string) =>
    /^\s*[+-]?(\d+\.?\d*|\.\d+)\s*$/.test(text) ? Number.parseFloat(text) : Number.POSITIVE_INFINITY;
  return rows.toSorted((one, other) => {
    const [a, b] = [one[column] as string, other[column] as string];
    const [x, y] = [numberOf(a), numberOf(b)];
    if (x !== y) return x < y ? -1 : 1;
    if (a === b) return 0;
    return a < b ? -1 : 1;
  });
}

function bodyOf(index: number): string {
  const pzlines = ordered(linesOf(index), "style_display_seq");
  const pzstyles = pzlines.flatMap((line) => ordered(styleRows.get(line.style_code ?? "") ?? [], "line_display_seq"));
  const types = new Set(pzstyles.map((style) => style.choice_type ?? ""));
  const pzchoices = [...types].flatMap((type) => ordered(choiceRows.get(type) ?? [], "choice_display_seq"));
  return JSON.stringify({ pzlines, pzstyles, pzchoices });
}

/** In random order, and one line in eleven is replaced by a later one with the same key. */
async function writeRows(folder: string): Promise<void> {
  const write = async (
    list: string,
    columns: readonly string[],
    rowsOf: (step: number) => readonly Row[],
    steps: number,
  ) => {
    const file = Bun.file(join(folder, `${list}.csv`)).writer();
    file.write(`${columns.join(",")}\n`);
    for (let step = 0; step < steps; step++) {
      for (const row of rowsOf(step)) file.write(`${Object.values(row).map(quote).join(",")}\n`);
      if (step % 1000 === 0) await file.flush();
    }
    await file.end();
  };
  const replaced = Math.ceil(skus / 11);
  // A multiple of a prime that does not divide the number of SKUs, so that each comes once.
  const shuffled = (step: number) => (step * 7919) % skus;
  await write(
    "pzlines",
    Object.keys(linesOf(0)[0] ?? {}),
    (step) =>
      step < replaced
        ? linesOf(step * 11).map((line) => ({ ...line, style_display_seq: "5", style_sku_status: "old" }))
        : linesOf(shuffled(step - replaced)),
    replaced + skus,
  );
  await write("pzstyles", Object.keys(rowsOfStyle(1)[0] ?? {}), (step) => rowsOfStyle(styles - 1 - step), styles);
  await write("pzchoices", Object.keys(choicesOf(1)[0] ?? {}), (step) => choicesOf(groups - 1 - step), groups);
}

test("every response equals an independent rendering byte for byte, with one tag on all engines", async () => {
  const feed = await temporaryFolder();
  await writeRows(feed);
  const tags = new Map<string, bigint>();
  for (const engine of enginesOf("sqlite")) {
    const DATABASE_URL = await createStore(engine);
    expect(await pds(["import", "personalization", feed, "--force"], { DATABASE_URL })).toMatchObject({ code: 0 });
    const database = await openDatabase(DATABASE_URL, "serving");
    cleanUp(() => closeDatabase(database));
    const reader = new PersonalizationReader("default");
    const check = async (index: number) => {
      const { body, tag } = await reader.find(database, skuOf(index));
      const expected = bodyOf(index);
      if (Buffer.from(body).toString() !== expected) expect(Buffer.from(body).toString()).toBe(expected);
      const hash = Bun.hash.wyhash(body);
      if ((tags.get(tag) ?? hash) !== hash) expect().fail(`${skuOf(index)} has the tag of another response`);
      tags.set(tag, hash);
    };
    const concurrent = 16;
    for (let start = 0; start < skus; start += concurrent) {
      const end = Math.min(start + concurrent, skus);
      await Promise.all(Array.from({ length: end - start }, (_, place) => check(start + place)));
    }
  }
  // Each names its SKU, so all differ.
  expect(tags.size).toBe(skus);
});
