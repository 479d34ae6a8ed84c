import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFile, cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SQL } from "bun";
import type { Page } from "playwright-core";
import { accessibilityProblems, type OpenPage, openPage, startBrowser } from "../support/browser.ts";
import { tokenLines } from "../support/operator.ts";
import { createStore, enginesOf, type RunningService, root, serve, temporaryFolder } from "../support/pds.ts";
import { until } from "../support/until.ts";

// What operators do in the console, in a browser, without scripts as well.

const token = "pds_ann-may-operate";
const brand = "Larkspur & Finch";
const browser = await startBrowser();

const stores = await Promise.all(
  enginesOf("postgres").map(async (engine) => ({
    engine,
    url: await createStore(engine),
    home: await temporaryFolder(),
  })),
);

async function signIn(page: Page): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

describe.each(stores)("on $engine, an operator", ({ engine, url, home }) => {
  let service: RunningService;
  let sql: SQL;
  let opened: OpenPage;
  let page: Page;

  beforeAll(async () => {
    // Without the feed of its past week.
    const filter = (path: string) => !path.endsWith("earlier");
    await cp(join(root, "sample"), join(home, "sample"), { recursive: true, filter });
    const settings = await readFile(join(root, "pds.toml"), "utf8");
    await writeFile(join(home, "pds.toml"), `${settings}\n${tokenLines("ann", "operate", token)}`);
    service = await serve({ PDS_CONFIG: join(home, "pds.toml"), DATABASE_URL: url }, home);
    sql = new SQL(url, { max: 1 });
    if (engine === "sqlite") await sql`PRAGMA busy_timeout = 10000`;
    const succeeded = () => sql`SELECT 1 FROM run WHERE outcome = 'succeeded'`;
    await until("both first runs have ended", async () => (await succeeded()).length >= 2);
    opened = await openPage(browser, `${service.adminUrl}/sign-in?next=/actions`, { javaScriptEnabled: false });
    page = opened.page;
  });
  afterAll(async () => {
    await opened[Symbol.asyncDispose]();
    await sql.close();
    await service.stop();
  });

  const press = (name: string) => page.getByRole("button", { name }).click();
  const follow = (name: string | RegExp) => page.getByRole("link", { name }).first().click();
  const text = () => page.locator("main").innerText();
  /** Loads the page again until it says something. */
  const untilShown = (expected: string | RegExp) =>
    until(`the page says ${expected}`, async () => {
      await page.reload();
      return new RegExp(expected).test(await text());
    });

  test("signs in", async () => {
    await page.getByLabel("Token").fill("pds_wrong");
    await press("Sign in");
    expect(await page.getByRole("alert").innerText()).toBe("This token is not valid.");
    await signIn(page);
    await page.waitForURL("**/actions");
    expect(await page.locator("header").innerText()).toContain("ann (operate)");
    expect(await page.evaluate("document.cookie")).toBe("");
  });

  test("tries an import, and sees its report", async () => {
    await appendFile(join(home, "sample/personalization/pzlines.csv"), ",WITHOUT-SKU,1,A\n");
    await follow(/^Dry run personalization-import/);
    expect(await text()).toContain("Nothing is changed.");
    await press("Start the dry run");
    await page.waitForURL("**/audit/*");
    await untilShown("would fail: .+ nothing was changed");
    expect(await text()).toContain("Rejected rows");
    expect(await sql`SELECT id FROM generation`).toHaveLength(1);
  });

  test("imports a feed that checks stopped, and rolls it back", async () => {
    await page.goto(`${service.adminUrl}/actions`);
    await follow(/^Run now personalization-import/);
    await press("Run now");
    await page.waitForURL("**/runs/*");
    await untilShown("Why it failed");
    await follow("Import without checks");
    expect(await text()).toContain("even if checks fail");
    await press("Import without checks");
    await page.waitForURL("**/runs/*");
    await untilShown("succeeded");
    await page.goto(`${service.adminUrl}/actions`);
    await follow(/^Roll back/);
    await follow(/^Roll back to generation/);
    await press("Make generation");
    await page.waitForURL("**/audit/*");
    expect(await text()).toMatch(/made generation \d+ current instead of \d+/);
  });

  test("retries what failed, alone and together", async () => {
    const products = join(home, "sample/products.ndjson");
    const before = await readFile(products, "utf8");
    await writeFile(products, "not JSON\n");
    await page.goto(`${service.adminUrl}/actions`);
    await follow(/^Run now catalog-import/);
    await press("Run now");
    await page.waitForURL("**/runs/*");
    await untilShown("Why it failed");
    await follow("Retry");
    await press("Retry");
    await page.waitForURL("**/runs/*");
    await untilShown("Why it failed");
    await writeFile(products, before);
    await page.goto(`${service.adminUrl}/runs?job=catalog-import&outcome=failed`);
    await follow("Retry all that match");
    await press("Retry 1");
    await page.waitForURL("**/audit/*");
    await follow("All audit records");
    expect(await text()).toContain("retry-matching");
    const last = async () => (await sql`SELECT outcome FROM run ORDER BY id DESC LIMIT 1`)[0]?.outcome;
    await until("the retry has succeeded", async () => (await last()) === "succeeded");
  });

  test("pauses and resumes a job, and cancels a run", async () => {
    await page.goto(`${service.adminUrl}/actions`);
    await follow(/^Pause catalog-import/);
    await press("Pause");
    await page.waitForURL("**/actions");
    await follow(/^Resume catalog-import/);
    await press("Resume");
    await page.waitForURL("**/actions");
    expect(await sql`SELECT 1 FROM job_pause WHERE resumed_at IS NULL`).toHaveLength(0);
    // As if it ran in another replica.
    await sql`INSERT INTO run (job, brand, started_at, lease_until, lease_seconds)
      VALUES ('catalog-import', 'Elsewhere', '2026-01-01T00:00:00.000Z', '9999', 3600)`;
    await page.reload();
    await follow(/^Cancel run/);
    await press("Cancel the run");
    await page.waitForURL("**/runs/*");
    const [run] = await sql<{ cancelled: string }[]>`SELECT cancelled FROM run WHERE brand = 'Elsewhere'`;
    expect(run?.cancelled).toBe("cancelled by ann");
    await sql`DELETE FROM run WHERE brand = 'Elsewhere'`;
  });

  test.each([
    ["light", { width: 1280, height: 800 }],
    ["dark", { width: 390, height: 844 }],
  ] as const)("has pages without layout or accessibility problems: %s at %o", async (colorScheme, viewport) => {
    await using other = await openPage(browser, `${service.adminUrl}/sign-in?next=/actions`, { colorScheme, viewport });
    const check = async (path: string) => {
      expect([path, await other.page.evaluate<number>("document.documentElement.scrollWidth")]).toEqual([
        path,
        viewport.width,
      ]);
      expect([path, await accessibilityProblems(other.page)]).toEqual([path, []]);
    };
    await check("/sign-in");
    await signIn(other.page);
    await other.page.waitForURL("**/actions");
    const fields = new URLSearchParams({ job: "catalog-import", brand });
    for (const path of [
      "/actions",
      `/actions/pause?${fields}`,
      `/actions/force?${fields}`,
      `/actions/remove-brand?${new URLSearchParams({ brand })}`,
      "/audit",
      "/audit/2",
      "/runs?outcome=failed",
      "/",
    ]) {
      await other.page.goto(service.adminUrl + path);
      await check(path);
    }
    expect(other.faults).toEqual([]);
  });

  test("learns from an open page that the session has ended", async () => {
    await using other = await openPage(browser, `${service.adminUrl}/sign-in?next=/`);
    await signIn(other.page);
    await other.page.waitForURL((address) => address.pathname === "/");
    // The newest one.
    await sql`DELETE FROM operator_session WHERE expires_at = (SELECT max(expires_at) FROM operator_session)`;
    const footer = () => other.page.locator("footer").innerText();
    await until("the page says so", async () => (await footer()).includes("Your session has ended."));
  });

  test("removes the brand after typing its name, and signs out", async () => {
    await page.goto(`${service.adminUrl}/actions`);
    await follow(`Remove ${brand}`);
    await page.getByLabel("Type the name of the brand").fill("Larkspur");
    await press("Remove the brand");
    expect(await text()).toContain("Nothing was changed.");
    await page.goBack();
    await page.getByLabel("Type the name of the brand").fill(brand);
    await press("Remove the brand");
    await page.waitForURL("**/audit/*");
    expect(await text()).toContain("removed 2 generations");
    await press("Sign out");
    await page.waitForURL("**/sign-in");
    await page.goto(`${service.adminUrl}/actions`);
    expect(await page.getByLabel("Token").isVisible()).toBe(true);
  });
});
