import { afterAll } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { launchChromium } from "./chromium.ts";
import { launchFirefox } from "./firefox.ts";
import { root } from "./pds.ts";

/** Whether tests run in Firefox, where some of what Playwright does is not possible. */
export let isFirefox = false;

/** Lets tests that are imported afterwards run in Firefox. */
export function useFirefox(): void {
  isFirefox = true;
}

/** Starts a browser that is closed after the test file. */
export async function startBrowser(): Promise<Browser> {
  const browser = await (isFirefox ? launchFirefox() : launchChromium());
  afterAll(() => browser.close());
  return browser;
}

export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  /** Problems so far: console messages, errors, failed requests, and requests to other origins. */
  readonly faults: readonly string[];
}

/** Opens a URL in a new profile, which is closed at the end of the `await using` block. */
export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  // Shorter than the timeout of the test, so that the error says what it waited for.
  page.setDefaultTimeout(60_000);
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

/** By how many CSS pixels the page is wider than its viewport, from which scroll bars of Firefox take some. */
export const readOverflow = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

/** Violations that axe-core finds in a part of the page, with their rules and elements. */
export async function accessibilityProblems(page: Page, selector = ":root"): Promise<string[]> {
  await page.evaluate(await readFile(join(root, "node_modules", "axe-core", "axe.min.js"), "utf8"));
  const { violations } = await page.evaluate<{
    violations: { id: string; help: string; nodes: { target: string[] }[] }[];
  }>(`axe.run(${JSON.stringify(selector)}, { preload: false })`);
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ target }) => target).join(", ")}`);
}
