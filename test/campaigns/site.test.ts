import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { $ } from "bun";
import type { BrowserContextOptions } from "playwright-core";
import { accessibilityProblems, openPage, startBrowser } from "../support/browser.ts";
import { isCampaign, root } from "../support/pds.ts";
import { startServer } from "../support/server.ts";
import { until } from "../support/until.ts";

// The documentation site as it is published. Its generator is installed for this, which takes
// longer than a short campaign may.

const folder = join(root, "dist", "site");
const base = "/shop/";
const source = "https://source.example/blob/main";

/** Attributes of the elements of a page that have them. */
const valuesOf = (page: string, pattern: RegExp) => [...page.matchAll(pattern)].map(([, value = ""]) => value);
const read = (page: string) => readFileSync(join(folder, page), "utf8");

function problemOf(page: string, href: string): string | undefined {
  if (/^[a-z]+:/.test(href)) {
    if (!href.startsWith(`${source}/`)) return undefined;
    return existsSync(join(root, href.slice(source.length + 1))) ? undefined : `${page}: ${href} is not in the source`;
  }
  const [path = "", anchor = ""] = href.split("#");
  const from = posix.join(base, posix.dirname(page));
  const absolute = path === "" ? posix.join(base, page) : posix.resolve(from, path) + (path.endsWith("/") ? "/" : "");
  const target = absolute.replace(/\/$/, "/index.html").slice(base.length);
  const file = [target, `${target}.html`].find((name) => name.endsWith(".html") && existsSync(join(folder, name)));
  if (!absolute.startsWith(base) || file === undefined) return `${page}: ${href} is not on the site`;
  if (anchor === "" || valuesOf(read(file), / id="([^"]+)"/g).includes(decodeURIComponent(anchor))) return undefined;
  return `${page}: ${href} has no such heading`;
}

beforeAll(async () => {
  if (!isCampaign) return;
  const built = await $`node scripts/run.js document site`
    .cwd(root)
    .env({ ...process.env, SITE_BASE: base, SITE_SOURCE: source })
    .quiet()
    .nothrow();
  expect([built.exitCode, built.exitCode === 0 ? "" : built.stderr.toString()]).toEqual([0, ""]);
}, 600_000);

test.skipIf(!isCampaign)("the site has all pages, and its links lead to pages, headings, and sources", () => {
  const pages = [...new Bun.Glob("**/*.html").scanSync(folder)];
  const written = [...new Bun.Glob("docs/**/*.md").scanSync(root)].map((page) =>
    page.replace("README", "index").replace(/md$/, "html"),
  );
  expect(pages).toEqual(
    expect.arrayContaining([...written, "index.html", "packages/personalizer/index.html", "try-the-widget.html"]),
  );
  const problems = pages.flatMap((page) =>
    valuesOf(read(page), /<a [^>]*href="([^"]+)"/g).flatMap((href) => problemOf(page, href) ?? []),
  );
  expect(problems).toEqual([]);
});

describe.skipIf(!isCampaign)("in a browser", async () => {
  const browser = isCampaign ? await startBrowser() : undefined;
  // As a host of static files does it: without a server for search or the widget.
  const origin = startServer(async ({ url }) => {
    const path = decodeURIComponent(new URL(url).pathname);
    if (!path.startsWith(base)) return new Response("not found", { status: 404 });
    const file = join(folder, path.slice(base.length).replace(/(^|\/)$/, "$1index.html"));
    const found = [file, `${file}.html`].find((name) => statSync(name, { throwIfNoEntry: false })?.isFile());
    return found === undefined ? new Response("not found", { status: 404 }) : new Response(Bun.file(found));
  });
  const open = (page: string, options: BrowserContextOptions = {}) => {
    if (browser === undefined) throw new Error("there is no browser");
    return openPage(browser, `${origin}${base}${page}`, options);
  };

  describe.each([
    ["light", { width: 1280, height: 800 }],
    ["dark", { width: 390, height: 844 }],
  ] as const)("%s at %o", (colorScheme, viewport) => {
    test.each(["", "docs/", "docs/reference/jobs", "docs/how-to/deploy", "try-the-widget"])(
      "the page /%s fits, and is accessible",
      async (path) => {
        await using opened = await open(path, { viewport, colorScheme });
        const { page, faults } = opened;
        if (path === "try-the-widget") await page.getByRole("radio").nth(1).check();
        expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(viewport.width);
        expect(await accessibilityProblems(page)).toEqual([]);
        expect(faults).toEqual([]);
      },
    );
  });

  test("the widget follows the product, and shows what a shop would get", async () => {
    await using opened = await open("try-the-widget");
    const { page, faults } = opened;
    await page.getByRole("radio", { name: "Embroidered name" }).check();
    await page.getByLabel("Product").selectOption("TM814935W");
    await page.getByRole("radio", { name: "Family name" }).check();
    await page.getByRole("textbox").first().fill("THE NÚÑEZ FAMILY");
    await page.getByRole("button", { name: "Add to cart" }).click();
    expect(await page.locator("tbody").innerText()).toContain("THE NÚÑEZ FAMILY");
    expect(faults).toEqual([]);
  });

  test("search finds a setting by keyboard", async () => {
    await using opened = await open("docs/");
    const { page, faults } = opened;
    await page.waitForFunction("document.querySelector('#app').__vue_app__ !== undefined");
    await page.keyboard.press("Control+k");
    await page.locator("input:focus").waitFor();
    await page.keyboard.type("stale_seconds");
    const results = page.getByRole("option");
    await results.filter({ hasText: "Options of every job" }).waitFor();
    // Until all is typed, results are for its beginning.
    await until("there are no other results", async () => !`${await results.allInnerTexts()}`.includes("Purge twice"));
    await page.keyboard.press("Enter");
    await page.waitForURL(({ pathname }) => pathname !== `${base}docs/`);
    await page.locator("main", { hasText: "stale_seconds" }).waitFor();
    expect(faults).toEqual([]);
  });

  test.each([
    ["portrait", { width: 794, height: 1123 }],
    ["landscape", { width: 1123, height: 794 }],
  ] as const)(
    "a page in dark colors is printed in %s, dark on light, without navigation, and completely",
    async (_, viewport) => {
      await using opened = await open("docs/how-to/deploy", { viewport, colorScheme: "dark" });
      const { page, faults } = opened;
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      for (const part of [".VPNav", ".VPSidebar", ".VPLocalNav"]) {
        expect([part, await page.locator(part).isVisible()]).toEqual([part, false]);
      }
      const cutOff = "[...document.querySelectorAll('pre, table')].filter((e) => e.scrollWidth > e.clientWidth + 1)";
      expect(await page.evaluate(`${cutOff}.map((element) => element.innerText)`)).toEqual([]);
      expect(await accessibilityProblems(page, "main")).toEqual([]);
      const background = "getComputedStyle(document.body).backgroundColor";
      expect(await page.evaluate<string>(background)).toBe("rgb(255, 255, 255)");
      expect(faults).toEqual([]);
    },
  );

  test("a page that does not exist leads to the start", async () => {
    await using opened = await open("404.html");
    await opened.page.getByText("Go to the start").click();
    await opened.page.waitForURL((url) => url.pathname === base);
  });

  test("pages can be read without JavaScript", async () => {
    await using opened = await open("docs/how-to/deploy", { javaScriptEnabled: false });
    expect(await opened.page.getByRole("heading", { level: 1 }).innerText()).toContain("Deploy the service");
  });
});
