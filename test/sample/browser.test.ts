import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildPersonalizer } from "../../packages/personalizer/build.ts";
import { baseLabels, formLabels } from "../../packages/personalizer/src/default-labels.ts";
import { sampleImagePath } from "../../src/sample/shop.ts";
import { accessibilityProblems, openPage, startBrowser } from "../support/browser.ts";
import { attack, hostileSku, importHostile, type Watched, watchPage } from "../support/hostile.ts";
import { importHere } from "../support/import-here.ts";
import {
  createStore,
  type RunningService,
  root,
  runsOnBothEngines,
  serve,
  serveUntilEnd,
  temporaryFolder,
} from "../support/pds.ts";
import { blocksOf } from "../support/reader.ts";
import { startServer } from "../support/server.ts";

const environment = {
  DATABASE_URL: await createStore("sqlite"),
  SHOP_DOMAIN: "larkspur-finch.example",
  BRAND: "Larkspur & Finch",
};

async function startSample(): Promise<RunningService> {
  await importHere(["import", "products", join(root, "sample", "products.ndjson")], environment);
  await importHere(["import", "personalization", join(root, "sample", "personalization")], environment);
  await importHere(["import", "presentation", join(root, "sample", "presentation.toml")], environment);
  // The only product without pictures is a draft.
  return await serveUntilEnd({ ...environment, VISIBLE: "all", PUBLIC_URL: "https://products.example.com/" });
}

/** Whether each page is checked in each look, as in campaigns and every night. */
const checksAll = runsOnBothEngines || process.env.TEST_SHORT_CAMPAIGN !== undefined;

const [browser, service] = await Promise.all([startBrowser(), startSample()]);

const napkin = `${service.url}/example/products/6781236019200`;
const order = `${napkin}/cart?id=1&properties%5BStyle%5D=Monogram&properties%5B_style%5D=EMBMON3&quantity=2`;

const pages = [
  ["default product", `${service.url}/example`, true],
  ["product with forty variants", napkin, true],
  ["product without images", `${service.url}/example/products/6781230284800`, false],
  ["cart", order, false],
] as const;
const looks = [
  ["light", { width: 1280, height: 800 }],
  ["dark", { width: 390, height: 844 }],
] as const;

/** In `npm test`, every page in one of the looks. */
const pagesIn = (look: number) => pages.filter((_, page) => checksAll || (page + look) % 2 === 0);

describe.each(looks.map((look, index) => [...look, pagesIn(index)] as const))("%s at %o", (...look) => {
  const [colorScheme, viewport, pages] = look;
  test.each(pages)(
    "the %s page has no layout, color scheme, or accessibility problems",
    async (_, address, hasPersonalization) => {
      await using opened = await openPage(browser, address, { viewport, colorScheme });
      const { page, faults } = opened;
      if (hasPersonalization) await page.getByRole("radio").nth(1).check();
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(viewport.width);
      const background = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
      expect(Number(background.match(/\d+/)?.[0]) < 128 ? "dark" : "light").toBe(colorScheme);
      await page.evaluate("Promise.all(document.getAnimations().map(({ finished }) => finished))");
      expect(await accessibilityProblems(page)).toEqual([]);
      expect(faults).toEqual([]);
    },
  );
});

test("shows images, title, price, variants, and personalization", async () => {
  await using opened = await openPage(browser, napkin);
  const { page } = opened;
  expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("Heirloom Hemstitch Linen Napkin");
  expect(await page.locator("#price").innerText()).toMatch(/^\$\d+\.\d\d$/);
  expect(await page.locator("option").count()).toBe(40);
  expect(await page.evaluate<number>("document.querySelector('img.picture').naturalWidth")).toBeGreaterThan(0);
  await page.getByRole("radio", { name: "Embroidered monogram" }).waitFor();
});

test("can be ordered by keyboard alone, and the cart shows the submitted fields", async () => {
  await using opened = await openPage(browser, napkin);
  const { page, faults } = opened;
  const { keyboard } = page;
  await page.getByRole("radio").first().waitFor();
  await page.locator("select[name=id]").focus();
  await keyboard.press("Tab");
  for (let style = 0; style < 2; style++) await keyboard.press("ArrowDown");
  // An incomplete form focuses the first invalid field and shows its error.
  await keyboard.press("Enter");
  await page.getByText("Please fill this in.").waitFor();
  await keyboard.type("AbC");
  await keyboard.press("Tab");
  await keyboard.type("Navy");
  await keyboard.press("Tab");
  await keyboard.press("Space");
  await keyboard.press("Tab");
  await keyboard.press("ArrowUp");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "In your cart" }).waitFor();
  const [names, values] = [page.locator("tbody th"), page.locator("tbody td")];
  expect(await names.allInnerTexts()).toEqual([
    "id",
    "properties[Style]",
    "properties[Initials]",
    "properties[Thread color]",
    "properties[Lettering]",
    "properties[_style]",
    "properties[_personalization]",
    "quantity",
  ]);
  const submitted = await values.allInnerTexts();
  expect(submitted.slice(1, 6)).toEqual(["Embroidered monogram", "AbC", "Navy", "Script", "EMBMON3"]);
  const tag = (await service.get("/api/v1/products/form/en/1812234")).headers.get("etag");
  expect(`W/"${submitted[6]}"`).toBe(`${tag}`);
  expect(submitted[7]).toBe("2");
  expect(await page.locator(".line-item dt").allInnerTexts()).toEqual([
    "Style",
    "Initials",
    "Thread color",
    "Lettering",
  ]);
  expect(faults).toEqual([]);
});

test("updates price, image, and personalization when a variant is selected", async () => {
  await using opened = await openPage(browser, `${service.url}/example`);
  const { page, faults } = opened;
  const price = await page.locator("#price").innerText();
  const requested = page.waitForRequest("**/api/v1/products/form/en/OV.810813");
  await page.getByLabel("Set").selectOption("Set of 4");
  await requested;
  const selected = await page.locator("select[name=id] option:checked").getAttribute("data-price");
  expect(selected).not.toBe(price);
  expect(await page.locator("#price").innerText()).toBe(`${selected}`);
  expect(await page.locator("#personalization-request").getAttribute("href")).toBe("/api/v1/products/pz/OV.810813");
  const markup = await page.locator("pre").innerText();
  expect(markup).toContain('sku="OV.810813"');
  // For another site's pages.
  expect(markup).toContain('src="https://products.example.com/personalization-options.js"');
  const thumbnails = page.locator(".gallery a");
  await thumbnails.nth(2).click();
  expect(await page.locator("img.picture").getAttribute("src")).toContain("-3.svg");
  expect(await thumbnails.nth(2).getAttribute("aria-current")).toBe("true");
  expect(page.url()).toBe(`${service.url}/example`);
  expect(faults).toEqual([]);
});

test("selects the variant in the URL, and disables sold-out variants", async () => {
  await using opened = await openPage(browser, `${service.url}/example`);
  const { page } = opened;
  const last = page.locator("option").last();
  const id = await last.getAttribute("value");
  await page.goto(`${service.url}/example/products/6781214949376?variant=${id}`);
  expect(await page.locator("select").inputValue()).toBe(id ?? "");
  expect(await page.locator("personalization-options").getAttribute("sku")).toBe("OV.810813");

  await page.goto(napkin);
  const soldOut = page.locator("option[disabled]");
  const texts = await soldOut.allInnerTexts();
  expect(texts.length).toBeGreaterThan(0);
  for (const text of texts) expect(text).toEndWith("(sold out)");
  expect(await page.locator("option:not([disabled])", { hasText: "sold out" }).count()).toBe(0);
  await page.goto(`${napkin}?variant=${await soldOut.first().getAttribute("value")}`);
  expect(await page.getByRole("button", { name: "Sold out" }).isDisabled()).toBe(true);
  await page.locator("select[name=id]").selectOption({ index: 0 });
  expect(await page.getByRole("button", { name: "Add to cart" }).isEnabled()).toBe(true);
});

test("accepts orders without JavaScript and without personalization", async () => {
  await using opened = await openPage(browser, napkin, { javaScriptEnabled: false });
  const { page } = opened;
  expect(await page.getByText("1-800-555-0100").isVisible()).toBe(true);
  await page.getByRole("button", { name: "Add to cart" }).click();
  await page.getByRole("heading", { name: "In your cart" }).waitFor();
  expect(await page.locator("tbody th").allInnerTexts()).toEqual(["id", "quantity"]);
});

const hostileFolder = await temporaryFolder();

describe("a catalog with markup and scripts in every field", () => {
  let hostile: RunningService;
  let watched: Watched;
  beforeAll(async () => {
    watched = await watchPage(browser);
    hostile = await serve(await importHostile(hostileFolder));
  });
  afterAll(() => hostile.stop());

  const order = new URLSearchParams({
    id: attack("id"),
    [`properties[${attack("name")}]`]: attack("value"),
    quantity: attack("quantity"),
  });
  test.each([
    ["default product page", "/example"],
    ["variant page", "/example/products/1?variant=402"],
    ["cart", `/example/products/1/cart?${order}`],
  ])("runs no injected script on the %s", async (_, path) => {
    const { page } = watched;
    await page.goto(hostile.url + path);
    if (!path.includes("/cart")) {
      const variants = page.locator("select[name=id]");
      await variants.selectOption({ index: 1 });
      await variants.selectOption({ index: 0 });
      await page.getByRole("radio").nth(1).check();
      expect(await page.locator("personalization-options").getAttribute("sku")).toBe(hostileSku);
    }
    await page.waitForTimeout(50);
    const { requests, faults } = watched.take();
    expect(await page.title()).not.toBe("run");
    expect(await page.locator("h1").count()).toBe(1);
    expect(requests.filter((url) => !url.startsWith(hostile.url) && !url.startsWith("data:"))).toEqual([]);
    expect(requests.filter((url) => new URL(url).pathname.startsWith("/hit"))).toEqual([]);
    expect(faults).toEqual([]);
  });
});

test("every page allows only files of its own origin, and no inline scripts or styles", async () => {
  for (const address of [napkin, order]) {
    const policy = (await fetch(address)).headers.get("content-security-policy");
    expect(policy).toStartWith(
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src data: 'self'; connect-src 'self';",
    );
    expect(policy).not.toMatch(/unsafe|\*|http/);
  }
});

test.each([
  ["http://127.0.0.1:3000/sample/images/mug-1.svg?v=1", "/sample/images/mug-1.svg"],
  ["https://elsewhere.example/sample/images/mug-1.svg", "/sample/images/mug-1.svg"],
  ["https://cdn.example/files/mug-1.svg", undefined],
  ["https://a.example/sample/images/../../mug.svg", undefined],
  ["https://a.example/sample/images/a/b.svg", undefined],
  ["https://a.example/sample/images/%2e%2e%2fdocs.svg", undefined],
  ["https://a.example/sample/images/mug.png", undefined],
  ["javascript:alert(1)//sample/images/mug.svg", undefined],
  ["/sample/images/mug.svg", undefined],
])("the image URL %s maps to %p", (url, path) => {
  expect(sampleImagePath(url)).toBe(path);
});

test("a real shop serves neither the example nor the sample images", async () => {
  await using real = await serve({ ...environment, SHOP_DOMAIN: "larkspur-finch.com" });
  const example = ["/example", "/example/products/6781236019200", "/example/style.css", "/sample/images/a-1.svg"];
  for (const path of example) expect((await real.get(path)).status).toBe(404);
  expect((await real.get("/personalization-options.js")).status).toBe(200);
});

test("unknown products return 404, and an empty store explains what to import", async () => {
  const products = ["12", "x", "12/cart"].map((path) => `/example/products/${path}`);
  for (const path of [...products, "/sample/images/x.png"]) expect((await service.get(path)).status).toBe(404);
  await using empty = await serve({ ...environment, DATABASE_URL: await createStore("sqlite") });
  expect(await (await empty.get("/example")).json()).toMatchObject({
    status: 404,
    detail: "No sample products are stored. Import sample/products.ndjson.",
  });
});

describe("the widget's script", () => {
  const { script, form, formFile } = buildPersonalizer();
  const readVersion = async () =>
    (await service.get("/personalization-options.js")).headers.get("etag")?.match(/"(\w+)"/)?.[1];

  /** Opens a page of another site. */
  async function openSite(markup: string) {
    const site = startServer(() => new Response(markup, { headers: { "Content-Type": "text/html" } }));
    return await openPage(browser, site);
  }

  test("is the built script: small, usable from any site, and cached for five minutes", async () => {
    const answer = await service.get("/personalization-options.js", { headers: { "Accept-Encoding": "identity" } });
    expect(await answer.text()).toBe(script);
    expect(answer.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    for (const coding of ["gzip", "br", "zstd"]) {
      const packed = await service.get("/personalization-options.js", {
        headers: { "Accept-Encoding": coding },
        decompress: false,
      });
      expect(packed.headers.get("content-encoding")).toBe(coding);
      expect((await packed.bytes()).length).toBeLessThan(8_000);
    }
    const etag = answer.headers.get("etag") ?? "";
    const again = await service.get("/personalization-options.js", { headers: { "If-None-Match": etag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });

  test.each([
    ["the script", async () => `${await readVersion()}.js`, "2zq9f8.js", script],
    ["the form", async () => formFile, formFile.replace(/\w+\.js$/, "2zq9f8.js"), form],
  ])("%s is permanent at its versioned URL; another version is the current one for a while", async (...row) => {
    const [_, findFile, other, text] = row;
    const get = (file: string, init?: RequestInit) => service.get(`/personalization-options/${file}`, init);
    const file = await findFile();
    const kept = await get(file);
    expect(await kept.text()).toBe(text);
    expect(kept.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(kept.headers.get("access-control-allow-origin")).toBe("*");
    expect(kept.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    const older = await get(other);
    expect(older.headers.get("cache-control")).toBe("public, max-age=300");
    expect(await older.text()).toBe(text);
    const headers = { "If-None-Match": older.headers.get("etag") ?? "" };
    expect((await get(file, { headers })).status).toBe(304);
  });

  test.each(["x", "x.css", "..%2fdocs.js", ".js", `${"x".repeat(21)}.js`, "form-0-2zq9f8.js", "form-1-.js", "en.json"])(
    "has no version %s",
    async (file) => {
      expect((await service.get(`/personalization-options/${file}`)).status).toBe(404);
    },
  );

  test("has texts in other languages, which any site may use", async () => {
    const texts = { ...baseLabels, ...formLabels };
    const english = Object.keys(texts).sort();
    for (const language of ["de", "es", "fr", "ja"]) {
      const answer = await service.get(`/personalization-options/${language}.json`);
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
      expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
      const translated = (await answer.json()) as Record<string, string>;
      expect(Object.keys(translated).sort()).toEqual(english);
      for (const [name, text] of Object.entries(texts)) {
        expect(translated[name]?.match(/\{\w+\}/g)?.sort()).toEqual(text.match(/\{\w+\}/g)?.sort());
      }
    }
  });

  test("shows names and no codes when the README's lines are pasted into an empty page", async () => {
    const [snippet = ""] = blocksOf(readFileSync(join(root, "README.md"), "utf8"))
      .filter(({ language }) => language === "html")
      .map(({ text }) => text.replaceAll("http://127.0.0.1:3000", service.url));
    await using opened = await openSite(snippet);
    const options = opened.page.locator("personalization-options");
    await options.getByRole("radio", { name: "Family name" }).check();
    await options.getByLabel("Established").waitFor();
    expect(await options.innerText()).not.toMatch(/[A-Z]{3}\w*\d|LASFAM|TEXT20|up to 20 characters, e\.g\./);
  });

  test("works on another site's page from both URLs, and calls the API of its own origin", async () => {
    for (const path of ["/personalization-options.js", `/personalization-options/${await readVersion()}.js`]) {
      await using opened = await openSite(`<!doctype html><title>Napkin</title><link rel="icon" href="data:,">
        <script type="module" src="${service.url}${path}"></script>
        <form><personalization-options sku="1812234"></personalization-options></form>`);
      await opened.page.getByRole("radio", { name: "Embroidered monogram" }).waitFor();
      const requested = [path, "/api/v1/products/form/en/1812234", `/personalization-options/${formFile}`];
      expect(opened.faults).toEqual(requested.map((one) => `elsewhere: ${service.url}${one}`));
    }
  });
});
