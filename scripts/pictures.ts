import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { launchChromium } from "../test/support/chromium.ts";
import { Operator, tokenLines } from "../test/support/operator.ts";

// Takes the screenshots for the documentation from a service with the sample: `npm run document -- pictures`.
// Look at them before you commit them.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const images = join(root, "docs", "images");
const sample = join(root, "sample");

const folder = await mkdtemp(join(tmpdir(), "pds-pictures-"));
const environment = {
  PATH: process.env.PATH ?? "",
  PDS_CONFIG: join(folder, "pds.toml"),
  DATABASE_URL: `sqlite:${join(folder, "pds.sqlite")}`,
  LOG_LEVEL: "silent",
  PORT: "0",
  ADMIN_PORT: "0",
};

const tokens = { ann: "pds_ann-may-operate", ben: "pds_ben-may-view" };

/** The sample with operators. */
async function configure(): Promise<void> {
  const settings = await readFile(join(root, "pds.toml"), "utf8");
  const lines = tokenLines("ann", "operate", tokens.ann) + tokenLines("ben", "view", tokens.ben);
  await writeFile(environment.PDS_CONFIG, `${settings}\n${lines}`);
}

const start = (...args: string[]) =>
  Bun.spawn([process.execPath, join(root, "src", "main.ts"), ...args], {
    cwd: folder,
    env: environment,
    stdio: ["ignore", "pipe", "ignore"],
  });

/** Creates a realistic history: imports with changes, and one that was rejected. Pages show the names as given. */
async function makeHistory(): Promise<void> {
  const lines = (await Bun.file(join(sample, "products.ndjson")).text()).trim().split("\n");
  for (const count of [62, 70, 71, 78, 80]) {
    await Bun.write(join(folder, "products.ndjson"), lines.slice(0, count).join("\n"));
    await start("import", "products", "products.ndjson").exited;
  }
  await cp(join(sample, "personalization"), join(folder, "personalization"), { recursive: true });
  await start("import", "personalization", "personalization").exited;
  const feed = join(folder, "feed");
  for (const name of ["pzlines", "pzstyles", "pzchoices"]) {
    const text = await Bun.file(join(sample, "personalization", `${name}.csv`)).text();
    const changed = name === "pzlines" ? text.replace(/^TM814935W,.*\n/m, "") : text.replace("Block", "Bold block");
    await Bun.write(join(feed, `${name}.csv`), changed);
  }
  await start("import", "personalization", "feed").exited;
  await cp(join(sample, "presentation.toml"), join(folder, "presentation.toml"));
  await start("import", "presentation", "presentation.toml").exited;
  await cp(join(sample, "broken", "missing-title.ndjson"), join(folder, "missing-title.ndjson"));
  await start("import", "products", "missing-title.ndjson").exited;
}

const brand = "Larkspur & Finch";

/** Actions of operators, for the audit. */
async function operate(admin: string): Promise<void> {
  const [ann, ben] = [new Operator(admin), new Operator(admin)];
  await ann.signIn(tokens.ann);
  await ben.signIn(tokens.ben);
  await ben.post("/actions/pause", { job: "catalog-import", brand });
  await ann.post("/actions/pause", { job: "catalog-import", brand });
  await ann.post("/actions/rollback", { brand });
  await ann.post("/actions/dry-run", { job: "personalization-import", brand });
}

interface Picture {
  readonly name: string;
  readonly address: string;
  readonly isDark?: boolean;
  /** Whether somebody sees it who has not signed in. */
  readonly isSignedOut?: boolean;
  readonly width?: number;
  readonly height?: number;
  readonly prepare?: (page: Page) => Promise<void>;
}

const personalized = async (page: Page) => {
  const options = page.locator("personalization-options");
  await options.getByRole("radio", { name: "Embroidered monogram" }).check();
  await options.getByRole("textbox").first().fill("Ana");
  await options.getByLabel("Thread color").selectOption("Navy");
  await options.getByRole("radio", { name: "Script" }).check();
};

const personalizedInGerman = async (page: Page) => {
  await page.evaluate("document.documentElement.lang = 'de'");
  const options = page.locator("personalization-options");
  await options.getByRole("radio", { name: "Gesticktes Monogramm" }).check();
  await options.getByRole("textbox").first().fill("Ana");
  await options.getByLabel("Garnfarbe").selectOption("Navy");
  await options.getByRole("radio", { name: "Schreibschrift" }).check();
};

const picturesOf = (url: string, admin: string): readonly Picture[] => [
  { name: "console-overview", address: `${admin}/`, height: 1000 },
  { name: "console-overview-dark", address: `${admin}/`, isDark: true, width: 390 },
  { name: "console-run", address: `${admin}/runs/7` },
  { name: "console-product", address: `${admin}/products/6781249159168` },
  {
    name: "console-personalization",
    address: `${admin}/personalization?sku=1812234`,
    prepare: personalized,
    height: 1180,
  },
  { name: "console-removed-sku", address: `${admin}/personalization?sku=TM814935W`, isDark: true, width: 390 },
  { name: "console-difference", address: `${admin}/personalization/difference?style=ENGBLK1`, isDark: true },
  { name: "console-runs", address: `${admin}/runs?job=catalog-import`, height: 1000 },
  { name: "console-products", address: `${admin}/products?status=active&q=gl`, isDark: true, width: 390 },
  { name: "console-styles", address: `${admin}/personalization`, height: 1000 },
  { name: "console-usage", address: `${admin}/personalization?choice=Navy`, isDark: true, width: 390 },
  { name: "console-sign-in", address: `${admin}/audit`, isSignedOut: true, height: 420 },
  { name: "console-actions", address: `${admin}/actions` },
  {
    name: "console-remove-dark",
    address: `${admin}/actions/remove-brand?${new URLSearchParams({ brand })}`,
    isDark: true,
    width: 390,
  },
  // The report of the last `npm run test:faults -- proof`.
  { name: "proof", address: `file://${join(root, "bench", "proof.html")}`, height: 720 },
  { name: "example", address: `${url}/example/products/6781236019200`, prepare: personalized, height: 1180 },
  {
    name: "example-german",
    address: `${url}/example/products/6781236019200`,
    prepare: personalizedInGerman,
    height: 1180,
  },
  {
    name: "example-dark",
    address: `${url}/example/products/6781236019200`,
    isDark: true,
    width: 390,
    prepare: async (page) => {
      await personalized(page);
      await page.locator("personalization-options").scrollIntoViewIfNeeded();
      await page.evaluate("document.querySelector('personalization-options').scrollIntoView()");
    },
  },
];

/** Needs the records of {@link operate}. */
const auditPicturesOf = (admin: string): readonly Picture[] => [
  { name: "console-audit", address: `${admin}/audit`, height: 700 },
  {
    name: "console-audit-record-dark",
    address: `${admin}/audit`,
    isDark: true,
    width: 390,
    prepare: async (page) => {
      await page.getByRole("row", { name: "dry-run" }).getByRole("link").first().click();
      await page.waitForURL("**/audit/*");
      while ((await page.getByText("Ended").count()) === 0) await page.reload();
    },
  },
];

/** The cookie of an operator. */
async function signIn(browser: Browser, admin: string): Promise<BrowserContextOptions["storageState"]> {
  const page = await browser.newPage();
  await page.goto(`${admin}/sign-in`);
  await page.getByLabel("Token").fill(tokens.ann);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${admin}/`);
  const state = await page.context().storageState();
  await page.close();
  return state;
}

/** The service with nothing but the sample, as `npm start` shows it: the README's picture. */
async function takeReadme(browser: Browser): Promise<void> {
  const service = start("serve");
  const { url, admin } = await readUrls(service);
  const context = await browser.newContext({ viewport: { width: 960, height: 800 }, deviceScaleFactor: 2 });
  const shoot = async (address: string, prepare?: Picture["prepare"]) => {
    const page = await context.newPage();
    await page.goto(address, { waitUntil: "networkidle" });
    await prepare?.(page);
    await page.evaluate("scrollTo(0, 0)");
    const png = await page.screenshot({ animations: "disabled", caret: "hide" });
    return `<img width="600" height="500" src="data:image/png;base64,${png.toString("base64")}">`;
  };
  await untilImported(admin);
  const example = await shoot(`${url}/example/products/6781236019200`, personalized);
  const console = await shoot(`${admin}/`);
  const page = await browser.newPage({ viewport: { width: 1200, height: 500 } });
  await page.setContent(`<body style="margin:0;display:flex">${example}${console}`, { waitUntil: "load" });
  await page.screenshot({ path: join(images, "readme.png") });
  await page.close();
  await context.close();
  service.kill("SIGTERM");
  await service.exited;
  process.stdout.write("docs/images/readme.png\n");
}

/** Waits until the first runs of all jobs have ended. */
async function untilImported(admin: string): Promise<void> {
  while (!(await (await fetch(`${admin}/readyz`)).text()).includes('"data":"ok"')) await Bun.sleep(100);
}

/** @returns the URLs that a service prints */
async function readUrls({ stdout }: ReturnType<typeof start>): Promise<{ url: string; admin: string }> {
  let printed = "";
  for await (const chunk of stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    if (/^Admin.*\n/m.test(printed)) break;
  }
  const [, url = "", admin = ""] = printed.match(/^Public\s+(\S+)\/api\/v1$[\s\S]*^Admin\s+(\S+)$/m) ?? [];
  return { url, admin };
}

const browser = await launchChromium();
await mkdir(images, { recursive: true });
await cp(sample, join(folder, "sample"), { recursive: true });
await cp(join(root, "pds.toml"), environment.PDS_CONFIG);
await takeReadme(browser);
for (const end of ["", "-wal", "-shm"]) await rm(join(folder, `pds.sqlite${end}`), { force: true });
await configure();
await makeHistory();
const service = start("serve");
try {
  const { url, admin } = await readUrls(service);
  const storageState = await signIn(browser, admin);
  const take = async ({ name, address, isDark, isSignedOut, width = 1200, height = 844, prepare }: Picture) => {
    const page = await browser.newPage({
      colorScheme: isDark === true ? "dark" : "light",
      viewport: { width, height },
      ...(isSignedOut !== true && storageState !== undefined && { storageState }),
    });
    await page.goto(address, { waitUntil: "networkidle" });
    await prepare?.(page);
    await page.screenshot({ path: join(images, `${name}.png`), animations: "disabled", caret: "hide" });
    await page.close();
    process.stdout.write(`docs/images/${name}.png\n`);
  };
  for (const picture of picturesOf(url, admin)) await take(picture);
  await operate(admin);
  for (const picture of auditPicturesOf(admin)) await take(picture);
} finally {
  service.kill("SIGTERM");
  await service.exited;
  await browser.close();
  await rm(folder, { recursive: true, force: true });
}
