import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { startBrowser } from "../support/browser.ts";
import {
  createOptions,
  openShop,
  options,
  passSecond,
  productForm,
  properties,
  untilEvent,
} from "../support/product-page.ts";
import { until } from "../support/until.ts";

const browser = await startBrowser();
const shop = await openShop(browser, { hasService: false });
afterAll(() => shop[Symbol.asyncDispose]());
shop.responses.set("towel", createOptions([{ text: "Name" }], "TOWEL"));

const { form, formFile } = shop.scriptsOfWidget;
const formPath = `/personalization-options/${formFile}`;
const widget = (attributes = "") => productForm(options(`id="it" sku="towel" endpoint="/custom" ${attributes}`));
const hashOf = (script: string) => `sha384-${new Bun.CryptoHasher("sha384").update(script).digest("base64")}`;
const add = (page: Page) => page.getByRole("button", { name: "Add to cart" }).click();

/** Opens a page that names the hash of the form's script, as the README says. */
async function openChecked(integrity: string, attributes: string) {
  const link = `<link rel="modulepreload" href="${formPath}" integrity="${integrity}" crossorigin>`;
  return await shop.open(link + widget(attributes));
}

test("a page can name the hash of the form's script, which is requested once", async () => {
  await using opened = await openChecked(hashOf(form), "required");
  const { page, faults } = opened;
  await page.getByLabel("Name").fill("Ann");
  const requests = await page.evaluate<number>(
    `performance.getEntriesByType("resource").filter(({ name }) => name.includes(${JSON.stringify(formFile)})).length`,
  );
  expect(requests).toBe(1);
  expect(faults).toEqual([]);
});

test("a script of the form with another hash never runs, and a required personalization is not ordered", async () => {
  await using opened = await openChecked(hashOf(`${form} `), "required");
  const { page } = opened;
  const requested: string[] = [];
  page.on("request", (request) => requested.push(request.url()));
  await untilEvent(page, "error");
  const before = shop.cart.length;
  await add(page);
  await page.getByText("could not be loaded").waitFor();
  await page.evaluate("events.length = 0");
  await page.getByRole("button", { name: "Try again" }).click();
  await untilEvent(page, "error");
  expect(requested.filter((url) => url.includes("/form-"))).toEqual([]);
  expect(await page.evaluate<boolean>("document.forms[0].checkValidity()")).toBe(false);
  expect(shop.cart.length).toBe(before);
});

test("text that is restored on a page without the form's script is named, and blocks the order once", async () => {
  await using opened = await shop.open(widget());
  const { page } = opened;
  await page.getByRole("radio", { name: "TOWEL" }).check();
  await page.getByLabel("Name").fill("Ann");
  await page.route(`**${formPath}*`, (route) => route.fulfill({ status: 503 }));
  await page.reload();
  await untilEvent(page, "error");
  await page.getByText("Your order no longer includes this personalization: Ann").waitFor();
  const before = shop.cart.length;
  await add(page);
  expect(shop.cart.length).toBe(before);
  expect(await page.getByRole("alert").evaluate((node) => node.matches(":focus"))).toBe(true);
  await page.evaluate(passSecond);
  await add(page);
  await page.waitForURL("**/cart/add");
  expect(properties(shop.cart.pop())).toEqual([]);
});

test("a script of the form that is late does not let an incomplete order pass", async () => {
  await using opened = await shop.open("");
  const { page } = opened;
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(`**${formPath}*`, async (route) => {
    await promise;
    await route.continue();
  });
  await page.evaluate(`document.querySelector("main").innerHTML = ${JSON.stringify(widget("required"))}, void 0`);
  const before = shop.cart.length;
  await add(page);
  await page.getByText("still loading").waitFor();
  expect(shop.cart.length).toBe(before);
  resolve();
  await page.getByLabel("Name").fill("Ann");
  await add(page);
  await page.waitForURL("**/cart/add");
  expect(properties(shop.cart.pop())).toContainEqual(["properties[Name]", "Ann"]);
});

test("an empty script in place of the form's, as of a content blocker, blocks a required order until the next attempt", async () => {
  await using opened = await shop.open("");
  const { page } = opened;
  await page.route(`**${formPath}*`, (route) => route.fulfill({ contentType: "text/javascript", body: "" }));
  await page.evaluate(`document.querySelector("main").innerHTML = ${JSON.stringify(widget("required"))}, void 0`);
  await untilEvent(page, "error");
  const before = shop.cart.length;
  await add(page);
  await page.getByText("could not be loaded").waitFor();
  expect(shop.cart.length).toBe(before);
  await page.unroute(`**${formPath}*`);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByLabel("Name").fill("Ann");
  await add(page);
  await page.waitForURL("**/cart/add");
  expect(properties(shop.cart.pop())).toContainEqual(["properties[Name]", "Ann"]);
});

test("a script of the form whose connection hangs is requested again by the next attempt", async () => {
  await using opened = await shop.open("");
  const { page } = opened;
  const urls: string[] = [];
  await page.clock.install();
  // From here on time passes only where the test lets it.
  await page.clock.pauseAt(new Date(Date.now() + 1000));
  await page.route(`**${formPath}*`, async (route) => {
    urls.push(route.request().url());
    if (urls.length > 1) await route.continue();
  });
  await page.evaluate(`document.querySelector("main").innerHTML = ${JSON.stringify(widget("required"))}, void 0`);
  await until("the script is requested", () => urls.length === 1);
  await page.clock.fastForward(8100);
  await untilEvent(page, "error");
  await add(page);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByLabel("Name").waitFor();
  expect(urls).toEqual([expect.stringContaining(formPath), expect.stringContaining(`${formPath}?`)]);
});

test("a page that allows scripts by a nonce needs none for the form's script", async () => {
  await using opened = await shop.open("");
  const { page, faults } = opened;
  const policy = "default-src 'none'; script-src 'nonce-abc'; connect-src 'self'; img-src data:";
  const script = `<script type="module" nonce="abc" src="/personalization-options.js"></script>`;
  const body = `<!doctype html><link rel="icon" href="data:,">${script}${widget("required")}`;
  await page.route("**/nonce", (route) =>
    route.fulfill({ contentType: "text/html", headers: { "Content-Security-Policy": policy }, body }),
  );
  await page.goto(new URL("/nonce", page.url()).href);
  await page.getByLabel("Name").fill("Ann");
  expect(await page.evaluate<boolean>("document.forms[0].checkValidity()")).toBe(true);
  expect(faults).toEqual([]);
});
