import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { accessibilityProblems, type OpenPage, openPage, startBrowser } from "../support/browser.ts";
import { attack, hostileBrand, hostileSku, importHostile, type Watched, watchPage } from "../support/hostile.ts";
import { tokenLines } from "../support/operator.ts";
import {
  connectTo,
  pds,
  type RunningService,
  root,
  runsOnBothEngines,
  serve,
  temporaryFolder,
} from "../support/pds.ts";
import { until } from "../support/until.ts";

const home = await temporaryFolder();
const store = `sqlite:${join(home, "pds.sqlite")}`;

/** The sample brand with a second generation of personalization and a failed import. */
async function startSample(): Promise<RunningService> {
  // Without the feed of its past week.
  const filter = (path: string) => !path.endsWith("earlier");
  await cp(join(root, "sample"), join(home, "sample"), { recursive: true, filter });
  const config = join(home, "pds.toml");
  // No scheduled run begins during the tests.
  await writeFile(
    config,
    (await readFile(join(root, "pds.toml"), "utf8")).replaceAll(/(?<=schedule = )".+"/g, '"@yearly"'),
  );
  const environment = { DATABASE_URL: store, PDS_CONFIG: config };
  const service = await serve(environment, home);
  const isImported = async () => {
    const { checks } = (await (await service.get("/readyz")).json()) as { checks: { data?: string } };
    return checks.data === "ok";
  };
  await until("the sample is imported", isImported);
  const folder = join(home, "sample", "personalization");
  const lines = join(folder, "pzlines.csv");
  const importAgain = async () => (await pds(["import", "personalization", folder], environment, home)).code;
  await writeFile(lines, `${await readFile(lines, "utf8")}NEW,LASFAM,1,A\n`);
  expect(await importAgain()).toBe(0);
  await writeFile(lines, "sku_id,style_code\nNEW,LASFAM\n");
  expect(await importAgain()).toBe(1);
  return service;
}

const [browser, service] = await Promise.all([startBrowser(), startSample()]);
afterAll(() => service.stop());

/** Whether each page is checked in each look, as in campaigns and every night. */
const checksAll = runsOnBothEngines || process.env.TEST_SHORT_CAMPAIGN !== undefined;

const pages = [
  ["overview", "/"],
  ["runs", "/runs"],
  ["run", "/runs/2"],
  ["failed run", "/runs/5"],
  ["runs of a job", "/runs?job=catalog-import&from=2026-01-01&text=nothing"],
  ["search", "/search?q=set"],
  ["products", "/products?status=active"],
  ["product search", "/products?q=silver+b"],
  ["product", "/products/6781249159168"],
  ["styles", "/personalization"],
  ["SKU", "/personalization?sku=1812234"],
  ["unknown SKU", "/personalization?sku=tm814810w&mark=none"],
  ["style", "/personalization?style=LASFAM"],
  ["choice group", "/personalization?group=MONTH"],
  ["choice", "/personalization?choice=Heart"],
  ["versions", "/personalization/versions"],
  ["generation comparison", "/personalization/difference?sku=NEW"],
] as const;

const looks = [
  ["light", { width: 1280, height: 800 }, {}],
  ["dark", { width: 390, height: 844 }, {}],
  // As at a zoom of 200 %.
  ["light", { width: 640, height: 400 }, { deviceScaleFactor: 2 }],
  ["light", { width: 1280, height: 801 }, { forcedColors: "active" }],
] as const;

/** In `npm test`, every page in two of the looks. */
const pagesIn = (look: number) => pages.filter((_, page) => checksAll || (page + look) % 2 === 0);

describe.each(looks.map((look, index) => [...look, pagesIn(index)] as const))("%s at %o with %o", (...look) => {
  const [colorScheme, viewport, options, pages] = look;
  let opened: OpenPage;
  beforeAll(async () => {
    opened = await openPage(browser, `${service.adminUrl}/`, { viewport, colorScheme, ...options });
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  test.each(pages)("the %s page has no layout, color scheme, or accessibility problems", async (_, path) => {
    const { page } = opened;
    const known = opened.faults.length;
    await page.goto(service.adminUrl + path);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(viewport.width);
    const background = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    expect(Number(background.match(/\d+/)?.[0]) < 128 ? "dark" : "light").toBe(colorScheme);
    // Sample images, the widget, and its API requests come from the public listener.
    const isElsewhere = (fault: string) => fault.startsWith(`elsewhere: ${service.url}/`);
    // The page before may have been left during a refresh.
    const isAborted = (fault: string) => fault.endsWith("net::ERR_ABORTED");
    const faults = opened.faults.slice(known);
    expect(faults.filter((fault) => !isElsewhere(fault) && !isAborted(fault))).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
  });
});

test("a product shows its images", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/products/6781249159168`);
  const { page } = opened;
  const image = page.locator(".images img").first();
  await image.scrollIntoViewIfNeeded();
  await page.waitForFunction("document.querySelector('.images img').naturalWidth > 0");
});

test("the widget works next to the tree of a SKU", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/personalization?sku=NEW`);
  const { page } = opened;
  await page.getByRole("radio", { name: "Family name" }).check();
  await page.getByRole("textbox", { name: "Family name" }).fill("THE NÚÑEZ FAMILY");
  await page.locator("[aria-live=polite]").getByText("THE NÚÑEZ FAMILY").waitFor();
});

test("everything is reachable by keyboard, with visible focus", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/`);
  const { page } = opened;
  const focused = () =>
    page.evaluate<{ text: string; isVisible: boolean }>(`(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      const { left } = document.activeElement.getBoundingClientRect();
      const isVisible = outlineStyle !== "none" && outlineWidth !== "0px" && left >= 0;
      return { text: document.activeElement.textContent.trim(), isVisible };
    })()`);
  for (const text of ["Skip to main content", "Overview", "Runs", "Products"]) {
    await page.keyboard.press("Tab");
    expect(await focused()).toEqual({ text, isVisible: true });
  }
  await page.keyboard.press("Enter");
  await page.waitForURL("**/products");
  await page.getByLabel("Product ID, handle, SKU").focus();
  await page.keyboard.type("windsor jew");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Windsor Jewelry Box" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Windsor Jewelry Box", level: 1 }).waitFor();
  const search = async (text: string) => {
    await page.getByRole("searchbox", { name: "Search" }).focus();
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
  };
  await search("NEW");
  await page.waitForURL("**/personalization?sku=NEW");
  await search("windsor");
  await page.waitForURL("**/products/6781249159168");
  await search("set");
  await page.getByRole("region", { name: "Table: Hits" }).getByRole("link").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/products\/\d+$/);
  await page.goto(`${service.adminUrl}/`);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  expect(await page.evaluate<string>("document.activeElement.id")).toBe("main");
});

test("a page has one primary button at most, and actions that end or remove something are red", async () => {
  const config = join(home, "operators.toml");
  const token = "pds_ann-may-operate";
  await writeFile(config, (await readFile(join(home, "pds.toml"), "utf8")) + tokenLines("ann", "operate", token));
  await using guarded = await serve({ DATABASE_URL: store, PDS_CONFIG: config, SCHEDULER: "off" }, home);
  await using opened = await openPage(browser, `${guarded.adminUrl}/`, {
    extraHTTPHeaders: { authorization: `Bearer ${token}` },
  });
  const { page } = opened;
  /** Name and look of each action of a page. */
  const actionsOf = async (path: string) => {
    await page.goto(guarded.adminUrl + path);
    return await page.evaluate<
      string[][]
    >(`[...document.querySelectorAll("main :is(button, .action)")].map((element) => {
      const { color, backgroundColor } = getComputedStyle(element);
      const isRed = (text) => {
        const [red, green, blue] = text.match(/\\d+/g).map(Number);
        return red > 2 * Math.max(green, blue);
      };
      const look = isRed(backgroundColor) ? "filled red" : isRed(color) ? "red" : element.className;
      return [element.textContent, look];
    })`);
  };
  const brand = "Larkspur & Finch";
  const about = (action: string, fields: Record<string, string>) => `/actions/${action}?${new URLSearchParams(fields)}`;
  expect(await actionsOf(about("remove-brand", { brand }))).toEqual([["Remove the brand", "filled red"]]);
  const ofJob = { job: "catalog-import", brand };
  expect(await actionsOf(about("force", ofJob))).toEqual([["Import without checks", "filled red"]]);
  expect(await actionsOf(about("pause", ofJob))).toEqual([["Pause", "primary"]]);
  expect(await actionsOf("/runs/5")).toEqual([["Retry", "action"]]);
  const offered = await actionsOf("/actions");
  expect(offered.filter(([, look]) => look !== "action")).toEqual([[`Remove ${brand}`, "red"]]);
  for (const [name, path] of pages) {
    const primary = (await actionsOf(path)).filter(([, look]) => look === "primary");
    expect([name, primary.length <= 1]).toEqual([name, true]);
  }
});

const refresh = (page: Page) =>
  Promise.all([
    page.waitForResponse((response) => response.url().includes("refresh=shared")),
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))"),
  ]);

/** Lets the page's time pass, which flows only then, until an element is visible or not. */
const untilVisible = (page: Page, locator: Locator, isVisible = true) =>
  until(`the page ${isVisible ? "shows" : "hides"} ${locator}`, async () => {
    await page.clock.runFor(1000);
    return (await locator.isVisible()) === isVisible;
  });

/** Opens a page whose time stands still. */
async function openPaused(url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const opened = await openPage(browser, new URL("/livez", url).href, options);
  await opened.page.clock.install();
  await opened.page.goto(url);
  await opened.page.clock.pauseAt(Date.now() + 3_600_000);
  return opened;
}

// The service shares a reading among refreshes for four seconds, so these tests mostly wait.
test.concurrent("the overview refreshes itself in place, and waits while somebody uses it, which it says", async () => {
  await using opened = await openPaused(`${service.adminUrl}/`, { viewport: { width: 800, height: 500 } });
  const { page, faults } = opened;
  const [jobs, footer] = [page.locator("[data-live=jobs]"), page.locator("footer")];
  await untilVisible(page, footer.getByText("Refreshed at"));
  await using sql = await connectTo(store);
  await sql`UPDATE run SET finished_at = '2020-01-01T00:00:00.000Z' WHERE job = 'catalog-import'`;
  // Every move of the pointer over a section begins the wait anew.
  await jobs.scrollIntoViewIfNeeded();
  for (let turn = 0; turn < 4; turn++) {
    const box = await jobs.boundingBox();
    await page.mouse.move((box?.x ?? 0) + 20 + turn * 5, Math.max(box?.y ?? 0, 0) + 20);
    await page.clock.runFor(4000);
  }
  await footer.getByText("Refresh waits while you use Jobs.").waitFor();
  expect(await jobs.getByText("stale").count()).toBe(0);
  // It goes on by itself, although the pointer is still there and a link has the focus.
  const link = jobs.getByRole("link", { name: "catalog-import" });
  await link.focus();
  await untilVisible(page, jobs.getByText("stale"));
  expect(await page.evaluate("document.activeElement.textContent")).toBe("catalog-import");
  await footer.getByText("Refreshed at").waitFor();

  await page.getByLabel("Refresh").selectOption("never");
  await footer.getByText("Refresh is off.").waitFor();
  await page.reload();
  await footer.getByText("Refresh is off.").waitFor();
  await sql`UPDATE run SET finished_at = started_at WHERE job = 'catalog-import'`;
  await page.getByLabel("Refresh").selectOption("every 5 seconds");
  await untilVisible(page, jobs.getByText("stale"), false);
  expect(faults).toEqual([]);
});

test.concurrent("sections that a refresh brings appear, and the page of a run refreshes until the run has ended", async () => {
  const folder = await temporaryFolder();
  const environment = { DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}` };
  await using fresh = await serve(environment);
  await using opened = await openPaused(`${fresh.adminUrl}/`);
  const { page } = opened;
  const sections = () =>
    page.evaluate<string[]>('[...document.querySelectorAll("[data-live]")].map((each) => each.dataset.live)');
  expect(await sections()).toEqual(["problems", "stored-data", "jobs"]);
  await pds(["import", "products", join(root, "sample/products.ndjson")], environment);
  await untilVisible(page, page.locator("[data-live=counts]").getByRole("img", { name: "catalog-import" }));
  expect(await sections()).toEqual(["problems", "timeline", "stored-data", "jobs", "counts"]);

  await using sql = await connectTo(environment.DATABASE_URL);
  await sql`INSERT INTO run (job, brand, started_at, lease_until, lease_seconds)
    VALUES ('catalog-sync', 'default', '2026-01-01T00:00:00.000Z', '9999', 3600)`;
  const [run] = await sql<{ id: number }[]>`SELECT max(id) AS id FROM run`;
  await page.goto(`${fresh.adminUrl}/runs/${run?.id}`);
  await page.locator(".status.running").waitFor();
  await sql`UPDATE run SET finished_at = '2026-01-01T01:00:00.000Z', outcome = 'failed', reason = 'unplugged' WHERE id = ${run?.id}`;
  await untilVisible(page, page.getByText("unplugged"));
  await page.getByText("Refreshed at").waitFor();
  let requests = 0;
  page.on("request", () => requests++);
  await page.clock.runFor(60_000);
  expect(requests).toBe(0);
  // The output of one that has just ended may be incomplete.
  await sql`UPDATE run SET finished_at = '2026-01-01T01:00:00.000Z' WHERE id = 1`;
  await page.goto(`${fresh.adminUrl}/runs/1`);
  expect(await page.getByLabel("Refresh").count()).toBe(0);
});

test.concurrent("the title and the icon of every page say that something needs attention, also after a refresh", async () => {
  const environment = { DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}` };
  await using fresh = await serve(environment);
  await using opened = await openPaused(`${fresh.adminUrl}/`);
  const { page, faults } = opened;
  const head = () =>
    page.evaluate<string[]>("[document.title, new URL(document.querySelector('link[rel=icon]').href).pathname]");
  const others = async () => {
    const texts = ["/runs", "/products", "/personalization", "/actions", "/audit"].map(async (path) => {
      const text = await (await fetch(fresh.adminUrl + path)).text();
      return [text.match(/<title>([^<]*) · /)?.[1], text.match(/<link rel="icon" href="([^"]*)"/)?.[1]];
    });
    return await Promise.all(texts);
  };
  expect(await head()).toEqual(["(1) Overview · Product Data Service", "/console/icon-alert.svg"]);
  const titles = ["Runs", "Products", "Personalization", "Actions", "Audit"];
  expect(await others()).toEqual(titles.map((title) => [`(1) ${title}`, "/console/icon-alert.svg"]));
  for (const name of ["icon", "icon-alert"]) {
    await page.evaluate(`Object.assign(new Image(), { src: "/console/${name}.svg" }).decode()`);
  }

  await pds(["import", "products", join(root, "sample/products.ndjson")], environment);
  await untilVisible(page, page.getByText("No problems."));
  expect(await head()).toEqual(["Overview · Product Data Service", "/console/icon.svg"]);
  expect(await others()).toEqual(titles.map((title) => [title, "/console/icon.svg"]));
  expect(faults).toEqual([]);
});

/** A page as the console's, of runs in progress, the newest first. */
const runsPage = (...ids: readonly number[]) => `<!doctype html><html lang="en"><title>Runs</title>
  <link rel="icon" href="data:,">
  <script src="/console/refresh.js" type="module"></script>
  <main id="main" tabindex="-1"><h1>Runs</h1><section data-live="runs"><h2 id="runs">Runs</h2><ul>${ids
    .map(
      (id) => `<li id="run-${id}"><details><summary>About run ${id}</summary>It has no report.</details>
        <form action="/livez"><input name="run" type="hidden" value="${id}">
          <label>Reason for run ${id} <input name="reason"></label> <button>Cancel run ${id}</button></form>
        <dialog aria-label="Run ${id}">Really?</dialog></li>`,
    )
    .join("")}</ul></section></main><footer><span data-refreshed></span></footer></html>`;

test("focus, selection, open details and dialogs, and half-filled forms stay with their row in a refresh", async () => {
  await using opened = await openPaused(`${service.adminUrl}/livez`);
  const { page, faults } = opened;
  let ids = [3, 2, 1];
  await page.route("**/in-progress*", (route) => route.fulfill({ contentType: "text/html", body: runsPage(...ids) }));
  await page.goto(`${service.adminUrl}/in-progress`);
  await page.getByText("About run 3").click();
  await page.getByLabel("Reason for run 3").fill("too slow");
  await page.evaluate("document.querySelector('#run-2 dialog').show()");
  await page.getByRole("button", { name: "Cancel run 3" }).focus();
  await page.evaluate("getSelection().selectAllChildren(document.querySelector('#run-2 label'))");
  ids = [4, 3, 2, 1];
  await untilVisible(page, page.getByText("About run 4"));
  expect(await page.locator("details[open]").allInnerTexts()).toEqual([expect.stringContaining("About run 3")]);
  expect(await page.locator("dialog[open]").getAttribute("aria-label")).toBe("Run 2");
  const reasons = "[...document.querySelectorAll('[name=reason]')].map(({ value }) => value)";
  expect(await page.evaluate<string[]>(reasons)).toEqual(["", "too slow", "", ""]);
  expect(await page.evaluate<string>("getSelection().toString()")).toContain("Reason for run 2");
  expect(await page.evaluate<string>("document.activeElement.textContent")).toBe("Cancel run 3");

  await page.getByRole("button", { name: "Cancel run 2" }).focus();
  ids = [5, 4, 3, 1];
  await untilVisible(page, page.getByText("About run 5"));
  expect(await page.evaluate("document.activeElement.id")).toBe("main");

  await page.getByRole("button", { name: "Cancel run 3" }).focus();
  ids = [6, 5, 4, 3];
  await untilVisible(page, page.getByText("About run 6"));
  await page.keyboard.press("Enter");
  await page.waitForURL("**/livez?run=3&reason=too+slow");
  expect(faults).toEqual([]);
});

test.concurrent("a focused link of the overview never becomes that of another job or run", async () => {
  const environment = { DATABASE_URL: `sqlite:${join(await temporaryFolder(), "pds.sqlite")}` };
  await using fresh = await serve(environment);
  await using sql = await connectTo(environment.DATABASE_URL);
  const addRun = (job: string, day: number) =>
    sql`INSERT INTO run (job, brand, started_at, finished_at, outcome, counts, lease_until, lease_seconds)
      VALUES (${job}, 'default', ${`2026-01-0${day}T00:00:00.000Z`}, ${`2026-01-0${day}T01:00:00.000Z`}, 'succeeded', 1, '2026', 60)`;
  await addRun("catalog-sync", 1);
  await using opened = await openPaused(`${fresh.adminUrl}/`);
  const { page, faults } = opened;
  const [jobs, counts] = [page.locator("[data-live=jobs]"), page.locator("[data-live=counts]")];
  await counts.getByRole("link", { name: "Show as table catalog-sync" }).focus();
  await addRun("catalog-import", 2);
  await untilVisible(page, jobs.getByRole("link", { name: "catalog-import" }));
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Show as table catalog-sync");
  await jobs.locator("a[href='/runs/1']").focus();
  await addRun("catalog-sync", 3);
  await untilVisible(page, jobs.locator("a[href='/runs/3']"));
  expect(await page.evaluate("document.activeElement.ariaLabel")).toBe("Table: Jobs");
  expect(faults).toEqual([]);
});

test("the table of a chart stays when the overview refreshes", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/`);
  const { page } = opened;
  const table = page.getByRole("region", { name: "Table: catalog-import" });
  expect(await table.count()).toBe(0);
  await page.getByRole("link", { name: "Show as table catalog-import" }).click();
  await table.waitFor();
  expect(await page.getByRole("region", { name: "Table: personalization-import" }).count()).toBe(0);
  await page.mouse.move(0, 0);
  await refresh(page);
  await page.locator("footer").getByText("Refreshed at").waitFor();
  expect(await table.getByRole("row").count()).toBeGreaterThan(1);
  await page.getByRole("link", { name: "Hide the table" }).click();
  await table.waitFor({ state: "detached" });
});

test("times are shown in the reader's time zone too", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/runs/2`, { timezoneId: "America/New_York" });
  await opened.page.locator("time .local").first().waitFor();
  expect(await opened.page.locator("time .local").first().innerText()).toEndWith("America/New_York");
});

test("in London, only the times of the summer differ from UTC", async () => {
  await using sql = await connectTo(store);
  await sql`UPDATE run SET started_at = '2026-01-05T09:00:00.000Z', finished_at = '2026-07-05T09:00:00.000Z' WHERE id = 1`;
  await using opened = await openPage(browser, `${service.adminUrl}/livez`, { timezoneId: "Europe/London" });
  const { page } = opened;
  await page.clock.setFixedTime("2026-12-01T12:00:00Z");
  await page.goto(`${service.adminUrl}/runs/1`);
  await page.locator("time .local").first().waitFor();
  expect(await page.locator("time .local").allInnerTexts()).toEqual(["Jul 5, 2026, 10:00:00 Europe/London"]);
});

test("the current page is visible in forced colors", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/runs`, { forcedColors: "active" });
  const bordersOf = (selector: string) =>
    opened.page.evaluate<string[]>(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].map((link) => getComputedStyle(link).borderBottomColor)`,
    );
  const [current = ""] = await bordersOf("header a[aria-current]");
  const others = await bordersOf("header a:not([aria-current])");
  expect(others.length).toBeGreaterThan(3);
  expect(others).not.toContain(current);
});

test("rows are cards on a phone, and long names break no layout", async () => {
  const brand = "Averylongnamewithoutanyspaces".repeat(6);
  const environment = { DATABASE_URL: store, PDS_CONFIG: join(home, "pds.toml") };
  await pds(["import", "products", "sample/broken/missing-title.ndjson", "--brand", brand], environment, home);
  const viewport = { width: 390, height: 844 };
  await using opened = await openPage(browser, `${service.adminUrl}/`, { viewport });
  const { page } = opened;
  for (const path of ["/", "/runs", "/runs/5", "/products", "/personalization"]) {
    await page.goto(service.adminUrl + path);
    expect([path, await page.evaluate<number>("document.documentElement.scrollWidth")]).toEqual([path, viewport.width]);
    const hidden = await page.evaluate<string[]>(`[...document.querySelectorAll("td, tbody th")]
      .filter((cell) => cell.getBoundingClientRect().right > innerWidth || cell.scrollWidth > cell.clientWidth + 1)
      .map((cell) => cell.textContent)`);
    expect([path, hidden]).toEqual([path, []]);
  }
});

test("the newest failed run is on the first screen of a phone", async () => {
  const viewport = { width: 390, height: 844 };
  await using opened = await openPage(browser, `${service.adminUrl}/`, { viewport });
  const { page } = opened;
  await using sql = await connectTo(store);
  const [failed] = await sql<{ id: number }[]>`SELECT max(id) AS id FROM run WHERE outcome = 'failed'`;
  for (const path of ["/", "/runs"]) {
    await page.goto(service.adminUrl + path);
    const link = page.locator(`#timeline + .timeline a.failed[href="/runs/${failed?.id}"]`);
    const box = await link.boundingBox();
    expect((box?.y ?? Number.POSITIVE_INFINITY) + (box?.height ?? 0)).toBeLessThan(viewport.height);
    expect(await page.getByLabel("Text in the reason").isVisible()).toBeFalse();
  }
  await page.getByText("Filter", { exact: true }).first().click();
  await page.getByLabel("Text in the reason").waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.reload();
  await page.getByLabel("Text in the reason").waitFor();
});

test("a focused link to a failed run stays when another job fails", async () => {
  await using opened = await openPaused(`${service.adminUrl}/`);
  const { page } = opened;
  const problems = page.locator("[data-live=problems]");
  const showRun = problems.getByRole("link", { name: "Show run" });
  const href = await showRun.getAttribute("href");
  await showRun.focus();
  const at = new Date().toISOString();
  await using sql = await connectTo(store);
  await sql`INSERT INTO run (id, job, brand, started_at, finished_at, outcome, reason, lease_until, lease_seconds)
    VALUES (99, 'catalog-import', 'Larkspur & Finch', ${at}, ${at}, 'failed', 'unplugged', '2026', 60)`;
  await untilVisible(page, problems.locator("li").first().getByText("catalog-import"));
  expect(await page.evaluate("document.activeElement.getAttribute('href')")).toBe(href);
});

test("the overview is complete without JavaScript", async () => {
  await using opened = await openPage(browser, `${service.adminUrl}/`, { javaScriptEnabled: false });
  expect(await opened.page.getByRole("table").first().innerText()).toContain("Larkspur & Finch");
  expect(await opened.page.getByRole("button").count()).toBe(0);
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

  const query = (name: string, value: string) =>
    `/personalization?${new URLSearchParams({ [name]: value, brand: hostileBrand })}`;

  test.each([
    ["the overview", "/"],
    ["the runs", "/runs"],
    ["the runs of a job", `/runs?${new URLSearchParams({ job: attack("job"), brand: hostileBrand })}`],
    ["the first run", "/runs/1"],
    ["the second run", "/runs/2"],
    ["the third run", "/runs/3"],
    ["a product search", "/products?q=title"],
    ["a product search for markup", `/products?${new URLSearchParams({ q: attack("q") })}`],
    ["a search for markup", `/search?${new URLSearchParams({ q: `zzz ${attack("q")}` })}`],
    ["a product", "/products/1"],
    ["a variant", "/products/1?variant=401"],
    ["a SKU", query("sku", hostileSku)],
    ["a style", query("style", attack("s"))],
    ["a choice group", query("group", attack("g"))],
    ["a choice", query("choice", attack("v"))],
    ["the versions", "/personalization/versions"],
    ["the comparison of two generations", "/personalization/difference"],
  ])("runs nothing on the page of %s", async (_, path) => {
    const { page } = watched;
    const url = hostile.adminUrl + path;
    const response = await page.goto(url);
    expect(response?.status()).toBe(200);
    expect(await page.locator("main").innerText()).toContain(`onerror="top.document.title='run'">`);
    await page.waitForTimeout(50);
    const { requests, faults } = watched.take();
    expect(await page.title()).not.toBe("run");
    expect(await page.locator("h1").count()).toBe(1);
    // One of the product's images is on https://a.example.
    const origins = [hostile.adminUrl, hostile.url, "https://a.example/", "data:"];
    const isAllowed = (url: string) => origins.some((origin) => url.startsWith(origin));
    expect(requests.filter((url) => !isAllowed(url))).toEqual([]);
    expect(requests.filter((url) => url.endsWith("/hit"))).toEqual([]);
    expect(faults.filter((fault) => /violates|Uncaught/.test(fault))).toEqual([]);
    expect(page.url()).toBe(url);
  });
});
