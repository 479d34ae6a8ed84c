import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { accessibilityProblems, type OpenPage, openPage, startBrowser } from "../support/browser.ts";
import { toProduct } from "../support/catalog.ts";
import { fillStore } from "../support/import-here.ts";
import type { Schemas } from "../support/json-schema.ts";
import { createMigratedStore, serve, serveUntilEnd, temporaryFolder } from "../support/pds.ts";

interface Document {
  readonly paths: Readonly<
    Record<string, { get: { operationId: string; summary: string; parameters?: { name: string }[] } }>
  >;
  readonly components: { readonly schemas: Schemas };
}

const [browser, service] = await Promise.all([
  startBrowser(),
  temporaryFolder().then((folder) =>
    serveUntilEnd({
      DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
      PUBLIC_URL: "https://products.example.com/",
    }),
  ),
]);
const document = (await (await service.get("/openapi.json")).json()) as Document;
const operations = Object.entries(document.paths).map(([path, { get }]) => ({ path, ...get }));
const schemas = Object.entries(document.components.schemas);

const wide = { width: 1280, height: 800 };
const narrow = { width: 390, height: 844 };
const open = (viewport = wide, colorScheme: "light" | "dark" = "light") =>
  openPage(browser, `${service.url}/docs`, { viewport, colorScheme });

describe("the public listener", () => {
  test("has an index of all URLs for programs, as others reach them", async () => {
    const response = await service.get("/", { headers: { Accept: "*/*" } });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(response.headers.get("vary")).toBe("Accept, Accept-Encoding");
    const index = (await response.json()) as Record<string, unknown> & { operations: { id: string; url: string }[] };
    expect(index).toMatchObject({
      reference: "https://products.example.com/docs",
      openapi: "https://products.example.com/openapi.json",
      widget: "https://products.example.com/personalization-options.js",
    });
    expect(index.operations.map(({ id, url }) => [id, url.replace("{?sku*}", "")])).toEqual(
      operations.map(({ operationId, path }) => [operationId, `https://products.example.com${path}`]),
    );
    const { servers } = (await (await service.get("/openapi.json")).json()) as { servers: unknown };
    expect(servers).toEqual([{ url: "https://products.example.com" }]);
    for (const url of [index.reference, index.openapi, index.widget]) {
      expect((await service.get(new URL(`${url}`).pathname)).status).toBe(200);
    }
  });

  test("has a page for browsers", async () => {
    await using opened = await openPage(browser, `${service.url}/`, { viewport: narrow, colorScheme: "dark" });
    expect(await accessibilityProblems(opened.page)).toEqual([]);
    await opened.page.getByRole("link", { name: "API reference" }).click();
    expect(await opened.page.title()).toBe("Product Data Service: reference");
  });
});

test.each([
  ["light", wide],
  ["dark", narrow],
] as const)("the reference page, %s at %o, has no layout, color scheme, or accessibility problems", async (...look) => {
  const [colorScheme, viewport] = look;
  await using opened = await open(viewport, colorScheme);
  const { page, faults } = opened;
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(viewport.width);
  const background = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  expect(Number(background.match(/\d+/)?.[0]) < 128 ? "dark" : "light").toBe(colorScheme);
  // Also console messages and requests to other origins.
  expect(faults).toEqual([]);
});

describe("the reference page", () => {
  let opened: OpenPage;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  test.each(operations)("documents the operation $operationId", async ({ operationId, summary, path }) => {
    const section = opened.page.locator(`#${operationId}`);
    expect(await section.getByRole("heading", { name: summary, exact: true }).isVisible()).toBe(true);
    expect(await section.locator("pre").first().innerText()).toBe(`GET ${path}`);
  });

  test.each(schemas)("documents the object %s, field by field", async (name, { properties }) => {
    const rows = await opened.page.locator(`#${name} tbody tr`).all();
    const shown = await Promise.all(rows.map(async (row) => await row.locator("th, td").allInnerTexts()));
    const fields = Object.entries(properties as Schemas);
    expect(shown.map(([field]) => field)).toEqual(fields.map(([field]) => field));
    for (const [field = "", type = "", notes] of shown) {
      const schema = (properties as Schemas)[field];
      expect(type).toMatch(JSON.stringify(schema).includes('"null"') ? /^\w.* or null$/ : /^["\w]/);
      expect(notes).toBe(`${schema?.description ?? ""}`.replaceAll("`", ""));
    }
  });

  test("has no broken links", async () => {
    const nowhere = `[...document.querySelectorAll("a[href^='#']")]
      .map((link) => link.getAttribute("href")).filter((href) => document.querySelector(href) === null)`;
    expect(await opened.page.evaluate<string[]>(nowhere)).toEqual([]);
  });

  test("reaches every operation by keyboard, with a visible focus", async () => {
    const { page } = opened;
    const focused = `(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return { href: document.activeElement.getAttribute("href"), visible: outlineStyle !== "none" && outlineWidth !== "0px" };
    })()`;
    for (const { operationId } of operations) {
      await page.keyboard.press("Tab");
      expect(await page.evaluate<unknown>(focused)).toEqual({ href: `#${operationId}`, visible: true });
      await page.keyboard.press("Enter");
      expect(new URL(page.url()).hash).toBe(`#${operationId}`);
      expect(await page.locator(`#${operationId} h3`).isVisible()).toBe(true);
      await page.locator(`a[href="#${operationId}"]`).first().focus();
    }
  });
});

describe("the forms of the reference page", () => {
  const bigId = "9007199254740993";
  const formOf = (page: Page, operationId: string) => page.locator(`#${operationId} form`);

  /** Sends a request by keyboard alone, and returns the texts of its response. */
  async function send(page: Page, operationId: string, ...values: string[]): Promise<string[]> {
    const form = formOf(page, operationId);
    for (const [index, value] of values.entries()) {
      const field = form.locator("input, select, textarea").nth(index);
      await field.focus();
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(value);
    }
    await form.getByRole("button").focus();
    await page.keyboard.press("Enter");
    await form.locator(".response pre").nth(1).waitFor();
    return await form.locator(".response > *").allInnerTexts();
  }

  test("send requests by keyboard, and show the responses without accessibility violations", async () => {
    await using opened = await open(narrow, "dark");
    const { page, faults } = opened;
    const [request, status, headers, body] = await send(page, "getPersonalization", "MUG/1");
    expect([request, status]).toEqual(["GET /api/v1/products/pz/MUG%2F1", "200 OK"]);
    expect(headers).toContain("etag: W/");
    expect(JSON.parse(body ?? "")).toEqual({ pzlines: [], pzstyles: [], pzchoices: [] });

    const [severalSkus, , , several] = await send(page, "getPersonalizations", "A&B\nC\n");
    expect(severalSkus).toBe("GET /api/v1/products/pz?sku=A%26B&sku=C");
    expect(JSON.parse(several ?? "").personalizations).toHaveLength(2);
    expect(faults).toEqual([]);

    const [unknown, notFound, , problem] = await send(page, "getProduct", bigId);
    expect([unknown, notFound]).toEqual([`GET /api/v1/products/${bigId}`, "404 Not Found"]);
    expect(problem).toContain(bigId);
    expect(await accessibilityProblems(page, "#getProduct form")).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(narrow.width);
  });

  test("have a field for each parameter, and need a value for each", async () => {
    await using opened = await open();
    for (const { operationId, parameters = [] } of operations) {
      const fields = formOf(opened.page, operationId).locator("input, select, textarea");
      const names = await fields.evaluateAll((all) => all.map((field) => field.getAttribute("name")));
      expect(names).toEqual(parameters.map(({ name }) => name));
      if (parameters.length === 0) continue;
      for (const field of await formOf(opened.page, operationId).locator("input, textarea").all()) await field.fill("");
      await formOf(opened.page, operationId).getByRole("button").click();
    }
    // One order is always selected, so that its form can be sent.
    expect(await opened.page.locator(".response:not(:empty)").count()).toBe(1);
    expect(opened.faults).toEqual([]);
  });

  test("show only the response of the last request", async () => {
    await using opened = await open();
    const { page } = opened;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/pz/slow", async (route) => {
      await held;
      await route.fulfill({ body: "from the first request" });
    });
    const form = formOf(page, "getPersonalization");
    await form.getByLabel("sku").fill("slow");
    await form.getByRole("button").click();
    await form.getByText("GET /api/v1/products/pz/slow").waitFor();
    await form.getByLabel("sku").fill("fast");
    await form.getByRole("button").click();
    await form.getByText("pzlines").waitFor();
    const late = page.waitForResponse("**/pz/slow");
    release();
    await (await late).finished();
    // By the time of a later response, the page has handled this one.
    await page.evaluate(`fetch("/api/v1/products/pz/later").then((response) => response.text())`);
    expect(await form.getByText("from the first request").count()).toBe(0);
  });

  test("begin with values that the service has, which the commands for a shell follow", async () => {
    const DATABASE_URL = await createMigratedStore("sqlite");
    // Responses have no product that shoppers may not see.
    const hidden = Array.from({ length: 30 }, (_, index) => toProduct(index + 1, { published_at: null }));
    await fillStore({ DATABASE_URL }, [...hidden, toProduct(BigInt(bigId))]);
    await using own = await serve({ DATABASE_URL });
    await using opened = await openPage(browser, `${own.url}/docs`);
    const { page } = opened;
    const form = formOf(page, "getProduct");
    const command = page.locator("#getProduct pre", { hasText: "curl" });
    await command.getByText(bigId).waitFor();
    expect(await command.innerText()).toBe(`curl '${own.url}/api/v1/products/${bigId}'`);
    await form.getByRole("button").click();
    await form.getByText("200 OK").waitFor();
    expect(await formOf(page, "getProductByHandle").getByLabel("handle").inputValue()).toBe(`plate-${bigId}`);
    await formOf(page, "getPersonalization").getByLabel("sku").fill("it's");
    expect(await page.locator("#getPersonalization pre", { hasText: "curl" }).innerText()).toBe(
      `curl '${own.url}/api/v1/products/pz/it%27s'`,
    );
    const refused: string[] = [];
    for (const text of [".", "..", "...", "a.", ".a", "it's/%2E"]) {
      await formOf(page, "getPersonalization").getByLabel("sku").fill(text);
      if ((await page.locator("#getPersonalization input:invalid").count()) > 0) refused.push(text);
    }
    expect(refused).toEqual([".", ".."]);

    await page.goto(own.url);
    for (const link of await page.locator("code a").all()) {
      expect((await own.get(`${await link.getAttribute("href")}`)).status).toBe(200);
    }
    expect(await page.locator("code a").count()).toBe(3);
    expect(opened.faults).toEqual([]);
  });

  test("are hidden without scripts, and everything else is there", async () => {
    await using opened = await openPage(browser, `${service.url}/docs`, { javaScriptEnabled: false });
    expect(await opened.page.locator("form:visible").count()).toBe(0);
    expect(await opened.page.locator("main section:visible").count()).toBeGreaterThan(operations.length);
    expect(opened.faults).toEqual([]);
  });
});

test("the reference page allows only its own style sheet and script", async () => {
  const response = await service.get("/docs");
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = (response.headers.get("content-security-policy") ?? "").split("; ");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("style-src 'self'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("connect-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy.join()).not.toContain("unsafe");
});

test("the test detects problems on a page", async () => {
  const page = `<!doctype html><script src="/missing.js"></script><script>
    setTimeout(() => { throw new Error("thrown"); });
    fetch("https://elsewhere.example/").catch(() => console.error("said"));
  </script>`;
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: { "/": new Response(page, { headers: { "content-type": "text/html" } }) },
    fetch: () => new Response("", { status: 404 }),
  });
  await using opened = await openPage(browser, server.url.href);
  const expected = [
    `404: ${server.url.href}missing.js`,
    "uncaught: thrown",
    "elsewhere: https://elsewhere.example/",
    "failed: https://elsewhere.example/: net::ERR_NAME_NOT_RESOLVED",
    "error: said",
  ];
  while (expected.some((fault) => !opened.faults.includes(fault))) await Bun.sleep(5);
  expect(await accessibilityProblems(opened.page)).not.toEqual([]);
});
