import { describe, expect, test } from "bun:test";
import { accessibilityProblems } from "../support/browser.ts";
import {
  add,
  createOptions,
  hasFocus,
  openShared,
  passSecond,
  productForm,
  readEvents,
  readyAfter,
  show,
  showReady,
  startShop,
  untilEvent,
  widget,
} from "../support/product-page.ts";
import { until } from "../support/until.ts";

// The text on the screen is the one that is ordered, however it got there, and however it is sent.

const shop = await startShop();
const page = await openShared(shop);

shop.responses.set("moved", createOptions([{ text: "Back (optional)" }, { text: "Name" }], "BOTH"));

const open = (attributes: string) => showReady(page, productForm(widget(attributes)));

const readLines = () =>
  page.evaluate<string[]>(`[...new FormData(document.forms[0])]
    .filter(([name]) => /^properties\\[(?!_|Style)/.test(name)).map(([, value]) => value)`);

describe("while the shopper types", () => {
  test.each([
    ["another variant", "blue", "it.sku = 'blue'"],
    ["another language", "red", "document.documentElement.lang = 'fr'"],
    ["another place of the line", "moved", "it.sku = 'moved'"],
  ])("%s takes neither a letter nor the caret", async (_, sku, change) => {
    await open(`sku="red" required`);
    const name = page.getByLabel("Name");
    await name.pressSequentially("Anel");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    shop.requests.length = 0;
    const release = shop.hold(sku);
    await page.evaluate(`events.length = 0, ${change}`);
    await until("the service receives the request", () => shop.requests.length === 1);
    await page.keyboard.type("na");
    release();
    await untilEvent(page, "ready");
    await page.keyboard.type("b");
    expect(await name.inputValue()).toBe("Annabel");
    expect(await readLines()).toEqual(["Annabel"]);
  });

  const letters = [..."ABCDEFGHI"];
  const becomeAfter = () => readyAfter(page, "it.sku = 'after'");
  test.each([
    ["of several lines", { text: "Name: up to 20 characters" }, { text: "Name: up to 200 characters" }],
    ["of one line", { text: "Name: up to 200 characters" }, { text: "Name: up to 20 characters" }],
  ])("a text field becomes one %s, with the focus and the caret", async (_, before, after) => {
    shop.responses.set("before", createOptions([before]));
    shop.responses.set("after", createOptions([after]));
    await open(`sku="before"`);
    await page.getByRole("radio", { name: "STYLE" }).check();
    await page.getByLabel("Name").fill(before.text.includes("200") ? "For\nAnnbel" : "For Annbel");
    for (const key of ["ArrowLeft", "ArrowLeft", "ArrowLeft"]) await page.keyboard.press(key);
    await becomeAfter();
    expect(await readLines()).toEqual(["For Annbel"]);
    await page.keyboard.type("a");
    expect(await page.getByLabel("Name").inputValue()).toBe("For Annabel");
  });

  test("a list becomes radio buttons, with the focus", async () => {
    shop.responses.set("before", createOptions([{ text: "Letter", choices: letters }]));
    shop.responses.set("after", createOptions([{ text: "Letter", choices: letters.slice(0, 3) }]));
    await open(`sku="before" required`);
    await page.getByLabel("Letter").selectOption("B");
    await page.getByLabel("Letter").focus();
    await becomeAfter();
    await page.keyboard.press("ArrowDown");
    expect(await readLines()).toEqual(["C"]);
  });

  test.each([
    ["the line is gone", [{ text: "Front" }]],
    ["the text becomes radio buttons", [{ text: "Name", choices: ["A", "B"] }]],
    ["the text becomes a list", [{ text: "Name", choices: letters }]],
  ])("keys change nothing where %s", async (_, lines) => {
    shop.responses.set("after", createOptions(lines, "BOTH"));
    await open(`sku="blue"`);
    await page.getByRole("radio", { name: "BOTH" }).check();
    await page.getByLabel("Name").focus();
    await becomeAfter();
    for (const key of ["A", " ", "ArrowUp"]) await page.keyboard.press(key);
    expect(await page.getByRole("radio", { name: "BOTH" }).isChecked()).toBe(true);
    expect(await readLines()).toEqual([]);
    expect(await page.evaluate<boolean>("document.activeElement === it")).toBe(true);
  });

  test("a variant that does not offer the line says so, with the focus", async () => {
    await open(`sku="red"`);
    await page.getByRole("radio", { name: "BOTH" }).check();
    await page.getByLabel("Name").pressSequentially("Ann");
    await page.evaluate("it.sku = 'robe'");
    const notice = page.getByRole("alert");
    await notice.getByText("no longer includes this personalization: Ann").waitFor();
    expect(await hasFocus(notice)).toBe(true);
  });
});

test("the first click after a loss changes the notice, shows it, and focuses it", async () => {
  await showReady(page, `${productForm(widget(`sku="red"`))}<p style="height: 3000px"></p>`);
  await page.getByRole("radio", { name: "BOTH" }).check();
  await page.getByLabel("Name").fill("Ann");
  await page.evaluate("it.sku = 'plain'");
  const notice = page.getByRole("alert");
  const text = "Your order no longer includes this personalization: Ann";
  await notice.getByText(text).waitFor();
  await page.getByRole("button", { name: "Add to cart" }).focus();
  const before = await notice.screenshot();
  await page.evaluate("{ const now = performance.now(); performance.now = () => now; }");
  await page.evaluate(`document.querySelector("[name=add]").style.cssText = "position: absolute; top: 2000px"`);
  await add(page);
  await notice.getByText(`${text} Nothing was added yet. Add again to order without it.`).waitFor();
  expect(await hasFocus(notice)).toBe(true);
  const { y = -1, height = 0 } = (await notice.boundingBox()) ?? {};
  expect(y).toBeGreaterThanOrEqual(0);
  expect(y + height).toBeLessThanOrEqual(page.viewportSize()?.height ?? 0);
  expect((await notice.screenshot()).equals(before)).toBe(false);
  expect(await accessibilityProblems(page, "main")).toEqual([]);
  // The second click of a double click, however long it takes here.
  await add(page);
  await page.evaluate(`delete performance.now, ${passSecond}`);
  await page.evaluate(`document.addEventListener("submit", (event) => event.preventDefault(), { once: true })`);
  await add(page);
  expect(await notice.innerText()).toBe(text);
});

shop.responses.set("font", createOptions([{ text: "Font", choices: ["Block"] }], "BOTH"));
test.each([
  ["a loss, before a line that is missing", "div", "font", /: Ann Nothing was added yet/],
  ["a loss, in a closed <details>", "details", "plain", /: Ann Nothing was added yet/],
  ["a loss, in a tab that is not shown", "div hidden", "plain", /: Ann Nothing was added yet/],
  ["a line that is missing, in a closed <details>", "details", "red", /^Please fill this in\.$/],
  ["a line that is missing, in a tab that is not shown", "div hidden", "red", /^Name: Please fill this in\.$/],
])("what blocks an order is shown: %s", async (_, tag, sku, message) => {
  const said: string[] = [];
  page.on("dialog", (dialog) => {
    said.push(dialog.message());
    void dialog.accept();
  });
  await showReady(page, productForm(`<${tag}>${widget(`sku="red"`)}</${tag.split(" ")[0]}>`));
  await page.evaluate(`it.shadowRoot.querySelector("[part~=styles] label:last-child input").click()`);
  if (sku !== "red") {
    await readyAfter(page, `it.shadowRoot.querySelector("#line-0").value = "Ann", it.sku = "${sku}"`);
  }
  await add(page);
  if (tag !== "div hidden") await page.getByText(message).waitFor();
  expect(said).toEqual(tag === "div hidden" ? [expect.stringMatching(message)] : []);
  page.removeAllListeners("dialog");
});

/** Ways to read a form that pages have: each returns the lines of the order. */
const readers = {
  FormData: "[...new FormData(form)]",
  // As serializeArray() of jQuery 3 and 4 does.
  jQuery: `[...form.elements].filter((one) => one.name && !one.matches(":disabled") &&
    /^(input|select|textarea|keygen)$/i.test(one.nodeName) && !/^(submit|button|image|reset|file)$/i.test(one.type))
    .map(({ name, value }) => [name, value])`,
  "the names of form.elements": `[...form.elements].filter(({ name, type }) => name.startsWith("properties[") &&
    type.startsWith("hidden")).map(({ name }) => [name, form.elements[name].value])`,
  "the fields inside the element": `[...it.querySelectorAll("input")].map(({ name, value }) => [name, value])`,
};

describe("a form", () => {
  const read = (reader: string) =>
    page.evaluate<[string, string][]>(
      `{ const form = document.forms[0]; ${reader}.filter(([name]) => name.startsWith("properties[")) }`,
    );
  const expected: [string, string][] = [
    ["properties[Style]", "BOTH"],
    ["properties[Name]", "Ann"],
    ["properties[_style]", "BOTH"],
    ["properties[_personalization]", expect.any(String)],
  ];

  const outside = `<form id="product" action="/cart/add"></form><div>${widget(`sku="red" required form="product"`)}</div>`;
  describe.each([
    ["around the element", productForm(widget(`sku="red" required`))],
    ["that the element names", outside],
  ])("%s", (_, markup) => {
    test.each(Object.entries(readers))("has the order once, read by %s", async (_, reader) => {
      await showReady(page, markup);
      await page.getByLabel("Name").fill("Ann");
      expect(await read(reader)).toEqual(expected);
      // A framework that sets the fallback content.
      await page.evaluate(`it.textContent = "Call us."`);
      expect(await read(reader)).toEqual(expected);
      await page.evaluate("it.disabled = true");
      expect(await read(reader)).toEqual([]);
      await page.evaluate("it.disabled = false, document.forms[0].reset()");
      expect((await read(reader)).map(([name]) => name)).not.toContain("properties[Name]");
    });
  });

  test("of a copy has what the original has, until the copy shows options of its own", async () => {
    await open(`sku="blue" required`);
    await page.getByLabel("Name").fill("Ann");
    const release = shop.hold("blue");
    const copy = `events.length = 0, window.copy = document.forms[0].cloneNode(true)`;
    expect(await page.evaluate<string[]>(`${copy}, [...new FormData(copy).values()]`)).toContain("Ann");
    await page.evaluate(`document.querySelector("main").append(copy)`);
    expect(await page.evaluate<string[]>(`[...new FormData(copy).values()]`)).toContain("Ann");
    release();
    await untilEvent(page, "ready");
    expect(await page.evaluate<string[]>(`[...new FormData(document.forms[1]).values()]`)).not.toContain("Ann");
  });
});

describe("a text that the browser or a program filled in", () => {
  const fill = {
    "with `change` alone": `field.value = "Anna", field.dispatchEvent(new Event("change", { bubbles: true }))`,
    "without an event": `field.value = "Anna"`,
    "twice, the second time without an event": `field.value = "An", field.dispatchEvent(new Event("change", { bubbles: true })), field.value = "Anna"`,
  };
  const send = {
    "by a click": `document.querySelector("[name=add]").click()`,
    "by requestSubmit()": "form.requestSubmit()",
    "by a script that reads the form": `fetch("/cart/add", { method: "POST", body: new FormData(form) })`,
    "by a button that is none of the form": `{
      const button = document.querySelector("main").appendChild(document.createElement("button"));
      const read = () => ${readers.jQuery};
      button.onclick = () => fetch("/cart/add", { method: "POST", body: new URLSearchParams(read()) });
      button.click();
    }`,
  };
  const cases = Object.keys(fill).flatMap((how) => Object.keys(send).map((way) => [how, way] as const));
  test.each(cases)("%s is ordered %s", async (how, way) => {
    await showReady(page, productForm(widget(`sku="red" required`), "novalidate"));
    await page.evaluate(`document.forms[0].addEventListener("submit", (event) => {
      event.preventDefault();
      fetch("/cart/add", { method: "POST", body: new FormData(event.target) });
    })`);
    await page.evaluate(`{
      const form = document.forms[0], field = it.shadowRoot.querySelector("#line-0");
      ${fill[how as keyof typeof fill]}; ${send[way as keyof typeof send]}; void 0
    }`);
    await until("the cart has the order", () => shop.cart.length > 0);
    expect(shop.cart.pop()).toContainEqual(["properties[Name]", "Anna"]);
  });

  test("is ordered at the second attempt if the browser validates the form", async () => {
    await showReady(page, productForm(widget(`sku="red" required`), ""));
    await page.evaluate(`window.sent = 0, document.forms[0].onsubmit = (event) => (sent++, event.preventDefault())`);
    await page.evaluate(`it.shadowRoot.querySelector("#line-0").value = "Anna"`);
    const send = () => page.evaluate<number>("document.forms[0].requestSubmit(), sent");
    expect([await send(), await send()]).toEqual([0, 1]);
  });

  test("in place of one that was too long does not move the button that is being clicked", async () => {
    shop.responses.set("short", createOptions([{ text: "Name: up to 3 characters" }]));
    await showReady(page, productForm(widget(`sku="short" required`), "novalidate data-scripted"));
    await page.evaluate(`document.addEventListener("submit", (event) => event.preventDefault(), { once: true })`);
    await page.getByLabel("Name").pressSequentially("Annabel");
    await page.evaluate(`it.shadowRoot.querySelector("#line-0").value = "Ann", window.clicks = 0,
      document.querySelector("[name=add]").addEventListener("click", () => clicks++)`);
    await add(page);
    expect(await page.evaluate<number>("clicks")).toBe(1);
  });

  test("stays when the page sets labels or another variant", async () => {
    await open(`sku="red" required`);
    await page.evaluate(`it.shadowRoot.querySelector("#line-0").value = "Anna", it.labels = { title: "Gravur" }`);
    expect(await readLines()).toEqual(["Anna"]);
    await readyAfter(page, `it.shadowRoot.querySelector("#line-0").value = "Annabel", it.sku = "blue"`);
    expect(await readLines()).toEqual(["Annabel"]);
  });
});

describe("a text", () => {
  test.each<[string, string, string, string]>([
    ["initials with something else", "Initials: up to 3 letters", "a1!", "Please remove what cannot be made: 1, !"],
    ["a year of two digits", "Year: 4 digits", "19", "Please use exactly 4 characters."],
  ])("that has %s is refused in words", async (_, text, typed, message) => {
    shop.responses.set("text", createOptions([{ text }]));
    await open(`sku="text" required`);
    await page.getByRole("textbox").fill(typed);
    expect(await page.evaluate<boolean>("it.reportValidity()")).toBe(false);
    expect(await page.locator("#it #line-0-message").innerText()).toStartWith(message);
  });

  test("of up to 1,000 characters wraps, has lines, and is ordered as it is shown", async () => {
    shop.responses.set("note", createOptions([{ text: "Note: up to 1,000 characters" }]));
    await open(`sku="note" required`);
    const field = page.getByRole("textbox", { name: "Note" });
    const height = () => field.evaluate((one) => (one as unknown as { scrollHeight: number }).scrollHeight);
    const before = await height();
    await field.pressSequentially("For Ann,");
    await page.keyboard.press("Enter");
    await page.keyboard.insertText("with love ".repeat(40).trim());
    expect(await height()).toBeGreaterThan(before);
    expect(await readLines()).toEqual([await field.inputValue()]);
    expect((await readLines())[0]).toStartWith("For Ann,\nwith love");
    expect(await page.evaluate<boolean>("it.checkValidity()")).toBe(true);
    expect(await accessibilityProblems(page, "main")).toEqual([]);
  });

  test("pasted with marks of its direction, and a choice with spaces, are ordered as they should be", async () => {
    shop.responses.set("thread", createOptions([{ text: "Name" }, { text: "Thread", choices: [" Red ", "Blue"] }]));
    await open(`sku="thread" required`);
    await page.getByLabel("Name").fill("\u2068Ann\u2069\u200f");
    await page.getByRole("radio", { name: "Red" }).check();
    expect(await readLines()).toEqual(["Ann", " Red "]);
    expect(await page.evaluate<boolean>("it.checkValidity()")).toBe(true);
  });
});

test("while an optional element loads, its place is visible after a moment", async () => {
  const release = shop.hold("blue");
  await show(page, productForm(widget(`sku="blue"`)));
  const box = page.locator("#it").locator("[part~=loading]");
  await until("it is visible", async () => ((await box.boundingBox())?.height ?? 0) > 20);
  release();
  await untilEvent(page, "ready");
  expect(await box.count()).toBe(0);
});

test.each([".", ".."])("the SKU %j fails with the reason, as in the client, and without a request", async (sku) => {
  await show(page, productForm(widget(`sku="${sku}"`)));
  await untilEvent(page, "error");
  const [{ detail } = { detail: {} }] = await readEvents(page);
  const message = `The personalization options could not be loaded: "${sku}" cannot be used in a URL path.`;
  expect(detail).toEqual({ message, reason: "sku", status: null, sku });
  expect(shop.requests).toEqual([]);
});

const inForm = (sku: string) => productForm(widget(`sku="${sku}"`));
test.each([
  ["in no form", /^warning: .* is in no form/, widget(`sku="red"`)],
  ["moved out of its form", /^warning: .* is in no form/, undefined],
  ["created anew for another variant", /^warning: .* was created anew for another variant/, inForm("blue")],
  ["created anew for a variant without options", /^warning: .* was created anew/, inForm("plain")],
  ["created anew for a variant that cannot be loaded", /^warning: .* was created anew/, inForm("gone")],
])("the console warns a developer once of an element that is %s", async (_, warning, markup) => {
  await using page = await shop.open("");
  const put = async (html: string) => {
    await show(page, html);
    await until("it is loaded", async () => (await readEvents(page)).length > 0);
  };
  for (let count = 0; count < 2; count++) {
    await put(inForm("red"));
    await page.getByRole("radio", { name: "BOTH" }).check();
    await page.getByLabel("Name").fill("Ann");
    if (markup === undefined) await page.evaluate(`document.querySelector("main").append(it)`);
    else await put(markup);
  }
  expect(page.faults.filter((fault) => fault.startsWith("warning"))).toEqual([expect.stringMatching(warning)]);
});
