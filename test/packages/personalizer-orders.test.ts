import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { retryDelayMs } from "../../packages/personalizer/src/load.ts";
import { accessibilityProblems, startBrowser } from "../support/browser.ts";
import { making, openShop, options, productForm, properties, toldBy, untilTold } from "../support/product-page.ts";
import { until } from "../support/until.ts";

const browser = await startBrowser();
const shop = await openShop(browser);
afterAll(() => shop[Symbol.asyncDispose]());

const add = (page: Page) => page.getByRole("button", { name: "Add to cart" }).click();
const widget = (attributes: string) => options(`id="it" endpoint="/made" ${attributes}`);

/** The personalization that the form would send now. */
const formValue = (page: Page) =>
  page.evaluate<[string, string][]>(
    `[...new FormData(document.querySelector("form"))].filter(([name]) => name.startsWith("properties["))`,
  );
const lineOf = (entries: [string, string][] | undefined) =>
  entries?.find(([name]) => !/^properties\[(_.*|Style)\]$/.test(name));

/** Everything that was queued on the page before this call has happened. */
const settled = (page: Page) => page.evaluate("new Promise((resolve) => setTimeout(resolve))");
const countOf = async (page: Page, type: string) => (await toldBy(page)).filter((told) => told.type === type).length;
const requestsFor = (sku: string) => shop.madeRequests.filter((request) => request.sku === sku).length;

/** Adds to the cart and waits for the order. */
async function order(page: Page): Promise<[string, string][] | undefined> {
  const sent = page.waitForResponse("**/cart/add");
  await add(page);
  await sent;
  return properties(shop.cart.pop());
}

beforeEach(() => {
  shop.madeRequests.length = 0;
  shop.made.set("towel", making([{ text: "Towel name" }], "TOWEL"));
  shop.made.set("note", making([{ text: "Note (optional)" }], "NOTE"));
  shop.made.set("robe", making([{ text: "Robe name" }], "ROBE"));
  shop.made.set("red", making([{ text: "Name" }, { text: "Back (optional)" }], "BOTH"));
  shop.made.set("blue", making([{ text: "Name" }], "BOTH"));
  shop.made.set("plain", { pzlines: [], pzstyles: [], pzchoices: [] });
});

describe("a property", () => {
  const load = `new Promise((resolve, reject) => document.head.append(Object.assign(document.createElement("script"),
    { type: "module", src: "/personalization-options.js", onload: resolve, onerror: reject })))`;

  test.each([
    ["is in the page", "", widget(`sku="robe"`)],
    ["is made by a script and attached", `put.prepend(it)`, ""],
    ["is made by a script and attached after that", "", ""],
  ])("set before the element is defined counts, also later, where the element %s", async (_, attach, inside) => {
    await using opened = await shop.open(productForm(inside), {}, ["/theme.js"]);
    const { page } = opened;
    const labels = { title: "Gravur", texts: { Name: "Vorname" } };
    await page.evaluate(`{
      window.put = document.querySelector("form");
      window.it ??= document.createElement("personalization-options");
      Object.assign(it, { sku: "red", endpoint: "/made", required: true, disabled: true, labels: ${JSON.stringify(labels)} });
      ${attach}
    }`);
    await page.evaluate(load);
    await page.evaluate("it.isConnected || put.prepend(it)");
    await untilTold(page, "ready");
    expect(shop.madeRequests.map(({ sku }) => sku)).toEqual(["red"]);
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

  test.each(["undefined", "null"])("sku that is %s asks for nothing", async (value) => {
    await using opened = await shop.open(productForm(widget(`sku="towel"`)));
    const { page } = opened;
    await untilTold(page, "ready");
    const phase = page.evaluate<boolean>(`it.sku = ${value}, it.matches(":state(empty)")`);
    expect(await phase).toBe(true);
    await settled(page);
    expect(await page.evaluate<unknown>("[it.sku, it.hasAttribute('sku')]")).toEqual(["", false]);
    expect(shop.madeRequests.map(({ sku }) => sku)).toEqual(["towel"]);
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

  test("has nothing of the old SKU from the moment that another is set", async () => {
    await using opened = await openTowel();
    const state = `it.sku = "robe", [${read}, it.value, it.validity.valid]`;
    expect(await opened.page.evaluate<unknown>(state)).toEqual([0, null, false]);
  });

  test("is that of the SKU that was set while the element was detached", async () => {
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

  test("stays, without another request, when the element is detached and put back", async () => {
    await using opened = await openTowel();
    const { page } = opened;
    await page.evaluate("window.it = it, window.put = it.parentNode, it.remove()");
    await page.evaluate("put.prepend(it)");
    await settled(page);
    expect(lineOf(await formValue(page))).toEqual(["properties[Towel name]", "Annabel"]);
    expect(requestsFor("towel")).toBe(1);
  });

  test.each([0, 1, 2, 3, 4, 5, 6])(
    "isn't taken from an answer that comes in just when another SKU is set: %i microtasks later",
    async (count) => {
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
    },
  );
});

describe("an element that is moved while the next SKU loads", () => {
  const moves = {
    "by append()": "put.append(it)",
    "by moveBefore()": "put.moveBefore(it, null)",
    "by remove() and append()": "it.remove(), put.append(it)",
  };
  test.each(Object.entries(moves))("finishes, with the same request, %s", async (_, move) => {
    await using opened = await shop.open(productForm(widget(`sku="towel"`)));
    const { page } = opened;
    await untilTold(page, "ready");
    const release = shop.hold("robe");
    await page.evaluate("window.it = it, window.put = it.parentNode, it.sku = 'robe'");
    await until("the service is asked", () => requestsFor("robe") === 1);
    await page.evaluate(move);
    await settled(page);
    release();
    await page.getByRole("radio", { name: "ROBE" }).check();
    await page.getByLabel("Robe name").fill("Ada");
    expect(lineOf(await order(page))).toEqual(["properties[Robe name]", "Ada"]);
    expect(requestsFor("robe")).toBe(1);
    expect(opened.faults).toEqual([]);
  });

  test("finishes with another request where it was away for a while", async () => {
    await using opened = await shop.open(productForm(widget(`sku="towel"`)));
    const { page } = opened;
    await untilTold(page, "ready");
    const release = shop.hold("robe");
    await page.evaluate("window.it = it, window.put = it.parentNode, it.sku = 'robe'");
    await until("the service is asked", () => requestsFor("robe") === 1);
    await Promise.all([page.waitForEvent("requestfailed"), page.evaluate("it.remove()")]);
    release();
    await page.evaluate("put.append(it)");
    await page.getByRole("radio", { name: "ROBE" }).waitFor();
    expect(requestsFor("robe")).toBe(2);
  });
});

describe("Enter in a field", () => {
  /** Counts what is submitted, by which button, and sends nothing. */
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
    ["presses the first submit button", inForm(towel + cart + gift), ["add"]],
    [
      "presses one that only names the form",
      `${gift.replace(" ", ` form="f" `)}<form id="f">${towel}${cart}</form>`,
      ["gift"],
    ],
    ["presses an image", inForm(`${towel}<input type="image" name="picture" alt="Add">${cart}`), ["picture"]],
    ["does nothing where the first is disabled", inForm(towel + cart.replace(" ", " disabled ") + gift), []],
    ["does nothing where its fieldset is disabled", inForm(`${towel}<fieldset disabled>${cart}</fieldset>${gift}`), []],
    ["passes over buttons that don't submit", inForm(`${towel}<button type="button">Size</button>${gift}`), ["gift"]],
    [
      "submits a form without a button and with no other field",
      inForm(`${towel}<input type="hidden" name="id">`),
      [null],
    ],
    ["does nothing in a form without a button but with another field", inForm(towel + number), []],
    [
      "does nothing in a form without a button but with a field of another element",
      inForm(towel + options(`endpoint="/made" sku="note" required`)),
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
  ])("does nothing where the page prevents the event %s", async (type, target) => {
    const prevent = `${target}.addEventListener("${type}", (event) => { event.preventDefault(); event.stopPropagation(); })`;
    expect(await press(inForm(towel + cart), prevent)).toEqual([]);
  });
});

describe("words that a framework sets while the shopper types", () => {
  async function openTyping() {
    const opened = await shop.open(productForm(widget(`sku="red" required texts='{"Name":"Vorname"}'`)));
    await opened.page.evaluate(`it.labels = { title: "Gravur", texts: { Name: "Vorname", Back: "Rücken" } }`);
    await opened.page.getByLabel("Vorname").press("A");
    return opened;
  }

  test.each([
    ["the same object", "it.labels = it.labels"],
    ["an equal object", "it.labels = structuredClone(it.labels)"],
    ["an equal object and what is undefined", "it.labels = { ...it.labels, none: undefined, fill: null }"],
    ["equal texts, written differently", `it.setAttribute("texts", '{ "Name": "Vorname" }')`],
    ["required again", `it.setAttribute("required", "required"), it.required = true`],
    ["other words", "it.labels = { ...it.labels, title: it.labels.title + '!' }"],
    ["its own object, changed", "it.labels.title += '!', it.labels = it.labels"],
  ])("lose nothing: %s", async (_, set) => {
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

  test("leave the field itself where they are equal", async () => {
    await using opened = await openTyping();
    const { page } = opened;
    const field = await page.getByLabel("Vorname").elementHandle();
    await page.evaluate("it.labels = structuredClone(it.labels)");
    expect(await field?.evaluate((node) => node.isConnected)).toBe(true);
  });

  test("leave the text and the place in it where they are in another language", async () => {
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

  test("is asked again when it says, and what was typed is ordered", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    shop.busy.push("1", undefined);
    await page.evaluate("it.sku = 'blue'");
    await until("the service has answered", async () => (await countOf(page, "ready")) === 2);
    const [first = 0, second = 0, third = 0] = shop.madeRequests.slice(1).map(({ atMs }) => atMs);
    expect(second - first).toBeGreaterThan(1000);
    expect(third - second).toBeGreaterThan(400);
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(lineOf(await order(page))).toEqual(["properties[Name]", "Annabel"]);
  });

  test("is asked four times at most, and not at all later than the shopper waits", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    shop.busy.push(undefined, undefined, undefined, undefined);
    await page.evaluate("it.sku = 'blue'");
    await untilTold(page, "error");
    expect(requestsFor("blue")).toBe(4);
    shop.busy.push("3600");
    await page.evaluate("it.sku = 'towel'");
    await until("the second error", async () => (await countOf(page, "error")) === 2);
    expect(requestsFor("towel")).toBe(1);
    expect((await toldBy(page)).findLast(({ type }) => type === "error")?.detail).toMatchObject({
      reason: "status",
      status: 503,
      sku: "towel",
    });
  });

  test("isn't asked again about a SKU that the shopper has left", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    shop.busy.push("1");
    await page.evaluate("it.sku = 'towel'");
    await until("the service is asked", () => requestsFor("towel") === 1);
    await page.waitForResponse("**/towel").catch(() => {});
    await page.evaluate("it.sku = 'blue'");
    await until("the service has answered", async () => (await countOf(page, "ready")) === 2);
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
  ])("after attempt %p with Retry-After %p and chance %p is asked again in %p ms", (attempt, header, chance, ms) => {
    expect(retryDelayMs(attempt, header, 0, chance)).toBe(ms);
  });

  const lost = "Your order no longer includes this personalization: Annabel";

  test.each(["novalidate", "", "novalidate data-scripted"])(
    "that doesn't answer holds up an order with a typed name once, in a form that is %j",
    async (attributes) => {
      await using opened = await openTyped(attributes);
      const { page } = opened;
      await page.evaluate("it.sku = 'gone'");
      await untilTold(page, "error");
      const notice = page.getByRole("alert");
      expect(await notice.innerText()).toContain(`The personalization options could not be loaded. ${lost}`);
      expect(await accessibilityProblems(page)).toEqual([]);
      // Pages ask this all the time, to enable a button for example: it is no submission.
      expect(await page.evaluate<unknown>("[it.checkValidity(), document.forms[0].checkValidity()]")).toEqual([
        true,
        true,
      ]);
      const before = shop.cart.length;
      await add(page);
      expect(await notice.evaluate((node) => node.matches(":focus"))).toBe(true);
      expect((await toldBy(page)).filter(({ type }) => type === "invalid")).toEqual([
        { type: "invalid", detail: { message: lost, label: null }, from: "it" },
      ]);
      expect(shop.cart.length).toBe(before);
      expect(await order(page)).toEqual([]);
    },
  );

  test("gives the name back when it answers after all", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    await page.evaluate("it.sku = 'gone'");
    await untilTold(page, "error");
    shop.made.set("gone", making([{ text: "Name" }], "BOTH"));
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByLabel("Name").waitFor();
    shop.made.delete("gone");
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(lineOf(await order(page))).toEqual(["properties[Name]", "Annabel"]);
  });

  test("holds up an order once for each SKU, and not after the form is reset", async () => {
    await using opened = await openTyped("novalidate data-scripted");
    const { page } = opened;
    await page.evaluate("it.sku = 'gone'");
    await untilTold(page, "error");
    expect(await page.evaluate<boolean[]>("[it.reportValidity(), it.reportValidity()]")).toEqual([false, true]);
    await page.getByRole("button", { name: "Try again" }).click();
    await until("the second error", async () => (await countOf(page, "error")) === 2);
    expect(await page.evaluate<boolean>("it.reportValidity()")).toBe(true);
    await page.evaluate("it.sku = 'gone, too'");
    await until("the third error", async () => (await countOf(page, "error")) === 3);
    expect(await page.evaluate<boolean[]>("[it.reportValidity(), it.reportValidity()]")).toEqual([false, true]);
    await page.evaluate("it.sku = 'gone'");
    await until("the fourth error", async () => (await countOf(page, "error")) === 4);
    await page.getByRole("button", { name: "Start over" }).click();
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await page.evaluate<boolean>("it.reportValidity()")).toBe(true);
  });

  test.each([
    ["another style", "towel"],
    ["no style", "plain"],
    ["nothing, because there is no SKU", ""],
  ])("isn't all that can lose a name: a variant may offer %s", async (_, sku) => {
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
    // Back at the first variant, everything is there again.
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

  test("isn't all that can lose a line: a variant may offer the style without it", async () => {
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

  test("and a lost name hold up nothing that the shopper has replaced", async () => {
    await using opened = await openTyped();
    const { page } = opened;
    await page.evaluate("it.sku = 'towel'");
    await page.getByRole("alert").waitFor();
    await page.getByRole("radio", { name: "TOWEL" }).check();
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.getByLabel("Towel name").fill("Ada");
    expect(lineOf(await order(page))).toEqual(["properties[Towel name]", "Ada"]);
  });

  test("that fails where personalization is required holds up the order until it answers", async () => {
    await using opened = await openTyped("novalidate", "required");
    const { page } = opened;
    await page.evaluate("it.sku = 'gone'");
    await untilTold(page, "error");
    expect(await page.getByRole("alert").innerText()).not.toContain("Annabel");
    expect(await page.evaluate<boolean[]>("[it.reportValidity(), it.reportValidity()]")).toEqual([false, false]);
  });
});
