import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import type { Page } from "playwright-core";
import { accessibilityProblems, type OpenPage, openPage, startBrowser } from "./support/browser.ts";
import { attack, hostileBrand, hostileSku, importHostile, type Watched, watchPage } from "./support/hostile.ts";
import { pds, type RunningService, root, serve, temporaryFolder } from "./support/pds.ts";

const home = await temporaryFolder();
const store = `sqlite:${join(home, "pds.sqlite")}`;

/** The sample brand, and a second generation of its personalization. */
async function startSample(): Promise<RunningService> {
  await cp(join(root, "sample"), join(home, "sample"), { recursive: true });
  await cp(join(root, "pds.toml"), join(home, "pds.toml"));
  const environment = { DATABASE_URL: store, PDS_CONFIG: join(home, "pds.toml") };
  const service = await serve(environment, home);
  const folder = join(home, "sample", "personalization");
  await writeFile(
    join(folder, "pzlines.csv"),
    `${await readFile(join(folder, "pzlines.csv"), "utf8")}NEW,LASFAM,1,A\n`,
  );
  await pds(["import", "personalization", folder], environment, home);
  await writeFile(join(folder, "pzlines.csv"), "sku_id,style_code\nNEW,LASFAM\n");
  await pds(["import", "personalization", folder], environment, home);
  return service;
}

const [browser, service] = await Promise.all([startBrowser(), startSample()]);
afterAll(() => service.stop());

const pages = [
  ["overview", "/"],
  ["runs", "/runs"],
  ["run", "/runs/2"],
  ["failed run", "/runs/4"],
  ["search", "/products?q=silver+b"],
  ["product", "/products/6781249159168"],
  ["styles", "/personalization"],
  ["SKU", "/personalization?sku=1812234"],
  ["style", "/personalization?style=LASFAM"],
  ["choice group", "/personalization?group=MONTH"],
  ["choice", "/personalization?choice=Heart"],
  ["difference", "/personalization/difference"],
] as const;

describe.each([
  ["light", { width: 1280, height: 800 }],
  ["dark", { width: 390, height: 844 }],
] as const)("%s at %o", (colorScheme, viewport) => {
  let opened: OpenPage;
  beforeAll(async () => {
    opened = await openPage(browser, `${service.adminUrl}/`, { viewport, colorScheme });
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  test.each(pages)("the page of the %s holds together", async (_, path) => {
    const { page } = opened;
    const known = opened.faults.length;
    await page.goto(service.adminUrl + path);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(viewport.width);
    const ground = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    expect(Number(ground.match(/\d+/)?.[0]) < 128 ? "dark" : "light").toBe(colorScheme);
    // The public listener draws the sample's images, and has the widget and its answers.
    const faults = opened.faults.slice(known);
    expect(faults.filter((fault) => !fault.startsWith(`elsewhere: ${service.url}/`))).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
  });
});

test("the images of a product are really shown, and its copy in a frame that can do nothing", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/products/6781249159168`);
  const { page } = opened;
  const image = page.locator(".images img").first();
  await image.scrollIntoViewIfNeeded();
  await page.waitForFunction("document.querySelector('.images img').naturalWidth > 0");
  const frame = page.locator("iframe").first();
  await frame.scrollIntoViewIfNeeded();
  const copy = frame.contentFrame();
  await copy.getByText("Four compartments").waitFor();
  expect(await copy.locator("body").evaluate<string, unknown>("getComputedStyle(document.body).fontFamily")).toContain(
    "system-ui",
  );
});

test("the widget stands beside the tree of a SKU, and works", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/personalization?sku=NEW`);
  const { page } = opened;
  await page.getByRole("radio", { name: "LASFAM" }).check();
  await page.getByLabel("Family name").fill("THE NÚÑEZ FAMILY");
  await page.locator("[aria-live=polite]").getByText("THE NÚÑEZ FAMILY").waitFor();
});

test("everything is reached by keyboard alone, and one sees where one is", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/`);
  const { page } = opened;
  const focused = () =>
    page.evaluate<{ text: string; isSeen: boolean }>(`(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      const { left } = document.activeElement.getBoundingClientRect();
      const isSeen = outlineStyle !== "none" && outlineWidth !== "0px" && left >= 0;
      return { text: document.activeElement.textContent.trim(), isSeen };
    })()`);
  for (const text of ["Skip to the content", "Overview", "Runs", "Products"]) {
    await page.keyboard.press("Tab");
    expect(await focused()).toEqual({ text, isSeen: true });
  }
  await page.keyboard.press("Enter");
  await page.waitForURL("**/products");
  await page.getByLabel("Identifier, handle, SKU").focus();
  await page.keyboard.type("windsor jew");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Windsor Jewelry Box" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Windsor Jewelry Box", level: 1 }).waitFor();
  await page.goto(`${service.adminUrl}/`);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  expect(await page.evaluate<string>("document.activeElement.id")).toBe("main");
});

const refresh = (page: Page) =>
  Promise.all([
    page.waitForResponse(`${service.adminUrl}/`),
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))"),
  ]);

test("the overview keeps itself up to date, and leaves alone what a person is at", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/`, { viewport: { width: 800, height: 500 } });
  const { page, faults } = opened;
  await page.evaluate("scrollTo(0, 300)");
  const attention = page.locator("[data-live=attention]");
  const jobs = page.locator("[data-live=jobs]");
  await jobs.getByRole("link", { name: "catalog-import" }).focus();
  await using sql = new SQL(store);
  const [before, place] = [await jobs.innerHTML(), await jobs.boundingBox()];
  await sql`UPDATE run SET finished_at = '2020-01-01T00:00:00.000Z' WHERE job = 'catalog-import'`;
  await refresh(page);
  await attention.getByText("catalog-import for Larkspur & Finch last succeeded").waitFor();
  expect(await jobs.innerHTML()).toBe(before);
  expect(await page.evaluate("document.activeElement.textContent")).toBe("catalog-import");
  expect((await jobs.boundingBox())?.y).toBeCloseTo(place?.y ?? 0, 0);

  await page.evaluate("document.activeElement.blur()");
  await refresh(page);
  await jobs.getByText("too old").waitFor();
  await page.getByRole("button", { name: "Pause refreshing" }).click();
  await sql`UPDATE run SET finished_at = started_at WHERE job = 'catalog-import'`;
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await page.waitForTimeout(300);
  expect(await jobs.getByText("too old").isVisible()).toBe(true);
  await page.getByRole("button", { name: "Go on refreshing" }).click();
  await jobs.getByText("too old").waitFor({ state: "detached" });
  expect(faults).toEqual([]);
});

test("without script everything is there", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/`, { javaScriptEnabled: false });
  expect(await opened.page.getByRole("table").first().innerText()).toContain("Larkspur & Finch");
  expect(await opened.page.getByRole("button").count()).toBe(0);
});

const hostileFolder = await temporaryFolder();

describe("a catalog of markup and script in every field", () => {
  let hostile: RunningService;
  let watched: Watched;

  beforeAll(async () => {
    watched = await watchPage(browser);
    hostile = await serve(await importHostile(hostileFolder));
  });
  afterAll(() => hostile.stop());

  const query = (name: string, place: string) =>
    `/personalization?${new URLSearchParams({ [name]: place, brand: hostileBrand })}`;

  test.each([
    ["the overview", "/"],
    ["the runs", "/runs"],
    ["the runs of a job", `/runs?${new URLSearchParams({ job: attack("job"), brand: hostileBrand })}`],
    ["the first run", "/runs/1"],
    ["the second run", "/runs/2"],
    ["the third run", "/runs/3"],
    ["a product search", "/products?q=title"],
    ["a product search for markup", `/products?${new URLSearchParams({ q: attack("q") })}`],
    ["a product", "/products/1"],
    ["a variant", "/products/1?variant=401"],
    ["a SKU", query("sku", hostileSku)],
    ["a style", query("style", attack("s"))],
    ["a choice group", query("group", attack("g"))],
    ["a choice", query("choice", attack("v"))],
    ["the comparison of two generations", "/personalization/difference"],
  ])("runs nothing on the page of %s", async (_, path) => {
    const { page } = watched;
    const address = hostile.adminUrl + path;
    const answer = await page.goto(address);
    expect(answer?.status()).toBe(200);
    expect(await page.locator("main").innerText()).toContain(`onerror="top.document.title='run'">`);
    for (const frame of await page.locator("iframe").all()) await frame.scrollIntoViewIfNeeded();
    await page.waitForTimeout(50);
    const { requests, faults } = watched.take();
    expect(await page.title()).not.toBe("run");
    expect(await page.locator("h1").count()).toBe(1);
    // The frame of copy shows pictures of its own, which are asked for as pictures and do nothing.
    const isCopy = path.startsWith("/products/1");
    // One of its pictures has the address of one.
    const origins = [hostile.adminUrl, hostile.url, "https://a.example/", "data:"];
    const own = (url: string) => origins.some((origin) => url.startsWith(origin));
    expect(requests.filter((url) => !own(url))).toEqual([]);
    expect(requests.filter((url) => url.includes("/hit") && !isCopy)).toEqual([]);
    expect(faults.filter((fault) => /violates|Uncaught/.test(fault) && !isCopy)).toEqual([]);
    expect(page.url()).toBe(address);
  });
});
