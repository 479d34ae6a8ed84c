import { beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { retryDelayMs } from "../../packages/personalizer/src/request.ts";
import { accessibilityProblems } from "../support/browser.ts";
import {
  add,
  createOptions,
  hasFocus,
  passSecond,
  productForm,
  readEvents,
  readProperties,
  startShop,
  untilEvent,
  widget,
} from "../support/product-page.ts";
import { until } from "../support/until.ts";

const shop = await startShop();

const lineOf = (properties: string[] | undefined) => properties?.find((property) => !/^(_|Style:)/.test(property));

/** Waits until tasks that the page has queued have run. */
const settled = (page: Page) => page.evaluate("new Promise((resolve) => setTimeout(resolve))");
const requestsFor = (sku: string) => shop.requests.filter((request) => request.sku === sku).length;

async function openTyped(attributes = "novalidate", required = "") {
  const page = await shop.open(productForm(widget(`sku="red" ${required}`), attributes));
  await page.getByRole("radio", { name: "BOTH" }).check();
  await page.getByLabel("Name").fill("Annabel");
  return page;
}

beforeEach(() => {
  shop.requests.length = 0;
});

describe("a property", () => {
  const load = `new Promise((resolve, reject) => document.head.append(Object.assign(document.createElement("script"),
    { type: "module", src: "/personalization-options.js", onload: resolve, onerror: reject })))`;

  test.each([
    ["is in the page", "", widget(`sku="blue"`)],
    ["is created by a script and attached", `put.prepend(it)`, ""],
    ["is created by a script and attached later", "", ""],
  ])("set before the element is defined takes effect if the element %s", async (_, attach, inside) => {
    await using page = await shop.open(productForm(inside), {}, ["/theme.js"]);
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
    await page.evaluate("it.sku = 'robe'");
    await page.getByLabel("Robe name").fill("Ada");
    await page.evaluate("it.labels = {}");
    await page.getByRole("radiogroup", { name: "Personalization" }).waitFor();
    expect(lineOf(await shop.order(page))).toEqual("Robe name: Ada");
    expect(page.faults).toEqual([]);
  });

  test.each(["undefined", "null"])("sku that is %s sends no request", async (value) => {
    await using page = await shop.open(productForm(widget(`sku="red"`)));
    await untilEvent(page, "ready");
    expect(await page.evaluate<boolean>(`it.sku = ${value}, it.matches(":state(empty)")`)).toBe(true);
    await settled(page);
    expect(await page.evaluate<unknown>("[it.sku, it.hasAttribute('sku')]")).toEqual(["", false]);
    expect(shop.requests.map(({ sku }) => sku)).toEqual(["red"]);
  });
});

describe("the form's value", () => {
  const detach = "window.it = it, window.put = it.parentNode, it.remove()";

  test("drops the old SKU as soon as another is set", async () => {
    await using page = await openTyped();
    expect(await readProperties(page))?.toHaveLength(4);
    const count = `[...new FormData(put)].filter(([name]) => name.startsWith("properties[")).length`;
    const state = `window.put = it.parentNode, it.sku = "robe", [${count}, it.value, it.validity.valid]`;
    expect(await page.evaluate<unknown>(state)).toEqual([0, null, false]);
  });

  test("stays without another request while the element is detached, unless another SKU is set", async () => {
    await using page = await openTyped();
    await page.evaluate(detach);
    await page.evaluate("put.prepend(it)");
    await settled(page);
    expect(lineOf(await readProperties(page))).toEqual("Name: Annabel");
    expect(requestsFor("red")).toBe(1);
    await page.evaluate(detach);
    await page.evaluate("it.sku = 'robe'");
    expect(requestsFor("robe")).toBe(0);
    expect(await page.evaluate<string[]>("put.prepend(it), [...new FormData(put).keys()]")).toEqual(["id", "quantity"]);
    await page.getByRole("radio", { name: "ROBE" }).check();
    await page.getByLabel("Robe name").fill("Ada");
    expect(await shop.order(page)).toEqual([
      "Style: ROBE",
      "Robe name: Ada",
      "_style: ROBE",
      expect.stringMatching(/^_personalization: /),
    ]);
  });

  test.each([0, 1, 2, 3, 4, 5, 6])("ignores a response if another SKU is set %i microtasks after it", async (count) => {
    await using page = await openTyped();
    await page.evaluate(`{
        const { text } = Response.prototype;
        const later = (count, run) => (count === 0 ? run() : queueMicrotask(() => later(count - 1, run)));
        const offer = () => it.shadowRoot.querySelector("[part~=style]:last-child [part~=style-name]").textContent;
        window.seen = [];
        it.addEventListener("ready", () => seen.push(it.sku + " " + offer()));
        Response.prototype.text = async function () {
          const answer = await text.call(this);
          if (it.sku === "robe") later(${count}, () => (it.sku = "blue"));
          return answer;
        };
        it.sku = "robe";
      }`);
    await until("the last SKU is ready", () => page.evaluate<boolean>(`seen.some((one) => one.startsWith("blue"))`));
    const seen = await page.evaluate<string[]>("seen");
    expect(seen.filter((one) => one !== "robe ROBE")).toEqual(["blue BOTH"]);
  });
});

describe("an element that is moved while a SKU loads", () => {
  async function openLoading() {
    const page = await shop.open(productForm(widget(`sku="red"`)));
    await untilEvent(page, "ready");
    const release = shop.hold("robe");
    await page.evaluate("window.it = it, window.put = it.parentNode, it.sku = 'robe'");
    await until("the service receives the request", () => requestsFor("robe") === 1);
    return Object.assign(page, { release });
  }

  test.each([
    ["by append()", "put.append(it)"],
    ["by moveBefore()", "put.moveBefore(it, null)"],
    ["by remove() and append()", "it.remove(), put.append(it)"],
  ])("finishes with the same request %s", async (_, move) => {
    await using page = await openLoading();
    await page.evaluate(move);
    await settled(page);
    page.release();
    await page.getByRole("radio", { name: "ROBE" }).check();
    await page.getByLabel("Robe name").fill("Ada");
    expect(lineOf(await shop.order(page))).toEqual("Robe name: Ada");
    expect(requestsFor("robe")).toBe(1);
    expect(page.faults).toEqual([]);
  });

  test("aborts the request if it is detached, and finishes with another if it is put back", async () => {
    await using page = await openLoading();
    const [ended] = await Promise.all([page.waitForEvent("requestfailed"), page.evaluate("it.remove()")]);
    expect(ended.failure()?.errorText).toEndWith("_ABORTED");
    page.release();
    await page.evaluate("put.append(it)");
    await page.getByRole("radio", { name: "ROBE" }).waitFor();
    expect(requestsFor("robe")).toBe(2);
    expect((await readEvents(page)).map(({ type }) => type)).toEqual(["ready", "ready"]);
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
    await using page = await shop.open(form);
    const field = page.getByLabel("Name").first();
    await field.fill("Annabel");
    await page.evaluate(watch);
    await page.evaluate(script);
    await field.press("Enter");
    await settled(page);
    return await page.evaluate<(string | null)[]>("submitted");
  }

  const blue = widget(`sku="blue" required`);
  const cart = `<button name="add">Add</button>`;
  const gift = `<button name="gift">Gift</button>`;
  const number = `<input type="number" name="quantity" value="1">`;
  const inForm = (inside: string) => `<form action="/cart/add" method="post" novalidate>${inside}</form>`;
  test.each<[string, string, (string | null)[]]>([
    ["clicks the first submit button", inForm(blue + cart + gift), ["add"]],
    [
      "clicks a button outside that refers to the form",
      `${gift.replace(" ", ` form="f" `)}<form id="f">${blue}${cart}</form>`,
      ["gift"],
    ],
    ["clicks an image button", inForm(`${blue}<input type="image" name="picture" alt="Add">${cart}`), ["picture"]],
    ["does nothing if the first one is disabled", inForm(blue + cart.replace(" ", " disabled ") + gift), []],
    ["does nothing if its fieldset is disabled", inForm(`${blue}<fieldset disabled>${cart}</fieldset>${gift}`), []],
    ["skips buttons of other types", inForm(`${blue}<button type="button">Size</button>${gift}`), ["gift"]],
    [
      "submits a form without a button and without another field",
      inForm(`${blue}<input type="hidden" name="id">`),
      [null],
    ],
    ["does nothing in a form without a button and with another field", inForm(blue + number), []],
    [
      "does nothing in a form without a button and with another element's field",
      inForm(blue + widget(`sku="robe" required`, "other")),
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
    expect(await press(inForm(blue + cart), prevent)).toEqual([]);
  });
});

describe("labels that a framework sets while the shopper types", () => {
  async function openTyping() {
    const page = await shop.open(productForm(widget(`sku="red" required texts='{"Name":"Vorname"}'`)));
    await page.evaluate(`it.labels = { title: "Gravur", texts: { Name: "Vorname", Back: "Rücken" } }`);
    await page.getByLabel("Vorname").press("A");
    return page;
  }

  test.each([
    ["the same object", "it.labels = it.labels"],
    ["an equal object", "it.labels = structuredClone(it.labels)"],
    ["an equal object with undefined labels", "it.labels = { ...it.labels, none: undefined, fill: null }"],
    ["equal texts, written differently", `it.setAttribute("texts", '{ "Name": "Vorname" }')`],
    ["required again", `it.setAttribute("required", "required"), it.required = true`],
    ["different labels", "it.labels = { ...it.labels, title: it.labels.title + '!' }"],
    ["the same object, changed in place", "it.labels.title += '!', it.labels = it.labels"],
  ])("keep the field and its text: %s", async (_, set) => {
    await using page = await openTyping();
    const field = await page.getByLabel("Vorname").elementHandle();
    for (const letter of "nnabel") {
      await page.evaluate(set);
      await page.keyboard.press(letter);
    }
    expect(await field?.evaluate((node) => node.isConnected)).toBe(true);
    expect(lineOf(await readProperties(page))).toEqual("Vorname: Annabel");
    expect(await page.getByText("undefined").count()).toBe(0);
    expect(page.faults).toEqual([]);
  });

  test("keep the text and the caret in another language", async () => {
    await using page = await openTyping();
    await page.keyboard.type("abel");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.evaluate(`it.labels = { texts: { Name: "Prénom", BOTH: "Les deux" } }`);
    await page.keyboard.type("nn");
    await page.evaluate("it.required = false");
    await page.keyboard.type("-");
    expect(await page.getByLabel("Prénom").inputValue()).toBe("Ann-abel");
    expect((await readProperties(page))?.slice(0, 2)).toEqual(["Style: Les deux", "Prénom: Ann-abel"]);
  });
});

describe("a busy service", () => {
  test("is retried after Retry-After, and the typed text is ordered", async () => {
    await using page = await openTyped();
    shop.retryAfter.push("1", undefined);
    await page.evaluate("it.sku = 'blue'");
    await untilEvent(page, "ready", 2);
    const [first = 0, second = 0, third = 0] = shop.requests.slice(1).map(({ atMs }) => atMs);
    expect(second - first).toBeGreaterThan(1000);
    expect(third - second).toBeGreaterThan(400);
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(lineOf(await shop.order(page))).toEqual("Name: Annabel");
  });

  test("is requested four times at most, and not after the timeout", async () => {
    await using page = await openTyped();
    shop.retryAfter.push(undefined, undefined, undefined, undefined);
    await page.evaluate("it.sku = 'blue'");
    await untilEvent(page, "error");
    expect(requestsFor("blue")).toBe(4);
    shop.retryAfter.push("3600");
    await page.evaluate("it.sku = 'robe'");
    await untilEvent(page, "error", 2);
    expect(requestsFor("robe")).toBe(1);
    const detail = { reason: "status", status: 503, sku: "robe" };
    expect((await readEvents(page, "error")).at(-1)).toMatchObject({ detail });
  });

  test("is not retried for a previous SKU", async () => {
    await using page = await openTyped();
    shop.retryAfter.push("1");
    await page.evaluate("it.sku = 'robe'");
    await until("the service receives the request", () => requestsFor("robe") === 1);
    await page.evaluate("it.sku = 'blue'");
    await untilEvent(page, "ready", 2);
    await Bun.sleep(1800);
    expect(requestsFor("robe")).toBe(1);
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
});

describe("a service that fails after a text was typed", () => {
  const lost = "Your order no longer includes this personalization: Annabel";

  async function openFailed(attributes = "novalidate", required = "") {
    const page = await openTyped(attributes, required);
    await page.evaluate("it.sku = 'gone'");
    await untilEvent(page, "error");
    return page;
  }

  test.each(["novalidate", "", "novalidate data-scripted"])("blocks an order once, in a form with %j", async (form) => {
    await using page = await openFailed(form);
    const notice = page.getByRole("alert");
    expect(await notice.innerText()).toContain(`The personalization options could not be loaded. ${lost}`);
    expect(await accessibilityProblems(page)).toEqual([]);
    // Pages may poll this, to enable a button for example, so it must not report the loss.
    const states = await page.evaluate<unknown>("[it.checkValidity(), document.forms[0].checkValidity()]");
    expect(states).toEqual([true, true]);
    await add(page);
    expect(await hasFocus(notice)).toBe(true);
    const detail = { message: lost, label: null };
    expect(await readEvents(page, "invalid")).toEqual([{ type: "invalid", detail, from: "it" }]);
    expect(await shop.order(page)).toEqual([]);
  });

  test("gives the name back when a retry succeeds", async () => {
    await using page = await openFailed();
    shop.responses.set("gone", createOptions([{ text: "Name" }], "BOTH"));
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByLabel("Name").waitFor();
    shop.responses.delete("gone");
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(lineOf(await shop.order(page))).toEqual("Name: Annabel");
  });

  test("blocks an order once for each SKU, and not after the form is reset", async () => {
    await using page = await openFailed("novalidate data-scripted");
    const report = `[it.reportValidity(), it.reportValidity(), (${passSecond}, it.reportValidity())]`;
    expect(await page.evaluate<boolean[]>(report)).toEqual([false, false, true]);
    await page.getByRole("button", { name: "Try again" }).click();
    await untilEvent(page, "error", 2);
    expect(await page.evaluate<boolean>("it.reportValidity()")).toBe(true);
    await page.evaluate("it.sku = 'gone, too'");
    await untilEvent(page, "error", 3);
    expect(await page.evaluate<boolean[]>(report)).toEqual([false, false, true]);
    await page.evaluate("it.sku = 'gone'");
    await untilEvent(page, "error", 4);
    await page.getByRole("button", { name: "Start over" }).click();
    expect(await page.getByRole("alert").innerText()).not.toContain("Annabel");
    expect(await page.evaluate<boolean>("it.reportValidity()")).toBe(true);
  });

  test("blocks every order if personalization is required", async () => {
    await using page = await openFailed("novalidate", "required");
    expect(await page.getByRole("alert").innerText()).not.toContain("Annabel");
    expect(await page.evaluate<boolean[]>("[it.reportValidity(), it.reportValidity()]")).toEqual([false, false]);
  });

  test.each([
    ["offers another style", "robe"],
    ["offers nothing", "plain"],
    ["is none", ""],
  ])("is no different from a next SKU that %s: the name is lost", async (_, sku) => {
    await using page = await openTyped();
    const notice = page.getByRole("alert");
    const expectLost = async () => {
      await page.evaluate(`it.sku = ${JSON.stringify(sku)}`);
      await notice.getByText(lost).waitFor();
      expect(await notice.getByRole("button").count()).toBe(0);
      await add(page);
      expect(await hasFocus(notice)).toBe(true);
    };
    await expectLost();
    // The first variant brings the text back.
    await page.evaluate("it.sku = 'red'");
    await page.getByLabel("Name", { exact: true }).waitFor();
    expect(await notice.count()).toBe(0);
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Annabel");
    await expectLost();
    expect(await shop.order(page)).toEqual([]);
  });

  test("is no different from a next SKU without one of the lines", async () => {
    await using page = await openTyped();
    await page.getByLabel("Back").fill("Ada");
    await page.evaluate("it.sku = 'blue'");
    await page.getByRole("alert").getByText("no longer includes this personalization: Ada").waitFor();
    await add(page);
    expect((await shop.order(page))?.slice(0, 2)).toEqual(["Style: BOTH", "Name: Annabel"]);
  });

  test("does not block an order with another choice in place of the lost one", async () => {
    await using page = await openTyped();
    await page.evaluate("it.sku = 'robe'");
    await page.getByRole("alert").waitFor();
    await page.getByRole("radio", { name: "ROBE" }).check();
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.getByLabel("Robe name").fill("Ada");
    expect(lineOf(await shop.order(page))).toEqual("Robe name: Ada");
  });
});
