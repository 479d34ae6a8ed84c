import { expect, test } from "bun:test";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { FormRenderer } from "../../src/personalization/form.ts";
import { formsInGeneration } from "../../src/personalization/generation-reader.ts";
import { toGroup, toStyle } from "../../src/personalization/render.ts";
import { toListFile, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { createStore, temporaryFolder } from "../support/pds.ts";

const encode = (text: string) => new TextEncoder().encode(text);

test("a form of more than 16 MB is refused before the rest of it is written", () => {
  const choice = { choice_type: "G", choice_status: "A", choice_display_seq: "1", choice_value: "x".repeat(2 ** 20) };
  const line = { style_code: "S", line_status: "A", line_display_seq: "1", choice_type: "G", instruct_text: "Pick" };
  const group = toGroup({ number: 1, name: "G", rows: encode(JSON.stringify(choice)) });
  const rows = encode(Array(5).fill(JSON.stringify(line)).join(","));
  let written = 0;
  // Each writes the value ten times: as the name of the choice, too.
  const styles = Array.from({ length: 100 }, (_, number) => {
    const style = toStyle({ number, code: `S${number}`, rows, groups: [1] });
    return Object.defineProperty(style, "rows", {
      get: () => {
        written++;
        return rows;
      },
    });
  });
  const forms = new FormRenderer("acme", undefined, "en", 2 ** 25);
  const parts = { sku: "SKU", lines: new Uint8Array(), styles, groups: [group] };
  const find = () => forms.find({} as never, "SKU", "en", () => parts);
  expect(find).toThrow("The form is larger than 16 MB");
  expect(written).toBe(2);
});

test("the forms of a generation are those that were served: none that is too large", async () => {
  const choices = Array.from({ length: 1000 }, (_, index) => `G,A,${index},${index}${"x".repeat(100)}`);
  const lines = Array.from({ length: 150 }, (_, index) => `BIG,A,${index},G,Pick ${index}`);
  const feed = await writeFeed(await temporaryFolder(), "feed", {
    "pzlines.csv": toListFile("pzlines", ["LARGE,BIG,1,A", "SMALL,NOTE,1,A"]),
    "pzstyles.csv": toListFile("pzstyles", [...lines, "NOTE,A,1,TEXT,Anything"]),
    "pzchoices.csv": toListFile("pzchoices", choices),
  });
  const url = await createStore("sqlite");
  const environment = { DATABASE_URL: url, BRAND: "acme" };
  expect(await importHere(["import", "personalization", feed], environment)).toMatchObject({ code: 0 });
  const database = await openDatabase(url);
  const listForms = (sku: string) =>
    Array.fromAsync(formsInGeneration(database, { id: 1, brand: "acme" }, sku, "en"), ({ isEmpty }) => isEmpty);
  expect(await listForms("SMALL")).toEqual([false]);
  expect(await listForms("LARGE")).toEqual([]);
  expect(await listForms("ABSENT")).toEqual([]);
  await closeDatabase(database);
});
