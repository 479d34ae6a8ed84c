import { describe, expect, test } from "bun:test";
import {
  add,
  createOptions,
  openShared,
  options,
  productForm,
  show,
  startShop,
  untilEvent,
} from "../support/product-page.ts";
import { until } from "../support/until.ts";

const shop = await startShop();
const page = await openShared(shop);

for (const sku of ["other", "another"]) shop.responses.set(sku, createOptions([{ text: "Name" }], "BOTH"));
shop.responses.set("numbered", createOptions([{ text: "Name [2]" }], "BOTH"));

const widget = (attributes: string) => options(`endpoint="/custom" required ${attributes}`);

async function open(...elements: string[]) {
  await show(page, elements.map((element) => productForm(element)).join(""));
  await untilEvent(page, "ready", elements.length);
}

/** The text of each element in the page. */
const readTexts = (from = page) =>
  from.evaluate<string[]>(`[...document.querySelectorAll("personalization-options")].map(({ sku, value }) =>
    sku + " " + value?.lines.map(({ value }) => value))`);

describe("a text never gets", () => {
  test("to another element of the same SKU", async () => {
    await open(widget(`sku="red"`), widget(`sku="red"`));
    await page.getByLabel("Name").first().fill("Ann");
    await page.evaluate(`events.length = 0, document.documentElement.lang = "fr"`);
    await untilEvent(page, "ready", 2);
    await page.evaluate(`events.length = 0, document.querySelector("main").append(document.forms[0].cloneNode(true))`);
    await untilEvent(page, "ready");
    expect(await readTexts()).toEqual(["red Ann", "red ", "red "]);
  });

  test("to another brand that has the same SKU and codes", async () => {
    await open(widget(`sku="red"`));
    await page.getByLabel("Name").fill("Ann");
    await open(options(`endpoint="/older" required sku="red"`));
    expect(await readTexts()).toEqual(["red "]);
    await page.getByLabel("Name").fill("Ben");
    await open(widget(`sku="red"`));
    expect(await readTexts()).toEqual(["red Ann"]);
  });

  test("to another product whose variants share a page with it", async () => {
    await page.evaluate(`history.pushState(0, "", "/products/set")`);
    await open(widget(`sku="red"`), widget(`sku="other"`));
    await page.getByLabel("Name").first().fill("Ann");
    await page.getByLabel("Name").last().fill("Ben");
    // As another page of the product, which was loaded earlier.
    await page.evaluate(`sessionStorage.setItem("personalization-options",
      sessionStorage.getItem("personalization-options").replaceAll(/"page":[\\d.]+/g, '"page":1'))`);
    await open(widget(`sku="blue"`), widget(`sku="another"`));
    expect(await readTexts()).toEqual(["blue ", "another "]);
    await open(widget(`sku="other"`), widget(`sku="red"`));
    expect(await readTexts()).toEqual(["other Ben", "red Ann"]);
  });

  test("to another product when the browser restores a page whose products have changed places", async () => {
    await using page = await shop.open("");
    const skus = ["red", "other"];
    await page.route("**/restored", (route) => {
      const forms = skus.map((sku) => productForm(widget(`sku="${sku}"`))).join("");
      const script = `<script type="module" src="/personalization-options.js"></script>`;
      const headers = { "Cache-Control": "no-store" };
      return route.fulfill({ headers, contentType: "text/html", body: `<!doctype html>${script}${forms}` });
    });
    const url = new URL("/restored", page.url()).href;
    await page.goto(url);
    await page.getByLabel("Name").first().fill("Ann");
    await page.getByLabel("Name").last().fill("Ben");
    await page.evaluate("sessionStorage.clear()");
    await page.goto(new URL("/page/0", url).href);
    skus.reverse();
    await page.goBack();
    await page.getByLabel("Name").last().waitFor();
    expect(await readTexts(page)).toEqual(["other ", "red "]);
  });

  test("into the next order, after it was ordered for another variant", async () => {
    await page.evaluate(`document.addEventListener("submit", (event) => event.preventDefault(), { once: true })`);
    await open(widget(`sku="red"`));
    await page.getByLabel("Name").fill("Ann");
    await page.evaluate(`events.length = 0, document.querySelector("personalization-options").sku = "blue"`);
    await untilEvent(page, "ready");
    await add(page);
    await open(widget(`sku="red"`));
    expect(await readTexts()).toEqual(["red "]);
  });

  test("into the next order, after a theme ordered it on a click", async () => {
    await open(widget(`sku="red"`));
    await page.evaluate(
      `document.querySelector("[name=add]").addEventListener("click", (event) => event.preventDefault())`,
    );
    await page.getByLabel("Name").fill("Ann");
    await add(page);
    await until("the text is forgotten", () =>
      page.evaluate<boolean>(`!("0" in JSON.parse(sessionStorage.getItem("personalization-options")))`),
    );
    await open(widget(`sku="red"`));
    expect(await readTexts()).toEqual(["red "]);
  });

  test("under the name of a line of another element", async () => {
    await show(page, productForm(widget(`sku="numbered"`) + widget(`sku="red"`)));
    await untilEvent(page, "ready", 2);
    await page.getByLabel("Name").first().fill("Ann");
    await page.getByLabel("Name").last().fill("Ben");
    const names = await page.evaluate<string[]>("[...new FormData(document.forms[0]).keys()]");
    expect(names).toContain("properties[Name (2)]");
    expect(names).toHaveLength(new Set(names).size);
  });
});

test.each([
  ["of another program", `sessionStorage.setItem("personalization-options", "[null, 5, {}]")`],
  ["that nobody may use", `Object.defineProperty(window, "sessionStorage", { get() { throw new Error("denied") } })`],
])("a storage %s does not prevent an order", async (_, prepare) => {
  await using page = await shop.open("");
  await page.evaluate(prepare);
  await show(page, widget(`sku="red"`));
  await page.getByLabel("Name").fill("Ann");
  expect(await readTexts(page)).toEqual(["red Ann"]);
});

test("a full storage does not bring back an earlier text", async () => {
  await open(widget(`sku="red"`));
  await page.getByLabel("Name").fill("Ann");
  await page.evaluate(`Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError") }`);
  await page.getByLabel("Name").fill("Annabel");
  expect(await page.evaluate("sessionStorage.length")).toBe(0);
  await page.reload();
});

test("an unusable property that a page sets early does not leave it without the element", async () => {
  await using page = await shop.open(productForm(widget(`sku="red"`)), {}, ["/theme.js"]);
  const reported = page.waitForEvent("pageerror");
  await page.evaluate(`document.querySelector("personalization-options").texts = "EMBMON3"`);
  await page.evaluate(`import("/personalization-options.js")`);
  expect((await reported).message).toContain("texts must be an object");
  await page.getByLabel("Name").waitFor();
});

test("a library that changes arrays changes neither orders nor what is reported as lost", async () => {
  const library = `
    Array.prototype.toJSON = function () { return "[" + this.map((item) => JSON.stringify(item)).join(", ") + "]" };
    Array.prototype.reduce = function () { return this.length > 1 ? this : this[0] };
    Array.prototype.each = Array.prototype.forEach;`;
  shop.scripts.set("library.js", library);
  const scripts = ["/scripts/library.js", "/personalization-options.js"];
  await using page = await shop.open(productForm(widget(`sku="red"`)), {}, scripts);
  // It also breaks the results of the browser's driver, unless they are texts.
  const read = () => page.evaluate<string>(`[...new FormData(document.forms[0]).values()].join()`);
  await page.getByLabel("Name").fill("Ann");
  await page.getByLabel("Back").fill("Lee");
  expect(await read()).toStartWith("40123,BOTH,Ann,Lee,BOTH,");
  await page.reload();
  await page.getByLabel("Back").waitFor();
  await until("the text is back", async () => (await read()).startsWith("40123,BOTH,Ann,Lee,BOTH,"));
  await page.evaluate(`document.querySelector("personalization-options").sku = "blue"`);
  await page.getByText("no longer includes this personalization: Lee").waitFor();
});

test("a form in a shadow tree is guarded, and has the language around it", async () => {
  const inside = JSON.stringify(productForm(widget(`sku="red"`)));
  await page.evaluate(`(() => {
    const host = document.createElement("div");
    host.lang = "de";
    document.querySelector("main").append(host);
    const root = host.attachShadow({ mode: "open" });
    root.innerHTML = ${inside};
    window.added = 0;
    root.querySelector("[name=add]").addEventListener("click", (event) => { event.preventDefault(); added++ });
  })()`);
  await untilEvent(page, "ready");
  expect(shop.requests.map(({ locale }) => locale)).toEqual(["de"]);
  await add(page);
  expect(await page.evaluate("added")).toBe(0);
  await page.getByLabel("Name").fill("Ann");
  await add(page);
  expect(await page.evaluate("added")).toBe(1);
});
