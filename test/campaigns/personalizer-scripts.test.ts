import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { add, hasFocus, productForm, show, startShop, untilEvent, widget } from "../support/product-page.ts";
import { until } from "../support/until.ts";

const shop = await startShop();
const { form, formFile } = shop.scriptsOfWidget;
const formPath = `/personalization-options/${formFile}`;
const optional = productForm(widget(`sku="blue"`));
const required = productForm(widget(`sku="blue" required`));

async function expectBlocked(page: Page, message: string) {
  await add(page);
  await page.getByText(message).waitFor();
}

/** Opens a page that names the hash of the form's script, as the README says. */
async function openChecked(script: string) {
  const integrity = `sha384-${new Bun.CryptoHasher("sha384").update(script).digest("base64")}`;
  const link = `<link rel="modulepreload" href="${formPath}" integrity="${integrity}" crossorigin>`;
  return await shop.open(link + required);
}

test("a page can name the hash of the form's script, which is requested once", async () => {
  await using page = await openChecked(form);
  await page.getByLabel("Name").fill("Ann");
  const requests = await page.evaluate<number>(
    `performance.getEntriesByType("resource").filter(({ name }) => name.includes(${JSON.stringify(formFile)})).length`,
  );
  expect(requests).toBe(1);
  expect(page.faults).toEqual([]);
});

test("a script of the form with another hash never runs, and a required personalization is not ordered", async () => {
  await using page = await openChecked(`${form} `);
  const requested: string[] = [];
  page.on("request", (request) => requested.push(request.url()));
  await untilEvent(page, "error");
  await expectBlocked(page, "could not be loaded");
  await page.getByRole("button", { name: "Try again" }).click();
  await untilEvent(page, "error", 2);
  expect(requested.filter((url) => url.includes("/form-"))).toEqual([]);
  expect(await page.evaluate<boolean>("document.forms[0].checkValidity()")).toBe(false);
});

test("text that is restored on a page without the form's script is named, and blocks the order once", async () => {
  await using page = await shop.open(optional);
  await page.getByRole("radio", { name: "BOTH" }).check();
  await page.getByLabel("Name").fill("Ann");
  await page.route(`**${formPath}*`, (route) => route.fulfill({ status: 503 }));
  await page.reload();
  await untilEvent(page, "error");
  await expectBlocked(page, "Your order no longer includes this personalization: Ann");
  expect(await hasFocus(page.getByRole("alert"))).toBe(true);
  expect(await shop.order(page)).toEqual([]);
});

test("a script of the form that is late does not let an incomplete order pass", async () => {
  await using page = await shop.open("");
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(`**${formPath}*`, async (route) => {
    await promise;
    await route.continue();
  });
  await show(page, required);
  await expectBlocked(page, "still loading");
  resolve();
  await page.getByLabel("Name").fill("Ann");
  expect(await shop.order(page)).toContainEqual("Name: Ann");
});

test("a script of the form whose connection hangs is requested again by the next attempt", async () => {
  await using page = await shop.open("");
  const urls: string[] = [];
  await page.clock.install();
  // From here on time passes only where the test lets it.
  await page.clock.pauseAt(new Date(Date.now() + 1000));
  await page.route(`**${formPath}*`, async (route) => {
    urls.push(route.request().url());
    if (urls.length > 1) await route.continue();
  });
  await show(page, required);
  await until("the script is requested", () => urls.length === 1);
  await page.clock.fastForward(8100);
  await untilEvent(page, "error");
  await add(page);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByLabel("Name").waitFor();
  expect(urls).toEqual([expect.stringContaining(formPath), expect.stringContaining(`${formPath}?`)]);
});

test("a page that allows scripts by a nonce needs none for the form's script", async () => {
  await using page = await shop.open("");
  const policy = "default-src 'none'; script-src 'nonce-abc'; connect-src 'self'; img-src data:";
  const script = `<script type="module" nonce="abc" src="/personalization-options.js"></script>`;
  const body = `<!doctype html><link rel="icon" href="data:,">${script}${required}`;
  const headers = { "Content-Security-Policy": policy };
  await page.route("**/nonce", (route) => route.fulfill({ contentType: "text/html", headers, body }));
  await page.goto(new URL("/nonce", page.url()).href);
  await page.getByLabel("Name").fill("Ann");
  expect(await page.evaluate<boolean>("document.forms[0].checkValidity()")).toBe(true);
  expect(page.faults).toEqual([]);
});
