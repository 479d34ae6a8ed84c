import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { retryDelayMs } from "../../packages/personalizer/src/request.ts";
import { accessibilityProblems, startBrowser } from "../support/browser.ts";
import {
  createOptions,
  openShop,
  options,
  passSecond,
  productForm,
  properties,
  readEvents,
  untilEvent,
} from "../support/product-page.ts";
import { until } from "../support/until.ts";

const browser = await startBrowser();
const shop = await openShop(browser, { hasService: false });
afterAll(() => shop[Symbol.asyncDispose]());

const add = (page: Page) => page.getByRole("button", { name: "Add to cart" }).click();
const widget = (attributes: string) => options(`id="it" endpoint="/custom" ${attributes}`);

/** The personalization that the form would send now. */
const formValue = (page: Page) =>
  page.evaluate<[string, string][]>(
    `[...new FormData(document.querySelector("form"))].filter(([name]) => name.startsWith("properties["))`,
  );
const lineOf = (entries: [string, string][] | undefined) =>
  entries?.find(([name]) => !/^properties\[(_.*|Style)\]$/.test(name));

/** Waits until tasks that the page has queued have run. */
const settled = (page: Page) => page.evaluate("new Promise((resolve) => setTimeout(resolve))");
const countOf = async (page: Page, type: string) =>
  (await readEvents(page)).filter((event) => event.type === type).length;
const requestsFor = (sku: string) => shop.requests.filter((request) => request.sku === sku).length;

/** Adds to the cart and waits for the order. */
async function order(page: Page): Promise<[string, string][] | undefined> {
  await page.evaluate(passSecond);
  const sent = page.waitForResponse("**/cart/add");
  await add(page);
  await sent;
  return properties(shop.cart.pop());
}

beforeEach(() => {
  shop.requests.length = 0;
  shop.responses.set("towel", createOptions([{ text: "Towel name" }], "TOWEL"));
  shop.responses.set("note", createOptions([{ text: "Note (optional)" }], "NOTE"));
  shop.responses.set("robe", createOptions([{ text: "Robe name" }], "ROBE"));
  shop.responses.set("red", createOptions([{ text: "Name" }, { text: "Back (optional)" }], "BOTH"));
  shop.responses.set("blue", createOptions([{ text: "Name" }], "BOTH"));
  shop.responses.set("plain", { pzlines: [], pzstyles: [], pzchoices: [] });
});

describe("a property", () => {
  const load = `new Promise((resolve, reject) => document.head.append(Object.assign(document.createElement("script"),
    { type: "module", src: "/personalization-options.js", onload: resolve, onerror: reject })))`;

  test.each([
    ["is in the page", "", widget(`sku="robe"`)],
    ["is created by a script and attached", `put.prepend(it)`, ""],
    ["is created by a script and attached later", "", ""],
  ])("set before the element is defined takes effect if the element %s", async (_, attach, inside) => {
    await using opened = await shop.open(productForm(inside), {}, ["/theme.js"]);
    const { page } = opened;
    const labels = { title: "Gravur", texts: { Name: "Vorname" } };
    await page.evaluate(`{
      window.put = document.querySelector("form");
      window.it ??= document.createElement("personalization-options");
      Object.assign(it, { sku: "red", endpoint: "/custom", required: true, disabled: true, labels: ${JSON.stringify(labels)} });
      ${attach}
    }`);
    await page.evaluate(load);
    await page.evaluate("it.isConnected || put.prepend(it)");
    await untilEvent(page, "ready");
    expect(shop.requests.map(({ sku }) => sku)).toEqual(["red"]);
    expect(await page.evaluate<unknown>("[it.sku, it.getAttribute('sku'), it.labels]")).toEqual(["red", "red", labels]);
    await page.getByRole("radiogroup", { name: "Gravur" }).waitFor();
    expect(await page.getByLabel("Vorname").isDisabled()).toBe(true);
    await page.evaluate("it.disabled = false");
    await page.getByLabel("Vorname").fill("Annabel");
    await page.evaluate("it.sku = 'towel'");
    await page.getByLabel("Towel name").fill("Ada");
    await page.evaluate("it.labels = {}");
    await page.getByRole("radiogroup", { name: "Personalization" }).waitFor();
    expect(lineOf(await order(page))).toEqual(["properties[Towel name]", "Ada"]);
    expect(opened.faults).toEqual([]);
  });

  test.each(["undefined", "null"])("sku that is %s sends no request", async (value) => {
    await using opened = await shop.open(productForm(widget(`sku="towel"`)));
    const { page } = opened;
    await untilEvent(page, "ready");
    const phase = page.evaluate<boolean>(`it.sku = ${value}, it.matches(":state(empty)")`);
    expect(await phase).toBe(true);
    await settled(page);
    expect(await page.evaluate<unknown>("[it.sku, it.hasAttribute('sku')]")).toEqual(["", false]);
    expect(shop.requests.map(({ sku }) => sku)).toEqual(["towel"]);
  });
});

describe("the form's value", () => {
  async function openTowel() {
    const opened = await shop.open(productForm(widget(`sku="towel"`)));
    await opened.page.getByRole("radio", { name: "TOWEL" }).check();
    await opened.page.getByLabel("Towel name").fill("Annabel");
    expect(await formValue(opened.page)).toHaveLength(4);
    return opened;
  }
  const read = `[...new FormData(document.querySelector("form"))].filter(([name]) => name.startsWith("properties[")).length`;

  test("drops the old SKU as soon as another is set", async () => {
    await using opened = await openTowel();
    const state = `it.sku = "robe", [${read}, it.value, it.validity.valid]`;
    expect(await opened.page.evaluate<unknown>(state)).toEqual([0, null, false]);
  });

  test("is that of a SKU set while the element was detached", async () => {
    await using opened = await openTowel();
    const { page } = opened;
    await page.evaluate("window.it = it, window.put = it.parentNode, it.remove()");
    await page.evaluate("it.sku = 'robe'");
    expect(requestsFor("robe")).toBe(0);
    expect(await page.evaluate<number>(`put.prepend(it), ${read}`)).toBe(0);
    await page.getByRole("radio", { name: "ROBE" }).check();
    await page.getByLabel("Robe name").fill("Ada");
    expect(await order(page)).toEqual([
      ["properties[Style]", "ROBE"],
      ["properties[Robe name]", "Ada"],
      ["properties[_style]", "ROBE"],
      ["properties[_personalization]", expect.any(String)],
    ]);
  });

  test("stays without another request when the element is detached and put back", async () => {
    await using opened = await openTowel();
    const { page } = opened;
    await page.evaluate("window.it = it, window.put = it.parentNode, it.remove()");
    await page.evaluate("put.prepend(it)");
    await settled(page);
    expect(lineOf(await formValue(page))).toEqual(["properties[Towel name]", "Annabel"]);
    expect(requestsFor("towel")).toBe(1);
  });

  test.each([0, 1, 2, 3, 4, 5, 6])("ignores a response if another SKU is set %i microtasks after it", async (count) => {
    await using opened = await openTowel();
    const { page } = opened;
    await page.evaluate(`{
        const { text } = Response.prototype;
        const later = (count, run) => (count === 0 ? run() : queueMicrotask(() => later(count - 1, run)));
        const offer = () => it.shadowRoot.querySelector("[part~=style]:last-child [part~=style-name]").textContent;
        window.seen = [];
        it.addEventListener("ready", () => seen.push(it.sku + " " + offer()));
        Response.prototype.text = async function () {
          const answer = await text.call(this);
          if (it.sku === "robe") later(${count}, () => (it.sku = "red"));
          return answer;
        };
        it.sku = "robe";
      }`);
    await page.getByRole("radio", { name: "BOTH" }).waitFor();
    const seen = await page.evaluate<string[]>("seen");
    expect(seen.filter((one) => one !== "robe ROBE")).toEqual(["red BOTH"]);
  });
});

describe("an element that is moved while a SKU loads", () => {
  const moves = {
    "by append()": "put.append(it)",
    "by moveBefore()": "put.moveBefore(it, null)",
    "by remove() and append()": "it.remove(), put.append(it)",
  };
  test.each(Object.entries(moves))("finishes with the same request %s", async (_, move) => {
    await using opened = await shop.open(productForm(widget(`sku="towel"`)));
    const { page } = opened;
    await untilEvent(page, "ready");
    const release = shop.hold("robe");
    await page.evaluate("window.it = it, window.put = it.parentNode, it.sku = 'robe'");
    await until("the service receives the request", () => requestsFor("robe") === 1);
    await page.evaluate(move);
    await settled(page);
    release();
    await page.getByRole("radio", { name: "ROBE" }).check();
    await page.getByLabel("Robe name").fill("Ada");
    expect(lineOf(await order(page))).toEqual(["properties[Robe name]", "Ada"]);
    expect(requestsFor("robe")).toBe(1);
    expect(opened.faults).toEqual([]);
  });

  test("finishes with another request if it was detached for a while", async () => {
    await using opened = await shop.open(productForm(widget(`sku="towel"`)));
    const { page } = opened;
    await untilEvent(page, "ready");
    const release = shop.hold("robe");
    await page.evaluate("window.it = it, window.put = it.parentNode, it.sku = 'robe'");
    await until("the service receives the request", () => requestsFor("robe") === 1);
    await Promise.all([page.waitForEvent("requestfailed"), page.evaluate("it.remove()")]);
    release();
    await page.evaluate("put.append(it)");
    await page.getByRole("radio", { name: "ROBE" }).waitFor();
    expect(requestsFor("robe")).toBe(2);
  });
});

describe("Enter in a field", () => {
  /** Records the submitters and cancels the submissions. */
  const watch = `{
    window.submitted = [];
    document.addEventListener("submit", (event) => {
      submitted.push(event.submitter?.name ?? null);
      event.preventDefault();
    });
  }`;

  async function press(form: string, script = "") {
    await using opened = await shop.open(form);
    const { page } = opened;
    const field = page.getByLabel("Towel name");
    await field.fill("Annabel");
    await page.evaluate(watch);
    await page.evaluate(script);
    await field.press("Enter");
    await settled(page);
    return await page.evaluate<(string | null)[]>("submitted");
  }

  const towel = widget(`sku="towel" required`);
  const cart = `<button name="add">Add</button>`;
  const gift = `<button name="gift">Gift</button>`;
  const number = `<input type="number" name="quantity" value="1">`;
  const inForm = (inside: string) => `<form action="/cart/add" method="post" novalidate>${inside}</form>`;
  test.each<[string, string, (string | null)[]]>([
    ["clicks the first submit button", inForm(towel + cart + gift), ["add"]],
    [
      "clicks a button outside that refers to the form",
      `${gift.replace(" ", ` form="f" `)}<form id="f">${towel}${cart}</form>`,
      ["gift"],
    ],
    ["clicks an image button", inForm(`${towel}<input type="image" name="picture" alt="Add">${cart}`), ["picture"]],
    ["does nothing if the first one is disabled", inForm(towel + cart.replace(" ", " disabled ") + gift), []],
    ["does nothing if its fieldset is disabled", inForm(`${towel}<fieldset disabled>${cart}</fieldset>${gift}`), []],
    ["skips buttons of other types", inForm(`${towel}<button type="button">Size</button>${gift}`), ["gift"]],
    [
      "submits a form without a button and without another field",
      inForm(`${towel}<input type="hidden" name="id">`),
      [null],
    ],
    ["does nothing in a form without a button and with another field", inForm(towel + number), []],
    [
      "does nothing in a form without a button and with another element's field",
      inForm(towel + options(`endpoint="/custom" sku="note" required`)),
      [],
    ],
  ])("%s", async (_, form, submitters) => {
    expect(await press(form)).toEqual(submitters);
  });

  test.each([
    ["keydown", "document"],
    ["keypress", "window"],
    ["click", "document.querySelector('button')"],
    ["submit", "document.querySelector('form')"],
  ])("does nothing if the page prevents %s", async (type, target) => {
    const prevent = `${target}.addEventListener("${type}", (event) => { event.preventDefault(); event.stopPropagation(); })`;
    expect(await press(inForm(towel + cart), prevent)).toEqual([]);
  });
});

describe("labels that a framework sets while the shopper types", () => {
  async function openTyping() {
    const opened = await shop.open(productForm(widget(`sku="red" required texts='{"Name":"Vorname"}'`)));
    await opened.page.evaluate(`it.labels = { title: "Gravur", texts: { Name: "Vorname", Back: "Rücken" } }`);
    await opened.page.getByLabel("Vorname").press("A");
    return opened;
  }

  test.each([
    ["the same object", "it.labels = it.labels"],
    ["an equal object", "it.labels = structuredClone(it.labels)"],
    ["an equal object with undefined labels", "it.labels = { ...it.labels, none: undefined, fill: null }"],
    ["equal texts, written differently", `it.setAttribute("texts", '{ "Name": "Vorname" }')`],
    ["required again", `it.setAttribute("required", "required"), it.required = true`],
    ["different labels", "it.labels = { ...it.labels, title: it.labels.title + '!' }"],
    ["the same object, changed in place", "it.labels.title += '!', it.labels = it.labels"],
  ])("keep the input: %s", async (_, set) => {
    await using opened = await openTyping();
    const { page } = opened;
    for (const letter of "nnabel") {
      await page.evaluate(set);
      await page.keyboard.press(letter);
    }
    expect(lineOf(await formValue(page))).toEqual(["properties[Vorname]", "Annabel"]);
    expect(await page.getByText("undefined").count()).toBe(0);
    expect(opened.faults).toEqual([]);
  });

  test("keep the field itself if they are equal", async () => {
    await using opened = await openTyping();
    const { page } = opened;
    const field = await page.getByLabel("Vorname").elementHandle();
    await page.evaluate("it.labels = structuredClone(it.labels)");
    expect(await field?.evaluate((node) => node.isConnected)).toBe(true);
  });

  test("keep the text and the caret in another language", async () => {
    await using opened = await openTyping();
    const { page } = opened;
    await page.keyboard.type("abel");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.evaluate(`it.labels = { texts: { Name: "Prénom", BOTH: "Les deux" } }`);
    await page.keyboard.type("nn");
    await page.evaluate("it.required = false");
    await page.keyboard.type("-");
    expect(await page.getByLabel("Prénom").inputValue()).toBe("Ann-abel");
    expect((await formValue(page)).slice(0, 2)).toEqual([
      ["properties[Style]", "Les deux"],
      ["properties[Prénom]", "Ann-abel"],
    ]);
  });
});

describe("a busy service", () => {
  async function openTyped(attributes = "novalidate", required = "") {
    const opened = await shop.open(productForm(widget(`sku="red" ${required}`), attributes));
    const { page } = opened;
    await page.getByRole("radio", { name: "BOTH" }).check();
    await page.getByLabel("Name", { exact: true }).fill("Annabel");
    return opened;
  }

  test("is retried after Retry-After, and the typed text is ordered", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    shop.retryAfter.push("1", undefined);
    await page.evaluate("it.sku = 'blue'");
    await until("the service has responded", async () => (await countOf(page, "ready")) === 2);
    const [first = 0, second = 0, third = 0] = shop.requests.slice(1).map(({ atMs }) => atMs);
    expect(second - first).toBeGreaterThan(1000);
    expect(third - second).toBeGreaterThan(400);
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(lineOf(await order(page))).toEqual(["properties[Name]", "Annabel"]);
  });

  test("is requested four times at most, and not after the timeout", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    shop.retryAfter.push(undefined, undefined, undefined, undefined);
    await page.evaluate("it.sku = 'blue'");
    await untilEvent(page, "error");
    expect(requestsFor("blue")).toBe(4);
    shop.retryAfter.push("3600");
    await page.evaluate("it.sku = 'towel'");
    await until("the second error", async () => (await countOf(page, "error")) === 2);
    expect(requestsFor("towel")).toBe(1);
    expect((await readEvents(page)).findLast(({ type }) => type === "error")?.detail).toMatchObject({
      reason: "status",
      status: 503,
      sku: "towel",
    });
  });

  test("is not retried for a previous SKU", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    shop.retryAfter.push("1");
    await page.evaluate("it.sku = 'towel'");
    await until("the service receives the request", () => requestsFor("towel") === 1);
    await page.evaluate("it.sku = 'blue'");
    await until("the service has responded", async () => (await countOf(page, "ready")) === 2);
    await Bun.sleep(1800);
    expect(requestsFor("towel")).toBe(1);
  });

  test.each<[number, string | null, number, number]>([
    [0, null, 0, 500],
    [0, null, 1, 250],
    [2, null, 0, 2000],
    [0, "2", 0, 2500],
    [0, "Thu, 01 Jan 1970 00:00:07 GMT", 0, 7500],
    [0, "Thu, 01 Jan 1969 00:00:07 GMT", 0, 500],
    [0, "soon", 0, 500],
  ])("after attempt %p with Retry-After %p and random %p is retried in %p ms", (attempt, header, chance, ms) => {
    expect(retryDelayMs(attempt, header, 0, chance)).toBe(ms);
  });

  const lost = "Your order no longer includes this personalization: Annabel";

  test.each(["novalidate", "", "novalidate data-scripted"])(
    "that fails blocks an order with a typed name once, in a form with %j",
    async (attributes) => {
      await using opened = await openTyped(attributes);
      const { page } = opened;
      await page.evaluate("it.sku = 'gone'");
      await untilEvent(page, "error");
      const notice = page.getByRole("alert");
      expect(await notice.innerText()).toContain(`The personalization options could not be loaded. ${lost}`);
      expect(await accessibilityProblems(page)).toEqual([]);
      // Pages may poll this, to enable a button for example, so it must not report the loss.
      expect(await page.evaluate<unknown>("[it.checkValidity(), document.forms[0].checkValidity()]")).toEqual([
        true,
        true,
      ]);
      const before = shop.cart.length;
      await add(page);
      expect(await notice.evaluate((node) => node.matches(":focus"))).toBe(true);
      expect((await readEvents(page)).filter(({ type }) => type === "invalid")).toEqual([
        { type: "invalid", detail: { message: lost, label: null }, from: "it" },
      ]);
      expect(shop.cart.length).toBe(before);
      expect(await order(page)).toEqual([]);
    },
  );

  test("gives the name back when a retry succeeds", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    await page.evaluate("it.sku = 'gone'");
    await untilEvent(page, "error");
    shop.responses.set("gone", createOptions([{ text: "Name" }], "BOTH"));
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByLabel("Name").waitFor();
    shop.responses.delete("gone");
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(lineOf(await order(page))).toEqual(["properties[Name]", "Annabel"]);
  });

  test("blocks an order once for each SKU, and not after the form is reset", async () => {
    await using opened = await openTyped("novalidate data-scripted");
    const { page } = opened;
    await page.evaluate("it.sku = 'gone'");
    await untilEvent(page, "error");
    const report = `[it.reportValidity(), it.reportValidity(), (${passSecond}, it.reportValidity())]`;
    expect(await page.evaluate<boolean[]>(report)).toEqual([false, false, true]);
    await page.getByRole("button", { name: "Try again" }).click();
    await until("the second error", async () => (await countOf(page, "error")) === 2);
    expect(await page.evaluate<boolean>("it.reportValidity()")).toBe(true);
    await page.evaluate("it.sku = 'gone, too'");
    await until("the third error", async () => (await countOf(page, "error")) === 3);
    expect(await page.evaluate<boolean[]>(report)).toEqual([false, false, true]);
    await page.evaluate("it.sku = 'gone'");
    await until("the fourth error", async () => (await countOf(page, "error")) === 4);
    await page.getByRole("button", { name: "Start over" }).click();
    expect(await page.getByRole("alert").innerText()).not.toContain("Annabel");
    expect(await page.evaluate<boolean>("it.reportValidity()")).toBe(true);
  });

  test.each([
    ["offers another style", "towel"],
    ["offers nothing", "plain"],
    ["is none", ""],
  ])("is no different from a next SKU that %s: the name is lost", async (_, sku) => {
    await using opened = await openTyped();
    const { page } = opened;
    await page.evaluate(`it.sku = ${JSON.stringify(sku)}`);
    const notice = page.getByRole("alert");
    await notice.getByText(lost).waitFor();
    expect(await notice.getByRole("button").count()).toBe(0);
    const before = shop.cart.length;
    await add(page);
    expect(await notice.evaluate((node) => node.matches(":focus"))).toBe(true);
    expect(shop.cart.length).toBe(before);
    // The first variant brings the text back.
    await page.evaluate("it.sku = 'red'");
    await page.getByLabel("Name", { exact: true }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Annabel");
    await page.evaluate(`it.sku = ${JSON.stringify(sku)}`);
    await notice.getByText(lost).waitFor();
    await add(page);
    expect(shop.cart.length).toBe(before);
    expect(await order(page)).toEqual([]);
  });

  test("is no different from a next SKU without one of the lines", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    await page.getByLabel("Back").fill("Ada");
    await page.evaluate("it.sku = 'blue'");
    await page.getByRole("alert").getByText("no longer includes this personalization: Ada").waitFor();
    const before = shop.cart.length;
    await add(page);
    expect(shop.cart.length).toBe(before);
    expect((await order(page))?.slice(0, 2)).toEqual([
      ["properties[Style]", "BOTH"],
      ["properties[Name]", "Annabel"],
    ]);
  });

  test("does not block an order with another choice in place of the lost one", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    await page.evaluate("it.sku = 'towel'");
    await page.getByRole("alert").waitFor();
    await page.getByRole("radio", { name: "TOWEL" }).check();
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.getByLabel("Towel name").fill("Ada");
    expect(lineOf(await order(page))).toEqual(["properties[Towel name]", "Ada"]);
  });

  test("that fails blocks every order if personalization is required", async () => {
    await using opened = await openTyped("novalidate", "required");
    const { page } = opened;
    await page.evaluate("it.sku = 'gone'");
    await untilEvent(page, "error");
    expect(await page.getByRole("alert").innerText()).not.toContain("Annabel");
    expect(await page.evaluate<boolean[]>("[it.reportValidity(), it.reportValidity()]")).toEqual([false, false]);
  });
});
