import { describe, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cleanUp } from "../support/clean-up.ts";
import { firefox, openFirefox } from "../support/firefox.ts";
import { importHere } from "../support/import-here.ts";
import { isCampaign, root, serve, temporaryFolder } from "../support/pds.ts";
import { until } from "../support/until.ts";

// The widget and the console in a real Firefox, by keyboard. The other browser tests use Chromium.

if (firefox === undefined) process.stderr.write("Firefox is not installed, so nothing is tested in it.\n");

describe.skipIf(firefox === undefined)("in Firefox", async () => {
  if (firefox === undefined) return;
  const environment = {
    DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}`,
    SHOP_DOMAIN: "larkspur-finch.example",
    BRAND: "Larkspur & Finch",
  };
  await importHere(["import", "products", join(root, "sample", "products.ndjson")], environment);
  await importHere(["import", "personalization", join(root, "sample", "personalization")], environment);
  const [page, service] = await Promise.all([openFirefox(), serve(environment)]);
  cleanUp(() => service.stop());
  const axe = await readFile(join(root, "node_modules", "axe-core", "axe.min.js"), "utf8");

  const problems = async () => {
    await page.evaluate(`(() => { ${axe} })()`);
    return await page.evaluate<string[]>(
      `axe.run(":root", { preload: false }).then(({ violations }) => violations.map(({ id, help, nodes }) =>
        id + ": " + help + ": " + nodes.map(({ target }) => target).join(", ")))`,
    );
  };
  const product = `${service.url}/example/products/6781236019200`;
  const options = `document.querySelector("personalization-options")`;
  const untilShown = () =>
    until("the widget shows its styles", () => page.evaluate(`${options}?.shadowRoot.querySelector("input") != null`));
  const field = `${options}?.shadowRoot?.querySelector("input:not([type=radio])")`;
  const typed = () => page.evaluate<string | undefined>(`${field}?.value`);
  /** Chooses the first style with a text, and types into it. */
  const type = async (text: string) => {
    await page.goto(product);
    // What an earlier test typed.
    await page.evaluate("sessionStorage.clear()");
    await page.goto(`${service.url}/example`);
    await page.goto(product);
    await untilShown();
    await page.evaluate(`${options}.shadowRoot.querySelector("input[type=radio]").focus()`);
    for (let step = 0; step < 20 && (await typed()) === undefined; step++) await page.press("\uE015");
    await page.evaluate(`${field}.focus()`);
    await page.press(...text);
    expect(await typed()).toBe(text);
  };
  /** While the page is being replaced, nothing can be evaluated. */
  const untilTyped = (text: string) =>
    until("the text is there again", async () => (await typed().catch(() => undefined)) === text);

  test("a style is chosen and a text is typed by keyboard, and both are ordered", async () => {
    await type("ABC");
    const entries = await page.evaluate<[string, string][]>(`[...new FormData(${options}.form)]`);
    expect(entries.filter(([name]) => name.startsWith("properties[")).map(([, value]) => value)).toContain("ABC");
    expect(page.faults).toEqual([]);
    expect(await problems()).toEqual([]);
  });

  test("what was typed survives a reload, and is there after a way to another page and back", async () => {
    await type("ABC");
    await page.reload();
    await untilTyped("ABC");
    await page.goto(`${service.url}/example`);
    await page.back();
    await untilTyped("ABC");
    // A page that was kept as it was must still order it.
    const entries = await page.evaluate<[string, string][]>(`[...new FormData(${options}.form)]`);
    expect(entries.map(([, value]) => value)).toContain("ABC");
    expect(page.faults).toEqual([]);
  });

  const screens = [
    ["narrow", 390, 844],
    ["wide", 1280, 800],
  ] as const;
  describe.each(isCampaign ? screens : screens.slice(0, 1))("on a %s screen", (_, width, height) => {
    test.each(
      [
        ...["/", "/runs", "/runs/2", "/products?q=silver", "/products/6781249159168", "/personalization"],
        ...["/personalization?sku=1812234", "/personalization?style=LASFAM", "/replicas"],
      ].map((path) => [path] as const),
    )("the console's page %s fits, and has no errors or accessibility problems", async (path) => {
      const known = page.faults.length;
      await page.resize(width, height);
      await page.goto(service.adminUrl + path);
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      expect(page.faults.slice(known)).toEqual([]);
      // Its frames cannot be looked into, which Firefox calls an error.
      expect(await problems()).toEqual([]);
    });
  });
});
