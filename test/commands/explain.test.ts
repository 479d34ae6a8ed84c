import { describe, expect, test } from "bun:test";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import { createMigratedStore, pds, temporaryFolder } from "../support/pds.ts";

const folder = await temporaryFolder();
const environment = { DATABASE_URL: await createMigratedStore("sqlite"), BRAND: "acme" };
await importHere(["import", "personalization", await writeFeed(folder, "feed")], environment);
const lines = feedFiles["pzlines.csv"].replace(/^A\/B.*\n/m, "");
const shorter = await writeFeed(folder, "shorter", { ...feedFiles, "pzlines.csv": lines });
await importHere(["import", "personalization", shorter, "--force"], environment);

describe("pds explain sku", () => {
  test("succeeds for a SKU that is offered, and says how old that is", async () => {
    const { code, stdout, stderr } = await pds(["explain", "sku", "MUG"], environment);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^MUG is offered\.\n- The public API returns 2 styles, from generation 2 of acme, loaded .+ UTC \(.+\); an import last succeeded .+ UTC \(.+\)\.\n/,
    );
    expect(stdout).toEndWith(
      "- If a page shows something else, a browser, a cache, or a CDN may still have an older response.\n",
    );
  });

  test("fails for a SKU that is not, and says why", async () => {
    const { code, stdout, stderr } = await pds(["explain", "sku", "A/B é+"], environment);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(/^A\/B é\+ has no personalization\.\n- Run 2 of acme removed it: generation 2, loaded /);
  });

  test("fails for a brand that does not have it", async () => {
    const { code, stdout } = await pds(["explain", "sku", "MUG", "--brand", "outlet"], environment);
    expect(code).toBe(1);
    expect(stdout).toStartWith(
      "Shoppers see MUG of acme; outlet has no personalization of it.\n- Other brands have it: acme.\n- No feed of out",
    );
  });

  test("prints JSON, with the pages of the console", async () => {
    const { code, stdout } = await pds(["explain", "sku", "mug", "--json"], environment);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      sku: "mug",
      brand: "acme",
      offered: false,
      answer: "mug has no personalization.",
      findings: [
        { kind: "similar", links: [{ text: "MUG", url: "/personalization?sku=MUG" }] },
        { kind: "not-stored", links: [] },
        { kind: "no-product", sentence: "No stored product has a variant with exactly this SKU.", links: [] },
      ],
    });
  });

  test("counts an emoji of the SKU as one character", async () => {
    const { code, stdout } = await pds(["explain", "sku", "😀".repeat(255)], environment);
    expect([code, stdout.split("\n")[0]]).toEqual([1, `${"😀".repeat(255)} has no personalization.`]);
  });

  test.each([
    [[""], "expected a SKU of 1 to 255 characters"],
    [["x".repeat(256)], "expected a SKU of 1 to 255 characters"],
    [["😀".repeat(256)], "expected a SKU of 1 to 255 characters"],
    [["MUG", "--brand", ""], "--brand: "],
    [[], "missing required argument 'sku'"],
  ])("refuses %j", async (args, message) => {
    const { code, stdout, stderr } = await pds(["explain", "sku", ...args], environment);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });
});
