import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { isFirefox } from "../support/browser.ts";
import { createOptions, joinOptions, productForm, startShop, widget } from "../support/product-page.ts";

const shop = await startShop();

const lines = [{ text: "Name" }, { text: "Second (optional)" }, { text: "Font", choices: ["Block"] }];
shop.responses.set("both", joinOptions(createOptions(lines, "NAME"), createOptions([{ text: "Monogram" }], "MONO")));

/** Sets a title with a price for each letter, as a page may do in a handler. */
const setPrice = (...types: string[]) =>
  types
    .map(
      (type) => `it.addEventListener("${type}", () => (it.labels = { title: "$" + JSON.stringify(it.value).length }));`,
    )
    .join("");

/** Opens a page and types "Ann" into the first field, without leaving it. */
async function openTyped(script = "") {
  const page = await shop.open(productForm(widget(`sku="both"`)));
  await page.getByRole("radio", { name: "NAME" }).check();
  await page.evaluate(script);
  await page.getByLabel("Name", { exact: true }).pressSequentially("Ann");
  return page;
}

/** Presses and releases the mouse at a place, as a shopper does, and retries nothing. */
async function clickOnce(page: Page, role: "radio" | "textbox", name: string) {
  const box = await page.getByRole(role, { name, exact: true }).boundingBox();
  if (box === null) throw new Error(`${name} is not visible`);
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
}

const readValue = (page: Page) => page.evaluate<unknown>("it.value");

describe("labels that the page sets in a handler of `change`", () => {
  const events = ["input", "change", "focusout"];
  const monogram = { style: "MONO", lines: [] };
  const typed = { label: "Name", value: "Ann" };
  test.each<[string, string[], unknown]>([
    ["No personalization", ["change"], null],
    ["No personalization", events, null],
    ["MONO", ["change"], monogram],
    ["MONO", events, monogram],
    ["Block", ["change"], { style: "NAME", lines: [typed, { label: "Font", value: "Block" }] }],
  ])("do not undo a click on %s (%j)", async (name, types, value) => {
    await using page = await openTyped(setPrice(...types));
    await clickOnce(page, "radio", name);
    expect(await readValue(page)).toEqual(value);
    expect(page.faults).toEqual([]);
  });

  test.each(["Tab", "click"])("let the focus move to the next field by %s", async (way) => {
    await using page = await openTyped(setPrice("change"));
    if (way === "Tab") await page.keyboard.press("Tab");
    else await clickOnce(page, "textbox", "Second optional");
    await page.keyboard.type("Lee");
    expect(await readValue(page)).toMatchObject({ lines: [{ value: "Ann" }, { label: "Second", value: "Lee" }] });
  });
});

test("Labels do not update the summary at once, which could move a button during a click", async () => {
  await using page = await openTyped();
  const moved = await page.evaluate<number>(`(() => {
    const top = () => document.querySelector("[name=add]").getBoundingClientRect().top;
    const [, second] = it.shadowRoot.querySelectorAll("[part~=input]");
    second.value = "Lee";
    second.dispatchEvent(new InputEvent("input", { bubbles: true }));
    const before = top();
    it.labels = { title: "$1" };
    return top() - before;
  })()`);
  expect(moved).toBe(0);
  await page.locator("[part~=summary]").getByText("Lee").waitFor();
});

test("Labels set in handlers of both `input` and `blur` throw nothing and lose no letter", async () => {
  const count = `{ let count = 0; for (const type of ["input", "blur", "focusout", "change"])
    it.addEventListener(type, () => (it.labels = { title: "T" + count++ })); }`;
  await using page = await openTyped(count);
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Ann");
  expect(page.faults).toEqual([]);
});

test.skipIf(isFirefox)("Labels set during an IME composition do not garble the text", async () => {
  await using page = await openTyped();
  await page.getByLabel("Name", { exact: true }).fill("");
  const session = await page.context().newCDPSession(page);
  const compose = (text: string) =>
    session.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
  await compose("あん");
  await page.evaluate(`it.labels = { title: "名入れ", texts: { Name: "お名前: up to 9 characters" } }`);
  await compose("あんな");
  await session.send("Input.insertText", { text: "杏奈" });
  expect(await readValue(page)).toMatchObject({ lines: [{ label: "お名前", value: "杏奈" }] });
});

test("Labels update every text, limit, and optional choice of the form in place", async () => {
  await using page = await openTyped();
  const controls = await page.evaluateHandle<{ isConnected: boolean }[]>(
    "[...it.shadowRoot.querySelectorAll('input')]",
  );
  const german = {
    title: "Gravur",
    none: "Ohne",
    optional: "freiwillig",
    nothing: "Keine",
    summary: "Ihre Gravur",
    style: "Art",
    counter: "{count} von {limit}",
    texts: { NAME: "Namen", Name: "Vorname: up to 9 characters", Font: "Schrift (freiwillig)", Block: "Blockschrift" },
  };
  await page.evaluate(`it.labels = ${JSON.stringify(german)}`);
  await page.getByRole("radiogroup", { name: "Gravur" }).getByRole("radio", { name: "Ohne" }).waitFor();
  await page.getByRole("group", { name: "Namen" }).getByText("3 von 9").waitFor();
  const font = page.getByRole("radiogroup", { name: "Schrift freiwillig" });
  const choices = `[...it.shadowRoot.querySelectorAll("[part=choices] input")].map(({ value }) => value)`;
  expect(await page.evaluate<string[]>(choices)).toEqual(["", "Block"]);
  await font.getByRole("radio", { name: "Blockschrift" }).check();
  expect(await page.locator("[part~=summary]").innerText()).toMatch(/^Ihre Gravur\s+Art\s+Namen\s+Vorname\s+Ann/);
  expect(await controls.evaluate((all) => all.every((control) => control.isConnected))).toBe(true);
  await page.evaluate("it.labels = {}");
  expect(await page.getByText("3 von 9").count()).toBe(0);
  expect(await page.getByRole("radiogroup", { name: "Font" }).getByRole("radio").count()).toBe(1);
  expect(await readValue(page)).toMatchObject({ lines: [{ label: "Name" }, { label: "Font", value: "Block" }] });
});

test("Setting `required` adds and removes No personalization and keeps the other controls", async () => {
  await using page = await openTyped();
  const none = page.getByRole("radio", { name: "No personalization" });
  const order = () =>
    page
      .getByRole("radio")
      .evaluateAll((radios) => radios.map(({ parentElement }) => parentElement?.innerText.split("\n")[0]));
  for (const isRequired of [true, false, true, false]) {
    await page.evaluate(`it.required = ${isRequired}`);
    expect(await none.count()).toBe(isRequired ? 0 : 1);
    expect((await order())[0]).toBe(isRequired ? "NAME" : "No personalization");
  }
  await page.keyboard.type("abel");
  expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Annabel");
});
