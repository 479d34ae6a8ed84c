import { afterAll } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { launchChromium } from "./chromium.ts";
import { root } from "./pds.ts";

/** A browser for the tests of a file, closed after them. */
export async function startBrowser(): Promise<Browser> {
  const browser = await launchChromium();
  afterAll(() => browser.close());
  return browser;
}

export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  /** What has gone wrong on it so far: messages, errors, failed requests, requests to anywhere else. */
  readonly faults: readonly string[];
}

/** Opens an address in a profile of its own, which is gone at the end of the block that holds it by `await using`. */
export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  // Before the test's own time is over: then it says what it waited for.
  page.setDefaultTimeout(15_000);
  const faults: string[] = [];
  page.on("console", (message) => faults.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`uncaught: ${error.message}`));
  page.on("requestfailed", (request) => faults.push(`failed: ${request.url()}: ${request.failure()?.errorText}`));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(url).origin && protocol !== "data:") faults.push(`elsewhere: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) faults.push(`${response.status()}: ${response.url()}`);
  });
  await page.goto(url);
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
}

/** What axe-core holds against the page as it is: the rule, and where. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(join(root, "node_modules", "axe-core", "axe.min.js"), "utf8"));
  const { violations } = await page.evaluate<{
    violations: { id: string; help: string; nodes: { target: string[] }[] }[];
  }>("axe.run({ preload: false })");
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ target }) => target).join(", ")}`);
}
