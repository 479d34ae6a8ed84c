import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { createOptions, passSecond, productForm, startShop, untilState, widget } from "../support/product-page.ts";
import { until } from "../support/until.ts";

const shop = await startShop();
shop.responses.set("\ufffd", { pzlines: [], pzstyles: [], pzchoices: [] });

const red = widget(`sku="red"`);

async function openTyped(inside = red) {
  const page = await shop.open(productForm(inside));
  await page.getByRole("radio", { name: "BOTH" }).check();
  await page.getByLabel("Name").fill("Ann");
  return page;
}

async function changeSku(page: Page, sku: string, state: string) {
  await page.evaluate(`it.sku = ${JSON.stringify(sku)}`);
  await untilState(page, state);
}

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

  async function openLost(inside = red) {
    const page = await openTyped(inside);
    await page.evaluate(theme);
    await changeSku(page, "gone", "failed");
    return page;
  }

  test("blocks one submission in a theme that disables the form while it adds to the cart", async () => {
    await using page = await openLost(`<fieldset>${red}</fieldset>`);
    const results: boolean[] = [];
    for (let count = 0; count < 5; count++) {
      results.push(await submit(page));
      await until("the theme has added to the cart", () => page.evaluate<boolean>("!it.matches(':disabled')"));
    }
    expect(results).toEqual([false, true, true, true, true]);
  });

  test("does not block again in another language", async () => {
    await using page = await openLost();
    expect(await submit(page)).toBe(false);
    await page.evaluate(`it.labels = { lost: "Nicht mehr dabei: {text}" }`);
    await page.getByRole("alert").getByText("Nicht mehr dabei: Ann").waitFor();
    expect(await submit(page)).toBe(true);
  });

  test("does not block again after another attempt to load fails, and a submission meanwhile", async () => {
    await using page = await openLost();
    expect(await submit(page)).toBe(false);
    const release = shop.hold("gone");
    await page.getByRole("button", { name: "Try again" }).click();
    expect(await submit(page)).toBe(false);
    release();
    await untilState(page, "failed");
    expect(await submit(page)).toBe(true);
  });

  test("blocks again if the text comes back and is lost once more", async () => {
    await using page = await openTyped();
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
    ["a line", "blue", "ready"],
    ["the style", "robe", "ready"],
    ["all of it, because the request fails", "gone", "failed"],
  ])("is kept by the browser's history and comes back with its SKU: %s", async (_, sku, state) => {
    await using page = await openTyped();
    await page.getByLabel("Back").fill("Lee");
    await changeSku(page, sku, state);
    await page.goto(new URL("/page/none", page.url()).href);
    await page.goBack();
    await page.getByLabel("Name").waitFor();
    expect(await page.evaluate<unknown>("it.value")).toEqual({
      style: "BOTH",
      lines: [
        { label: "Name", value: "Ann" },
        { label: "Back", value: "Lee" },
      ],
    });
  });
});

test("A loss has the names that the shopper saw", async () => {
  shop.responses.set("named", createOptions([{ text: "Color", choices: ["NVY"] }], "EMB"));
  await using page = await shop.open(productForm(red));
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
  await using page = await shop.open(productForm(widget(`sku="red" required`)));
  await untilState(page, "ready");
  await changeSku(page, "\ud800", "empty");
  expect(await page.evaluate<boolean>("it.reportValidity()")).toBe(true);
  expect(page.faults).toEqual([]);
});

test.each([
  ["with a button", `<button name="add">Add</button>`],
  ["without a button", ""],
])("Form fields named like methods of a form break neither Enter nor the check, %s", async (_, button) => {
  const names = ["getRootNode", "elements", "requestSubmit", "addEventListener", "submit"];
  const fields = names.map((name) => `<input type="hidden" name="${name}">`).join("");
  const inside = `${fields}${widget(`sku="blue" required`)}${button}`;
  await using page = await shop.open(`<form action="/cart/add" method="post" novalidate>${inside}</form>`);
  await page.evaluate(`window.submissions = 0;
    document.addEventListener("submit", (event) => { submissions++; event.preventDefault(); });`);
  const name = page.getByLabel("Name");
  await name.press("Enter");
  await page.getByText("Please fill this in.").waitFor();
  await name.fill("Ann");
  await name.press("Enter");
  await until("the form is submitted", () => page.evaluate<boolean>("submissions === 1"));
  expect(page.faults).toEqual([]);
});
