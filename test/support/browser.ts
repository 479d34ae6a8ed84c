import { afterAll } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { root } from "./pds.ts";

const modules = join(root, "node_modules");
const chromiumPackage = join(modules, "@sparticuz", "chromium");

/** A real Chromium for the tests of a file, closed after them. It reaches nothing but this machine. */
export async function startBrowser(): Promise<Browser> {
  const folder = await unpackedChromium();
  const browser = await chromium.launch({
    executablePath: join(folder, "chromium"),
    args: ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"],
    env: { HOME: tmpdir(), LD_LIBRARY_PATH: join(folder, "lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") },
  });
  afterAll(() => browser.close());
  return browser;
}

/**
 * The folder of the Chromium that npm brought packed, with the libraries and a font for machines that have none. It is unpacked
 * once for an installation; of test files that begin at the same time the first to be done wins.
 */
async function unpackedChromium(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(chromiumPackage, "package.json"), "utf8"));
  const cache = join(modules, ".cache");
  const folder = join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(`${folder}-`);
  try {
    await writeFile(join(unfinished, "chromium"), await unpacked("chromium.br"), { mode: 0o755 });
    for (const name of ["al2023.tar.br", "fonts.tar.br"]) {
      await new Bun.Archive(await unpacked(name)).extract(unfinished);
    }
    await writeFile(
      join(unfinished, "fonts.conf"),
      `<fontconfig>
        <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
        <dir>${join(folder, "fonts")}</dir>
        <cachedir>${join(folder, "fonts-cache")}</cachedir>
      </fontconfig>`,
    );
    await rename(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return folder;
}

async function unpacked(name: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await promisify(brotliDecompress)(await readFile(join(chromiumPackage, "bin", name))));
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
  await page.evaluate(await readFile(join(modules, "axe-core", "axe.min.js"), "utf8"));
  const { violations } = await page.evaluate<{
    violations: { id: string; help: string; nodes: { target: string[] }[] }[];
  }>("axe.run({ preload: false })");
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ target }) => target).join(", ")}`);
}
