import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { startBrowser } from "../support/browser.ts";
import { createOptions, openShop, options, passSecond, productForm } from "../support/product-page.ts";
import { until } from "../support/until.ts";

const browser = await startBrowser();
const shop = await openShop(browser, { hasService: false });
afterAll(() => shop[Symbol.asyncDispose]());

beforeAll(() => {
  shop.responses.set("towel", createOptions([{ text: "Name" }, { text: "Back (optional)" }], "TOWEL"));
  shop.responses.set("short", createOptions([{ text: "Name" }], "TOWEL"));
  shop.responses.set("robe", createOptions([{ text: "Robe name" }], "ROBE"));
  shop.responses.set("plain", { pzlines: [], pzstyles: [], pzchoices: [] });
  shop.responses.set("\ufffd", { pzlines: [], pzstyles: [], pzchoices: [] });
});

const widget = (attributes = "") => options(`id="it" sku="towel" endpoint="/custom" ${attributes}`);

async function openTyped(form: string) {
  const opened = await shop.open(form);
  await opened.page.getByRole("radio", { name: "TOWEL" }).check();
  await opened.page.getByLabel("Name").fill("Ann");
  return opened;
}

const changeSku = async (page: Page, sku: string, state: string) => {
  await page.evaluate(`it.sku = ${JSON.stringify(sku)}`);
  await untilState(page, state);
};
const untilState = (page: Page, state: string) =>
  until(`the element is ${state}`, () => page.evaluate<boolean>(`it.matches(":state(${state})")`));

/** Submits the form and returns whether the theme received the event. */
const submit = (page: Page) =>
  page.evaluate<boolean>(`submitted = false, document.forms[0].requestSubmit(), ${passSecond}, submitted`);

describe("a loss of entered text", () => {
  /** A theme that disables what is around the element while it adds to the cart. */
  const theme = `{
    window.submitted = false;
    const [fieldset] = document.getElementsByTagName("fieldset");
    document.forms[0].addEventListener("submit", (event) => {
      event.preventDefault();
      submitted = true;
      if (fieldset) fieldset.disabled = true, setTimeout(() => (fieldset.disabled = false), 20);
    });
  }`;
  const untilEnabled = (page: Page) =>
    until("the theme has added to the cart", () => page.evaluate<boolean>("!it.matches(':disabled')"));

  test("blocks one submission in a theme that disables the form while it adds to the cart", async () => {
    await using opened = await openTyped(productForm(`<fieldset>${widget()}</fieldset>`));
    const { page } = opened;
    await page.evaluate(theme);
    await changeSku(page, "gone", "failed");
    const results: boolean[] = [];
    for (let count = 0; count < 5; count++) {
      results.push(await submit(page));
      await untilEnabled(page);
    }
    expect(results).toEqual([false, true, true, true, true]);
    await changeSku(page, "towel", "ready");
    expect(await submit(page)).toBe(true);
    await untilEnabled(page);
    await changeSku(page, "gone", "failed");
    expect([await submit(page), await submit(page)]).toEqual([false, true]);
  });

  test("does not block again in another language", async () => {
    await using opened = await openTyped(productForm(widget()));
    const { page } = opened;
    await page.evaluate(theme);
    await changeSku(page, "gone", "failed");
    expect(await submit(page)).toBe(false);
    await page.evaluate(`it.labels = { lost: "Nicht mehr dabei: {text}" }`);
    await page.getByRole("alert").getByText("Nicht mehr dabei: Ann").waitFor();
    expect(await submit(page)).toBe(true);
  });

  test("does not block again after another attempt to load fails, and a submission meanwhile", async () => {
    await using opened = await openTyped(productForm(widget()));
    const { page } = opened;
    await page.evaluate(theme);
    await changeSku(page, "gone", "failed");
    expect(await submit(page)).toBe(false);
    const release = shop.hold("gone");
    await page.getByRole("button", { name: "Try again" }).click();
    expect(await submit(page)).toBe(false);
    release();
    await untilState(page, "failed");
    expect(await submit(page)).toBe(true);
  });

  test("blocks again if the text comes back and is lost once more", async () => {
    await using opened = await openTyped(productForm(widget()));
    const { page } = opened;
    await page.evaluate(theme);
    for (let count = 0; count < 2; count++) {
      shop.retryAfter.push("3600");
      await page.evaluate("void it.reload()");
      await untilState(page, "failed");
      expect([await submit(page), await submit(page)]).toEqual([false, true]);
      await page.evaluate("void it.reload()");
      await untilState(page, "ready");
    }
  });

  test.each([
    ["all of it", "plain", "empty"],
    ["a line", "short", "ready"],
    ["the style", "robe", "ready"],
    ["all of it, because the request fails", "gone", "failed"],
  ])("is kept by the browser's history and comes back with its SKU: %s", async (_, sku, state) => {
    await using opened = await openTyped(productForm(widget()));
    const { page } = opened;
    await page.getByLabel("Back").fill("Lee");
    await changeSku(page, sku, state);
    await page.goto(new URL("/page/none", page.url()).href);
    await page.goBack();
    await page.getByLabel("Name").waitFor();
    expect(await page.evaluate<unknown>("it.value")).toEqual({
      style: "TOWEL",
      lines: [
        { label: "Name", value: "Ann" },
        { label: "Back", value: "Lee" },
      ],
    });
  });
});

test("A loss has the names that the shopper saw", async () => {
  shop.responses.set("named", createOptions([{ text: "Color", choices: ["NVY"] }], "EMB"));
  await using opened = await shop.open(productForm(widget()));
  const { page } = opened;
  await page.route("**/form/en/named", async (route) => {
    const text = await (await route.fetch()).text();
    await route.fulfill({
      body: text.replace('"name":"EMB"', '"name":"Patch"').replace('"name":"NVY"', '"name":"Navy"'),
    });
  });
  for (const name of ["Patch", "Navy"]) {
    await changeSku(page, "named", "ready");
    await page.getByRole("radio", { name }).first().check();
    await changeSku(page, "robe", "ready");
    await page.getByRole("alert").getByText(`personalization: ${name}`).waitFor();
  }
});

test("A SKU with a lone surrogate is unknown, and orders go on", async () => {
  await using opened = await shop.open(productForm(widget("required")));
  const { page } = opened;
  await untilState(page, "ready");
  await changeSku(page, "\ud800", "empty");
  expect(await page.evaluate<boolean>("it.reportValidity()")).toBe(true);
  expect(opened.faults).toEqual([]);
});

test.each([
  ["with a button", `<button name="add">Add</button>`],
  ["without a button", ""],
])("Form fields named like methods of a form break neither Enter nor the check, %s", async (_, button) => {
  const names = ["getRootNode", "elements", "requestSubmit", "addEventListener", "submit"];
  const fields = names.map((name) => `<input type="hidden" name="${name}">`).join("");
  await using opened = await shop.open(
    `<form action="/cart/add" method="post" novalidate>${fields}${options(`id="it" sku="short" endpoint="/custom" required`)}${button}</form>`,
  );
  const { page } = opened;
  await page.evaluate(`window.submissions = 0;
    document.addEventListener("submit", (event) => { submissions++; event.preventDefault(); });`);
  const name = page.getByLabel("Name");
  await name.press("Enter");
  await page.getByText("Please fill this in.").waitFor();
  await name.fill("Ann");
  await name.press("Enter");
  await until("the form is submitted", () => page.evaluate<boolean>("submissions === 1"));
  expect(opened.faults).toEqual([]);
});
