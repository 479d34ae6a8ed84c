import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { accessibilityProblems, type OpenPage, openPage, startBrowser, useFirefox } from "../../support/browser.ts";
import { cleanUp } from "../../support/clean-up.ts";
import { firefox } from "../../support/firefox.ts";
import { importHere } from "../../support/import-here.ts";
import { isCampaign, root, serve, temporaryFolder } from "../../support/pds.ts";
import { until } from "../../support/until.ts";

// The example and the console in a real Firefox. The other tests of pages use Chromium.

if (firefox === undefined) process.stderr.write("Firefox is not installed, so nothing is tested in it.\n");

describe.skipIf(firefox === undefined)("in Firefox", async () => {
  if (firefox === undefined) return;
  useFirefox();
  const environment = {
    DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}`,
    SHOP_DOMAIN: "larkspur-finch.example",
    BRAND: "Larkspur & Finch",
  };
  await importHere(["import", "products", join(root, "sample", "products.ndjson")], environment);
  await importHere(["import", "personalization", join(root, "sample", "personalization")], environment);
  const [browser, service] = await Promise.all([startBrowser(), serve(environment)]);
  cleanUp(() => service.stop());

  const product = `${service.url}/example/products/6781236019200`;
  const styles = (page: Page) => page.locator("personalization-options").getByRole("radio");
  const field = (page: Page) => page.locator("personalization-options").getByRole("textbox").first();
  const entries = (page: Page) =>
    page.evaluate<[string, string][]>(`[...new FormData(document.querySelector("personalization-options").form)]`);
  /** Chooses the first style with a text by keyboard, and types into it. */
  const type = async (page: Page, text: string) => {
    await styles(page).first().waitFor();
    await styles(page).first().focus();
    for (let step = 0; step < 20 && !(await field(page).isVisible()); step++) await page.keyboard.press("ArrowDown");
    await field(page).focus();
    await page.keyboard.type(text);
    expect(await field(page).inputValue()).toBe(text);
  };

  test("a style is chosen and a text is typed by keyboard, and both are ordered", async () => {
    await using opened = await openPage(browser, product);
    const { page, faults } = opened;
    await type(page, "ABC");
    expect(
      (await entries(page)).filter(([name]) => name.startsWith("properties[")).map(([, value]) => value),
    ).toContain("ABC");
    expect(faults).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  test("what was typed survives a reload, and is there after a way to another page and back", async () => {
    await using opened = await openPage(browser, product);
    const { page, faults } = opened;
    const untilTyped = () => until("the text is back", async () => (await field(page).inputValue()) === "ABC");
    await type(page, "ABC");
    await page.reload();
    await untilTyped();
    await page.goto(`${service.url}/example`);
    await page.goBack();
    await untilTyped();
    // A page that was kept as it was must still order it.
    expect((await entries(page)).map(([, value]) => value)).toContain("ABC");
    // The page may have been left while a request was under way.
    expect(faults.filter((fault) => !fault.endsWith("NS_BINDING_ABORTED"))).toEqual([]);
  });

  const screens = [
    ["narrow", 390, 844],
    ["wide", 1280, 800],
  ] as const;
  describe.each(isCampaign ? screens : screens.slice(0, 1))("on a %s screen", (_, width, height) => {
    let opened: OpenPage;
    beforeAll(async () => {
      opened = await openPage(browser, `${service.adminUrl}/`, { viewport: { width, height } });
    });
    afterAll(() => opened[Symbol.asyncDispose]());

    test.each(
      [
        ...["/", "/runs", "/runs/2", "/products?q=silver", "/products/6781249159168", "/personalization"],
        ...["/personalization?sku=1812234", "/personalization?style=LASFAM"],
      ].map((path) => [path] as const),
    )("the console's page %s fits, and has no errors or accessibility problems", async (path) => {
      const { page } = opened;
      const listErrors = () => opened.faults.filter((fault) => /^(error|uncaught):/.test(fault));
      const known = listErrors().length;
      await page.goto(service.adminUrl + path);
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      expect(listErrors().slice(known)).toEqual([]);
      // Its frames cannot be looked into, which Firefox calls an error.
      expect(await accessibilityProblems(page)).toEqual([]);
    });
  });
});
