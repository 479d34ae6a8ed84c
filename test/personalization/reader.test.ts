import { describe, expect, test } from "bun:test";
import { parse } from "csv-parse/sync";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { PersonalizationReader, parsePersonalization } from "../../src/personalization/reader.ts";
import { cleanUp } from "../support/clean-up.ts";
import { feedFiles, quote, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { connectTo, createStore, engines, temporaryFolder, writeFiles } from "../support/pds.ts";
import { orderPersonalization } from "../support/personalization.ts";

const folder = await temporaryFolder();

/** Keys that have a meaning in SQL, in a list of PostgreSQL, in JSON, or in a URL. */
const skus = ["plain", 'quo"te', "back\\slash", "{x,y}", "NULL", "it's", "%_", "é", "\u{1f600}", "a b", "a%2Fb"];
const sequences = ["1", "10", "01", "9", 'x"y', "é"];
const statuses = ["A", '"', "\\", "HH", "é", "9"];
const styles = ["SCRIPT", "BLOCK", "NOTE", "MISSING"];

const pick = <Value>(values: readonly Value[], index: number) => values[index % values.length] as Value;
const linesOf = (sku: string, index: number) =>
  styles.slice(0, 1 + (index % styles.length)).map((style, place) => ({
    sku_id: sku,
    style_code: style,
    style_display_seq: pick(sequences, index + place),
    style_sku_status: pick(statuses, index * 2 + place),
  }));
const allLines = skus.flatMap(linesOf);
const toCsv = (rows: readonly object[]) =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))]
    .map((cells) => `${cells.map(quote).join(",")}\n`)
    .join("");
const parseCsv = (text: string): Record<string, string>[] => parse(text, { columns: true });

/** The lists of a SKU by definition: its lines, their styles, and the choices of these. */
function expectedOf(sku: string) {
  const pzlines = allLines.filter((line) => line.sku_id === sku);
  const codes = new Set(pzlines.map((line) => line.style_code));
  const pzstyles = parseCsv(feedFiles["pzstyles.csv"]).filter((row) => codes.has(row.style_code ?? ""));
  const groups = new Set(pzstyles.map((row) => row.choice_type));
  const pzchoices = parseCsv(feedFiles["pzchoices.csv"]).filter((row) => groups.has(row.choice_type));
  return orderPersonalization({ pzlines, pzstyles, pzchoices } as Parameters<typeof orderPersonalization>[0]);
}

for (const engine of engines) {
  describe(`on ${engine}, the reader`, async () => {
    const url = await createStore(engine);
    const importFeed = async (name: string, brand: string, pzlines: string, store = url, files = feedFiles) => {
      const feed = await writeFeed(folder, `${engine}-${name}`, { ...files, "pzlines.csv": pzlines });
      const args = ["import", "personalization", feed, "--brand", brand, "--force"];
      expect(await importHere(args, { DATABASE_URL: store })).toMatchObject({ code: 0 });
    };
    await importFeed("acme", "acme", toCsv(allLines));
    // The same SKU in another brand, which must not hide that of the reader's own.
    const others = ["plain", "only-other"].flatMap((sku) => linesOf(sku, 1));
    await importFeed("other", "other", toCsv(others));
    const database = await openDatabase(url, "serving");
    cleanUp(() => closeDatabase(database));
    const reader = new PersonalizationReader("acme");
    /** The database, with a callback for each statement that it reads with. */
    const observed = (onRead: (statement: string) => void) => {
      const read: typeof database.read = (...query) => {
        onRead(query[0]);
        return database.read(...query);
      };
      return Object.create(database, { read: { value: read } }) as typeof database;
    };

    test("finds the SKUs of concurrent requests, whatever their characters", async () => {
      const asked = [...skus, "plain", "absent", "only-other", "", "{", '"', "a\0b", "\ud800", "plain "];
      for (let round = 0; round < 2; round++) {
        const found = await Promise.all(asked.map((sku) => reader.find(database, sku)));
        const served = new Map(asked.map((sku, index) => [sku, found[index]]));
        for (const sku of skus) {
          const result = served.get(sku);
          expect(result && parsePersonalization(result)).toEqual(expectedOf(sku));
          expect(result?.isEmpty).toBe(false);
        }
        const unknown = asked.filter((sku) => served.get(sku)?.isEmpty);
        expect(unknown).toEqual(["absent", "", "{", '"', "a\0b", "\ud800", "plain "]);
        expect(served.get("only-other")?.isEmpty).toBe(false);
      }
    });

    test("finds several SKUs at once, in their order, with few statements", async () => {
      const asked = [...skus, "absent", "only-other", "", "{", '"', "a\0b", "\ud800"].toReversed();
      const fresh = new PersonalizationReader("acme");
      const expected = await Promise.all(asked.map((sku) => reader.find(database, sku)));
      await fresh.find(database, "absent");
      let statements = 0;
      const counting = observed(() => statements++);
      // Lines, and styles and choice groups of both brands; a store without round trips needs no batches.
      for (const most of [engine === "postgres" ? 5 : 50, 1]) {
        statements = 0;
        const found = await fresh.findAll(counting, asked);
        expect(JSON.parse(Buffer.from(found.body).toString())).toEqual({
          personalizations: asked.map((sku, index) => {
            const { body = new Uint8Array() } = expected[index] ?? {};
            return { sku, ...JSON.parse(Buffer.from(body).toString()) };
          }),
        });
        const fingerprints = new Set(expected.flatMap((each) => each.fingerprints));
        expect(found.fingerprints.toSorted()).toEqual([...fingerprints].toSorted());
        expect(found.isEmpty).toBe(false);
        expect(statements).toBeLessThanOrEqual(most);
      }
      expect(await fresh.findAll(database, ["absent", ""])).toMatchObject({ isEmpty: true });
    });

    test("reads a presentation once for all forms that need it at the same time", async () => {
      const [path = ""] = await writeFiles(folder, { [`${engine}.toml`]: '[styles.SCRIPT]\nname.fr = "Écriture"' });
      const args = ["import", "presentation", path, "--brand", "acme", "--force"];
      expect(await importHere(args, { DATABASE_URL: url })).toMatchObject({ code: 0 });
      const fresh = new PersonalizationReader("acme");
      await fresh.find(database, "plain");
      let documents = 0;
      const counting = observed((statement) => {
        if (statement.includes("FROM presentation WHERE id")) documents++;
      });
      const found = await Promise.all(skus.map((sku) => fresh.findForm(counting, sku, "fr")));
      expect(found.map((form) => "body" in form && Buffer.from(form.body).includes("Écriture"))).not.toContain(false);
      expect(documents).toBe(1);
    });

    test("forgets what it read from another store with the same generations", async () => {
      const otherUrl = await createStore(engine);
      const pzstyles = feedFiles["pzstyles.csv"].replaceAll("Choose a font", "Foreign");
      await importFeed("foreign", "acme", toCsv(allLines), otherUrl, { ...feedFiles, "pzstyles.csv": pzstyles });
      await using own = await connectTo(url);
      await using its = await connectTo(otherUrl);
      const [{ version = "" } = {}] = await own<{ version: string }[]>`SELECT version FROM generation_list`;
      const [{ loaded = "" } = {}] = await own<
        { loaded: string }[]
      >`SELECT loaded_at AS loaded FROM generation WHERE id = 1`;
      await its`UPDATE generation_list SET version = ${version}`;
      await its`UPDATE generation SET loaded_at = ${loaded}`;
      const other = await openDatabase(otherUrl, "serving");
      cleanUp(() => closeDatabase(other));

      const fresh = new PersonalizationReader("acme");
      const isForeign = async (finding: ReturnType<typeof fresh.find>) =>
        Buffer.from((await finding).body)
          .toString()
          .includes("Foreign");
      expect(await isForeign(fresh.find(other, "plain"))).toBe(true);
      // Both have the same ids, so that fragments would be mixed.
      expect(await isForeign(fresh.find(database, "plain"))).toBe(true);
      fresh.forget();
      expect(await isForeign(fresh.find(database, "plain"))).toBe(false);
      fresh.forget();
      const inProgress = fresh.find(other, "plain");
      fresh.forget();
      expect(await isForeign(inProgress)).toBe(true);
      expect(await isForeign(fresh.find(database, "plain"))).toBe(false);
    });

    test("finds nothing in a store without generations", async () => {
      const empty = await openDatabase(await createStore(engine));
      cleanUp(() => closeDatabase(empty));
      for (let round = 0; round < 2; round++) {
        expect(await new PersonalizationReader("acme").find(empty, "plain")).toMatchObject({ isEmpty: true });
      }
    });

    test("gives equal bodies equal tags, and different ones different tags", async () => {
      const found = await Promise.all([...skus, ...skus, "absent"].map((sku) => reader.find(database, sku)));
      const bodies = new Set(found.map(({ body }) => Buffer.from(body).toString()));
      const pairs = new Set(found.map(({ body, tag }) => `${tag} ${Buffer.from(body).toString()}`));
      const tags = new Set(found.map(({ tag }) => tag));
      expect([bodies.size, pairs.size, tags.size]).toEqual(Array(3).fill(skus.length + 1));
    });

    test("answers at once if the store is embedded and the fragments are in memory", async () => {
      await reader.find(database, "plain");
      expect(reader.find(database, "plain") instanceof Promise).toBe(engine === "postgres");
    });

    test("follows the current generations under concurrent requests", async () => {
      const changingUrl = await createStore(engine);
      await importFeed("first", "acme", toCsv(allLines), changingUrl);
      const changing = await openDatabase(changingUrl, "serving");
      cleanUp(() => closeDatabase(changing));
      const fresh = new PersonalizationReader("acme");
      await fresh.find(changing, "plain");
      await using store = await connectTo(changingUrl);
      await store`UPDATE generation_list SET version = 'it''s another'`;
      const before = await Promise.all(skus.map((sku) => fresh.find(changing, sku)));
      expect(before.map((each) => parsePersonalization(each))).toEqual(skus.map(expectedOf));
      await importFeed("next", "acme", toCsv(linesOf("plain", 3)), changingUrl);
      const after = await Promise.all(skus.map((sku) => fresh.find(changing, sku)));
      expect(after.map(({ isEmpty }) => isEmpty)).toEqual(skus.map((sku) => sku !== "plain"));
    });
  });
}
