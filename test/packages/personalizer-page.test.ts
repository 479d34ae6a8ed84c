import { beforeEach, describe, expect, test } from "bun:test";
import type { LocalizedForm } from "../../packages/client/src/types.ts";
import {
  add,
  createOptions,
  openShared,
  productForm,
  readEvents,
  readProperties,
  readyAfter,
  show,
  showReady,
  startShop,
  untilEvent,
  untilState,
  widget,
} from "../support/product-page.ts";
import { until } from "../support/until.ts";

const shop = await startShop();
const page = await openShared(shop);
const open = (attributes: string) => showReady(page, productForm(widget(attributes)));

const line = {
  line_display_seq: "1",
  line_status: "A",
  choice_type: "",
  instruct_text: "Up to 9 characters",
  name: "Initialen",
  help: null,
  image: null,
  limit: 3,
  characters: "[A-Z]",
  required: true,
  uppercase: true,
  choices: [],
};
const style = { style_code: "MON", style_display_seq: "1", style_sku_status: "A", name: "Monogramm", help: null };
const form: LocalizedForm = { sku_id: "form", locale: "de", styles: [{ ...style, image: null, lines: [line] }] };

beforeEach(() => {
  shop.responses.set("form", form);
});

describe("texts", () => {
  const names = { Name: "Vorname" };

  test.each([
    ["an object", `it.texts = ${JSON.stringify(names)}`],
    ["JSON", `it.texts = '${JSON.stringify(names)}'`],
    ["an attribute", `it.setAttribute("texts", '${JSON.stringify(names)}')`],
  ])("may be %s", async (_, set) => {
    await open(`sku="blue" required`);
    await page.evaluate(set);
    await page.getByLabel("Vorname").waitFor();
    await page.evaluate("it.texts = null");
    await page.getByLabel("Name", { exact: true }).waitFor();
  });

  test("that are something else throw an error that says so", async () => {
    await open(`sku="blue" required`);
    const message = "<personalization-options>: texts must be an object or its JSON, not";
    const thrown = await page.evaluate<string>("try { it.texts = ['x'] } catch (error) { String(error) }");
    expect(thrown).toBe(`TypeError: ${message} ["x"]`);
    const reported = page.waitForEvent("pageerror");
    await page.evaluate(`it.setAttribute("texts", "[object Object]")`);
    expect((await reported).message).toBe(`${message} "[object Object]"`);
  });
});

describe("a form", () => {
  test("submits anything with formnovalidate, and nothing incomplete on a click that a theme handles", async () => {
    // A theme that captures the events at the document.
    await page.evaluate(`{
      window.seen = [];
      window.theme = new AbortController();
      const options = { capture: true, signal: theme.signal };
      document.addEventListener("submit", (event) => {
        event.preventDefault();
        seen.push("submitted by " + event.submitter?.name);
      }, options);
      document.addEventListener("click", ({ target }) => target.name === "add" && seen.push("clicked"), options);
    }`);
    const save = `<button formnovalidate name="save">Save</button>`;
    await showReady(page, productForm(widget(`sku="blue" required`) + save));
    await add(page);
    await page.getByText("Please fill this in.").waitFor();
    await page.getByRole("button", { name: "Save" }).click();
    expect(await page.evaluate<unknown>("seen")).toEqual(["submitted by save"]);
    await page.getByLabel("Name").fill("Ann");
    await add(page);
    const seen = await page.evaluate<unknown>("theme.abort(), seen");
    expect(seen).toEqual(["submitted by save", "clicked", "submitted by add"]);
  });

  async function showTwo(first: string, second: string) {
    await show(page, productForm(widget(`sku="${first}" required`) + widget(`sku="${second}" required`, "second")));
    await untilEvent(page, "ready", 2);
  }

  test("with two elements gets entries with distinct names", async () => {
    await showTwo("blue", "blue");
    await page.locator("#it").getByLabel("Name").fill("Ann");
    await page.locator("#second").getByLabel("Name").fill("Lee");
    expect(await readProperties(page)).toEqual([
      ...["Style: BOTH", "Name: Ann", "_style: BOTH", expect.stringMatching(/^_personalization: /)],
      ...["Style (2): BOTH", "Name (2): Lee", "_style (2): BOTH", expect.stringMatching(/^_personalization \(2\): /)],
    ]);
    await page.evaluate("it.remove()");
    expect((await readProperties(page))?.slice(0, 2)).toEqual(["Style: BOTH", "Name: Lee"]);
  });

  test("forgets no text of an element when another prevents the submission", async () => {
    await showTwo("blue", "red");
    const kept = () => page.evaluate<string>(`sessionStorage.getItem("personalization-options")`);
    await page.locator("#it").getByLabel("Name").fill("Ann");
    await add(page);
    await page.getByText("Please fill this in.").waitFor();
    expect(await kept()).toContain("Ann");
    await page.evaluate("document.forms[0].requestSubmit()");
    expect(await kept()).toContain("Ann");
  });

  test("shows in a style sheet whether the choice is complete, to hide other ways to buy", async () => {
    // A framework may have set the property as an attribute, before the element was defined.
    await open(`sku="blue" required="false"`);
    const states = () =>
      page.evaluate<unknown>(`["incomplete", "chosen"].map((state) => it.matches(":state(" + state + ")"))`);
    expect(await states()).toEqual([false, false]);
    await page.getByRole("radio", { name: "BOTH" }).check();
    expect(await states()).toEqual([true, true]);
    await page.getByLabel("Name").fill("Ann");
    expect(await states()).toEqual([false, true]);
    await page.evaluate("it.sku = 'gone', it.required = true");
    await untilState(page, "failed");
    expect(await states()).toEqual([true, false]);
  });
});

describe("a form of the service", () => {
  test("shows its images, which are lazy, keep their place, and are not read out", async () => {
    const choice = (choice_value: string, image: string | null) => ({
      ...{ choice_value, choice_status: "A", choice_display_seq: "1", name: choice_value, help: null, image },
    });
    const choices = [choice("Red", "/images/red.svg"), choice("Blue", "javascript:alert(1)"), choice("None", null)];
    const lines = [{ ...line, image: "/images/place.svg", choices }];
    shop.responses.set("form", { ...form, styles: [{ ...style, image: "/images/style.svg", lines }] });
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route("**/images/*.svg", async (route) => {
      await promise;
      const body = `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300"><path d="M0 0h400v300H0z"/></svg>`;
      await route.fulfill({ contentType: "image/svg+xml", body });
    });
    await open(`sku="form" required`);
    const images = page.locator("#it img");
    const read = (name: string) => images.evaluateAll((all, one) => all.map((image) => image.getAttribute(one)), name);
    expect(await read("src")).toEqual(["/images/style.svg", "/images/place.svg", "/images/red.svg"]);
    expect(await read("alt")).toEqual(["", "", ""]);
    expect(await read("loading")).toEqual(["lazy", "lazy", "lazy"]);
    expect(await page.getByRole("radio", { name: "Red", exact: true }).count()).toBe(1);
    const height = () => page.evaluate<number>("it.offsetHeight");
    const before = await height();
    resolve();
    const widths = `[...it.shadowRoot.querySelectorAll("img")].map(({ naturalWidth }) => naturalWidth)`;
    await until("the images are loaded", async () => !(await page.evaluate<number[]>(widths)).includes(0));
    expect(await height()).toBe(before);
    await page.unroute("**/images/*.svg");
  });

  test("is requested in the page's language, with the element's own texts", async () => {
    await page.evaluate("document.documentElement.lang = 'de_AT'");
    await open(`sku="form"`);
    expect(shop.requests.map(({ locale }) => locale)).toEqual(["de-AT"]);
    await page.getByRole("radio", { name: "Ohne Personalisierung" }).waitFor();
    await page.getByRole("radio", { name: "Monogramm" }).check();
    const field = page.getByLabel("Initialen");
    await field.fill("a b🎁c");
    await page.getByText("Bitte entfernen Sie, was nicht angefertigt werden kann: ein Leerzeichen, 🎁").waitFor();
    await field.fill("abcd");
    await page.getByText("Bitte verwenden Sie höchstens 3 Zeichen.").waitFor();
    const states = await page.evaluate<boolean[]>("[it.validity.tooLong, document.forms[0].checkValidity()]");
    expect(states).toEqual([true, false]);
    await field.fill("abc");
    expect((await readProperties(page))?.slice(0, 2)).toEqual(["Stil: Monogramm", "Initialen: ABC"]);
    // Another language keeps what was typed.
    await page.evaluate("document.documentElement.lang = 'fr'");
    await page.getByRole("radio", { name: "Sans personnalisation" }).waitFor();
    expect(shop.requests.map(({ locale }) => locale)).toEqual(["de-AT", "fr"]);
    expect(await field.inputValue()).toBe("abc");
    await page.evaluate("it.lang = 'ja'");
    await page.getByRole("radio", { name: "名入れなし" }).waitFor();
  });

  test("that an older service does not have is made of the personalization", async () => {
    await open(`sku="blue" required`);
    await readyAfter(page, "it.endpoint = '/older'");
    await page.getByLabel("Name").fill("Ann");
    expect(await readProperties(page))?.toContainEqual("_personalization: older");
  });

  test("is empty if it has only lines whose choices are blank", async () => {
    const blank = {
      choice_value: " ",
      choice_display_seq: "1",
      choice_status: "A",
      name: " ",
      help: null,
      image: null,
    };
    const lines = [{ ...line, choices: [blank] }];
    shop.responses.set("form", { ...form, styles: [{ ...style, image: null, lines }] });
    await open(`sku="form" required`);
    await untilState(page, "empty");
  });
});

describe("a service that does not respond", () => {
  test("with options and without content in the element leaves a message in their place", async () => {
    await show(page, productForm(widget(`sku="gone"`)));
    await page.evaluate("it.style.setProperty('--personalization-height', '9rem')");
    await untilEvent(page, "error");
    expect(await page.getByRole("alert").innerText()).toContain("could not be loaded");
    expect(await page.evaluate<number>("it.offsetHeight")).toBeGreaterThanOrEqual(144);
  });

  test.each([429, 502, 503])("but with %i is retried", async (status) => {
    shop.busyStatus = status;
    shop.retryAfter.push(undefined);
    await open(`sku="blue"`);
    expect(shop.requests.length).toBe(2);
  });

  test.each([
    ["the network is back", `new Event("online")`],
    ["the page comes back from the browser's cache", `new PageTransitionEvent("pageshow", { persisted: true })`],
  ])("is requested again when %s", async (_, event) => {
    await show(page, productForm(widget(`sku="later"`)));
    await untilEvent(page, "error");
    shop.responses.set("later", createOptions([{ text: "Name" }]));
    await page.evaluate(`window.dispatchEvent(${event})`);
    await untilEvent(page, "ready");
    shop.responses.delete("later");
  });
});

describe("the script of the form", () => {
  test.each([
    ["cannot be loaded", { status: 503 }],
    ["is empty, as with a content blocker", { contentType: "text/javascript", body: "" }],
  ])(
    "is requested only for options, and if it %s, blocks orders that need it until it is there",
    async (_, failure) => {
      await using page = await shop.open("");
      const requested: string[] = [];
      await page.route("**/personalization-options/form-*", (route) => {
        requested.push(route.request().url());
        return requested.length === 1 ? route.fulfill(failure) : route.continue();
      });
      await showReady(page, productForm(widget(`sku="plain"`)));
      expect(requested).toEqual([]);
      const check = () => page.evaluate<boolean>("document.forms[0].checkValidity()");
      await page.evaluate("it.sku = 'blue'");
      await untilEvent(page, "error");
      expect(await readEvents(page, "error")).toMatchObject([{ detail: { reason: "network", sku: "blue" } }]);
      expect(await check()).toBe(true);
      await page.evaluate("it.required = true");
      expect(await check()).toBe(false);
      await add(page);
      await page.getByText("The personalization options could not be loaded.").waitFor();
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByLabel("Name").fill("Ann");
      expect(await check()).toBe(true);
      // Browsers do not request a URL again that failed.
      expect(new Set(requested).size).toBe(requested.length);
    },
  );
});

describe("a cart", () => {
  const order = `document.forms[0].addEventListener("submit", (event) => {
    event.preventDefault();
    fetch("/cart/add.js", { method: "POST" });
    it.sku = "red";
  })`;
  const watch = `addEventListener("personalizer-cart-problem", ({ detail }) => events.push({ type: "missing", detail }))`;

  test("that lacks properties of the order is reported, to the page and to the shopper", async () => {
    await open(`sku="blue" required cart="/cart.js"`);
    await page.evaluate(`${order}, ${watch}`);
    await page.getByLabel("Name").fill("Ann");
    // No line has all of them.
    shop.cartLines = [{ Style: "BOTH", Name: "Lee" }, { Style: "BOTH" }];
    const readTag = async () => (await readProperties(page))?.at(-1)?.replace("_personalization: ", "") ?? "";
    const _personalization = await readTag();
    await add(page);
    await untilEvent(page, "missing");
    expect((await readEvents(page, "missing"))[0]?.detail).toEqual({
      message: "The cart lacks this personalization: Ann",
      properties: { Name: "Ann", _style: "BOTH", _personalization },
      sku: "blue",
    });
    await page.getByRole("alert").getByText("The cart lacks this personalization: Ann").waitFor();
    await untilEvent(page, "ready", 2);
    // Shoppers do not see properties that begin with an underscore, but the page has to know.
    const tag = await readTag();
    shop.cartLines = [{ Style: "BOTH", Name: "Ann" }];
    await add(page);
    await untilEvent(page, "missing", 2);
    expect((await readEvents(page, "missing"))[1]?.detail.properties).toEqual({
      _style: "BOTH",
      _personalization: tag,
    });
    expect(await page.getByRole("alert").count()).toBe(0);
    shop.cartLines = [{ Style: "BOTH", Name: "Ann", _style: "BOTH", _personalization: tag }];
    const read = page.waitForResponse("**/cart.js");
    await add(page);
    await (await read).finished();
    expect(await readEvents(page, "missing")).toHaveLength(2);
  });
});

describe("what was typed", () => {
  test("is found by an element that a page creates anew, as it was entered last for any variant", async () => {
    await open(`sku="red" required`);
    await page.getByLabel("Name").fill("Ann");
    await readyAfter(page, "it.sku = 'blue'");
    await open(`sku="blue" required`);
    expect(await page.getByLabel("Name").inputValue()).toBe("Ann");
    await open(`sku="red" required`);
    await readyAfter(page, "it.sku = 'blue'");
    await page.getByLabel("Name").fill("Annabel");
    await open(`sku="red" required`);
    expect(await page.getByLabel("Name").inputValue()).toBe("Annabel");
  });

  test("survives a reload and another variant or language of the product, until it is ordered or reset", async () => {
    const script = `document.querySelector("form").prepend(Object.assign(document.createElement(
      "personalization-options"), { id: "it", endpoint: "/custom", sku: document.querySelector("form").dataset.sku }))`;
    shop.scripts.set("create.js", script);
    const markup = (sku: string) => productForm("", `novalidate data-sku="${sku}"`);
    const scripts = ["/theme.js", "/personalization-options.js", "/scripts/create.js"];
    await using page = await shop.open(markup("red"), {}, scripts);
    await using other = await shop.open(markup("blue"), {}, scripts);
    const [redName, blueName] = [page, other].map((one) => one.url().split("/").at(-1));
    const open = async (path: string) => {
      await page.goto(new URL(path, page.url()).href);
      await untilEvent(page, "ready");
    };
    const read = () => page.evaluate<unknown>("it.value && it.value.lines.map(({ value }) => value)");
    await open(`/products/${redName}`);
    await page.getByRole("radio", { name: "BOTH" }).check();
    await page.getByLabel("Name").fill("Ann");
    await page.reload();
    await untilEvent(page, "ready");
    expect(await read()).toEqual(["Ann"]);
    await open(`/fr/products/${redName}`);
    expect(await read()).toEqual(["Ann"]);
    await page.getByLabel("Back").fill("Lee");
    // The page of another product has nothing to do with it.
    await open(`/products/${blueName}`);
    expect(await read()).toBeNull();
    await open(`/products/${redName}`);
    expect(await read()).toEqual(["Ann", "Lee"]);
    const reset = page.getByRole("button", { name: "Start over" });
    await reset.click();
    expect(await page.getByRole("radio", { name: "No personalization" }).isChecked()).toBe(true);
    expect(await page.getByLabel("Name").count()).toBe(0);
    await page.getByRole("radio", { name: "BOTH" }).check();
    expect(await read()).toEqual([]);
    await reset.click();
    await page.reload();
    await untilEvent(page, "ready");
    expect(await read()).toBeNull();
  });
});
