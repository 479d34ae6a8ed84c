import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import {
  durationInWords,
  formatCompactly,
  formatDuration,
  formatDurationCompactly,
  relativeTime,
} from "../../src/base/format.ts";
import { saveProducts, toStoredProduct } from "../../src/catalog/product.ts";
import { searchProducts } from "../../src/catalog/search.ts";
import { roundUp } from "../../src/console/components/chart.tsx";
import { runSeconds } from "../../src/console/components/elements.tsx";
import { pages } from "../../src/console/pages/index.ts";
import { listProblems } from "../../src/console/problems.ts";
import { originOf } from "../../src/console/urls.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import type { JobHealth, Run } from "../../src/jobs/run.ts";
import { readNow, toProduct, toVariant } from "../support/catalog.ts";
import { openConsole, rowsOf, textOf } from "../support/console.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { fillStore, importHere } from "../support/import-here.ts";
import {
  connectTo,
  createMigratedStore,
  createStore,
  enginesOf,
  pds,
  type RunningService,
  root,
  serve,
  temporaryFolder,
} from "../support/pds.ts";

const folder = await temporaryFolder();
const stores = await Promise.all(
  enginesOf("sqlite").map(async (engine) => ({ engine, url: await createStore(engine) })),
);

interface LoadedPage {
  readonly status: number;
  readonly html: string;
  /** Visible text. */
  readonly text: string;
  readonly headers: Headers;
}

async function load(service: RunningService, path: string, headers: Record<string, string> = {}): Promise<LoadedPage> {
  const response = await fetch(service.adminUrl + path, { headers: { accept: "text/html", ...headers } });
  const html = await response.text();
  return { status: response.status, html, text: textOf(html), headers: response.headers };
}

const changedFeed = {
  ...feedFiles,
  "pzlines.csv": ["sku_id,style_code,style_display_seq,style_sku_status", "MUG,SCRIPT,11,A", "NEW,BLOCK,9,I", ""].join(
    "\n",
  ),
  "pzstyles.csv": feedFiles["pzstyles.csv"].replace(
    "UNUSED,A,1,FONT,Nobody offers this",
    "FRESH,A,1,FONT,Nobody offers this",
  ),
  "pzchoices.csv": feedFiles["pzchoices.csv"].replace("MOTIF,A,1,Heart", "MOTIF,A,1,Star"),
};

describe.each(stores)("the console on $engine", ({ engine, url }) => {
  let service: RunningService;
  let failedRun: string;

  beforeAll(async () => {
    const home = join(folder, engine);
    // Without the feed of its past week.
    const filter = (path: string) => !path.endsWith("earlier");
    await cp(join(root, "sample"), join(home, "sample"), { recursive: true, filter });
    await cp(join(root, "pds.toml"), join(home, "pds.toml"));
    const environment = { DATABASE_URL: url, PDS_CONFIG: join(home, "pds.toml") };
    service = await serve(environment, home);
    const [first, second] = [await writeFeed(home, "first"), await writeFeed(home, "second", changedFeed)];
    await pds(["import", "personalization", first, "--brand", "Outlet"], environment, home);
    await pds(["import", "personalization", second, "--brand", "Outlet", "--force"], environment, home);
    await pds(["import", "products", "sample/broken/missing-title.ndjson", "--brand", "Outlet"], environment, home);
    failedRun = rowsOf((await load(service, "/runs?outcome=failed")).html)[0]?.[0] ?? "";
    await using sql = await connectTo(url);
    const begun = (minutes: number) => new Date(Date.UTC(2026, 0, 1, 0, minutes)).toISOString();
    for (let run = 0; run < 120; run++) {
      const [at, outcome] = [begun(run), run % 40 === 0 ? "abandoned" : "succeeded"];
      await sql`
        INSERT INTO run (job, brand, started_at, finished_at, outcome, counts)
        VALUES (${run % 2 === 0 ? "even" : "odd"}, ${run % 3 === 0 ? "Third" : "Other"}, ${at}, ${at}, ${outcome}, ${run})`;
    }
    await sql`INSERT INTO run (job, brand, started_at, lease_until) VALUES ('even', 'Third', ${begun(200)}, '9999')`;
  });
  afterAll(() => service.stop());

  test("shows stored data, jobs, and links on the overview, and how often an overdue job was due", async () => {
    const { status, html, text } = await load(service, "/");
    expect(status).toBe(200);
    expect(text).toContain("No problems. 3 scheduled jobs, none overdue.");
    expect(text).toContain("80 products");
    const [ownBrand, outlet] = rowsOf(html);
    expect(ownBrand?.toSpliced(1, 2)).toEqual(["Larkspur & Finch", "266", "35", "227", "1,096", "1 generation"]);
    expect(outlet?.toSpliced(1, 2)).toEqual(["Outlet", "2", "4", "4", "11", "2 generations"]);
    const jobs = rowsOf(html).slice(2, 4);
    expect(jobs.map(([job, last, brand]) => [job, last?.split(" ")[0], brand])).toEqual([
      ["catalog-import sample/products.ndjson", "succeeded", "Larkspur & Finch"],
      ["personalization-import sample/personalization", "succeeded", "Larkspur & Finch"],
    ]);
    expect(text).toMatch(/in \d+ \w+ At 03:00, New York/);
    for (const address of ["/docs", "/openapi.json", "/api/v1/histories/desc"]) {
      expect(html).toContain(`href="${service.url}${address}"`);
    }

    await using sql = await connectTo(url);
    const then = new Date(Date.now() - 50 * 3_600_000).toISOString();
    await sql`UPDATE run SET finished_at = ${then} WHERE job = 'personalization-import' AND brand = 'Larkspur & Finch'`;
    expect((await load(service, "/")).text).toMatch(
      /Needs attention personalization-import for Larkspur & Finch last succeeded 2 days ago and has been due (twice|3 times) since\./,
    );
  });

  test.each([
    ["", 50, () => true],
    ["?job=odd", 50, ([, , job]) => job === "odd"],
    ["?job=even&brand=Third", 21, ([, , job, brand]) => job === "even" && brand === "Third"],
    ["?brand=Third&outcome=abandoned", 1, ([, outcome]) => outcome === "abandoned"],
    ["?outcome=abandoned", 3, ([, outcome]) => outcome === "abandoned"],
    ["?outcome=failed", 1, ([, outcome, job]) => outcome === "failed" && job === "catalog-import"],
    ["?outcome=running", 1, ([, outcome]) => outcome === "running"],
    ["?job=nothing", 0, () => false],
    ["?outcome=nonsense&before=nonsense", 50, () => true],
  ] as [string, number, (cells: string[]) => boolean][])("filters runs by %j", async (query, count, isWanted) => {
    const rows = rowsOf((await load(service, `/runs${query}`)).html);
    expect(rows).toHaveLength(count);
    expect(rows.filter((cells) => !isWanted(cells))).toEqual([]);
    const ids = rows.map(([id]) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
  });

  test("shows a run with its reason, rejected rows, and facts", async () => {
    const { text } = await load(service, `/runs/${failedRun}`);
    expect(text).toContain(`Run ${failedRun}: catalog-import`);
    expect(text).toContain("failed");
    expect(text).toContain("was rejected, so nothing was changed");
    expect(text).toContain("title: is missing");
    expect(text).toContain("sample/broken/missing-title.ndjson:2");
    expect(text).toContain("not scheduled: started manually");
  });

  test("shows the changes made by a personalization import", async () => {
    const { html } = await load(service, "/runs?job=personalization-import&brand=Outlet");
    const newest = rowsOf(html)[0]?.[0];
    const run = await load(service, `/runs/${newest}`);
    expect(rowsOf(run.html)).toContainEqual(["SKUs", "2", "1", "1", "1"]);
    expect(rowsOf(run.html)).toContainEqual(["2", "Styles that no line offers", expect.stringContaining("NOTE")]);
  });

  test.each([
    ["6781249159168", ["6781249159168"]],
    ["windsor-jewelry-box", ["6781249159168"]],
    ["WINDSOR jewel", ["6781249159168"]],
    ["jewelry windsor", ["6781249159168"]],
    ["TM814935W", undefined],
    ["mc 813445/1", undefined],
    ["windsor plate nonsense", []],
    ["99", []],
    ['"windsor" OR (a:b* -', []],
    ["'; DROP TABLE product; --", []],
    ["ŵíndsör jewelrÿ", ["6781249159168"]],
  ] as [string, string[] | undefined][])("finds products by %j", async (query, ids) => {
    const { status, html } = await load(service, `/products?${new URLSearchParams({ q: query })}`);
    expect(status).toBe(200);
    const found = rowsOf(html).map(([, id]) => id);
    if (ids === undefined) expect(found).toHaveLength(1);
    else expect(found).toEqual(ids);
  });

  test("shows a product with its images", async () => {
    const { html, text, headers } = await load(service, "/products/6781249159168");
    expect([...html.matchAll(/<img /g)]).toHaveLength(12);
    expect(headers.get("content-security-policy")).toContain(`img-src data: 'self' ${service.url};`);
    expect(html).toContain(`src="${service.url}/sample/images/windsor-jewelry-box-1.svg"`);
    expect(rowsOf(html)).toContainEqual(expect.arrayContaining(["Silver / Petite / Ivory", "813535", "68.00"]));
    expect(text).toContain("never compared with the platform");
    const variant = html.match(/href="(\/products\/6781249159168\?variant=\d+)#variant"/)?.[1] ?? "";
    expect((await load(service, variant)).text).toContain("Metafields of Silver / Petite / Ivory 813535");
  });

  test("lists the styles of a brand with their first SKUs before anything is looked up", async () => {
    const { html } = await load(service, "/personalization");
    const rows = rowsOf(html);
    expect(rows).toHaveLength(35);
    expect(rows.map(([style]) => style)).toEqual(rows.map(([style]) => style).toSorted());
    expect(rows).toContainEqual(["LASFAM", "20", expect.stringMatching(/^TM814810W , TM/)]);
    expect((await load(service, "/personalization?brand=Nobody")).text).toContain("Nobody has no current generation.");
  });

  test("shows a SKU's personalization as a tree and as the response of the public API", async () => {
    const { html, text } = await load(service, "/personalization?sku=MC+813445%2F1");
    expect(text).toContain("MC 813445/1: styles, lines, choices");
    expect(html).toContain(`href="${service.url}/api/v1/products/pz/MC%20813445%2F1"`);
    const answer = await (await service.get("/api/v1/products/pz/MC%20813445%2F1")).json();
    expect(text).toContain(textOf(JSON.stringify(answer, null, 2)));
    const mark = (await service.get("/api/v1/products/pz/MC%20813445%2F1")).headers.get("etag") ?? "";
    const offered = await load(service, `/personalization?${new URLSearchParams({ sku: "MC 813445/1", mark })}`);
    expect(offered.text).toContain("It is still offered.");
    const unknown = await load(service, "/personalization?sku=nothing");
    expect([unknown.status, unknown.text.includes("nothing has no personalization.")]).toEqual([200, true]);
  });

  test.each([
    ["style=SCRIPT", "Style SCRIPT Offered on 1 SKU of Outlet.", ["MUG"]],
    ["by=group&name=FONT", "Choice group FONT Used by 3 styles of Outlet, offered 2 times in total.", ["NEW", "MUG"]],
    ["group=MOTIF", "Choice group MOTIF Used by 1 style of Outlet, offered 1 time in total.", ["MUG"]],
    ["style=NOTE", "Style NOTE Offered on 0 SKUs of Outlet.", []],
    ["style=NOTHING", "The current generation of Outlet has no style NOTHING.", []],
    ["group=NOTHING", "No style of Outlet uses the choice group NOTHING.", []],
    ["choice=Star", "Choice group MOTIF Used by 1 style of Outlet, offered 1 time in total.", ["MUG"]],
    ["by=choice&name=Star", "Choice group MOTIF Used by 1 style of Outlet, offered 1 time in total.", ["MUG"]],
    ["choice=Navy", "No choice group of Outlet contains the choice Navy.", []],
  ])("lists the SKUs affected by %j", async (query, title, skus) => {
    const { html, text } = await load(service, `/personalization?brand=Outlet&${query}`);
    expect(text).toContain(title);
    expect([...html.matchAll(/<a href="\/personalization\?sku=(\w+)/g)].map(([, sku]) => sku ?? "")).toEqual(skus);
  });

  test("compares two generations of a brand", async () => {
    const { text } = await load(service, "/personalization/difference?brand=Outlet");
    expect(text).toMatch(/SKUs 1 added NEW 1 changed MUG 1 removed A\/B é\+/);
    expect(text).toMatch(/Styles 1 added FRESH 0 changed 1 removed UNUSED/);
    expect(text).toMatch(/Choice groups 0 added 1 changed MOTIF 0 removed/);
    const one = await load(service, "/personalization/difference?brand=Larkspur+%26+Finch");
    expect(one.html).toContain("<code>keep_generations</code>");
    expect(one.text).not.toContain("`");
    expect(one.text).toContain("There is no earlier generation to compare with.");
  });

  test("lists the versions of a brand, with the run that loaded each", async () => {
    const [, link = ""] = (await load(service, "/")).html.match(/<a href="([^"]*)"[^>]*>2 generations/) ?? [];
    const { html, text } = await load(service, link.replaceAll("&amp;", "&"));
    const rows = rowsOf(html);
    const ids = rows.map(([version]) => Number.parseInt(version ?? "", 10));
    const [second = 0, first = 0] = ids;
    const loaded = expect.stringMatching(/ UTC$/);
    const run = expect.stringMatching(/^Run \d+$/);
    const compare = `Compare ${first} with ${second}`;
    expect(rows).toEqual([
      [`${second} current`, loaded, "2", run, "1 added, 1 changed, 1 removed", ""],
      [`${first}`, loaded, "2", run, "", compare],
    ]);
    expect(text).toContain("No presentation of Outlet is stored.");
    const compared = await load(service, `/personalization/difference?brand=Outlet&from=${second}&to=${first}`);
    expect(html).toContain(`from=${second}&amp;to=${first}`);
    expect(compared.text).toMatch(/SKUs 1 added A\/B é\+/);
    const unknown = await load(service, "/personalization/versions?brand=Nobody");
    expect(unknown.text).toContain("Nothing of Nobody is stored. Stored brands: Larkspur & Finch , Outlet");
    expect(unknown.html).toContain('<a href="/personalization/versions?brand=Outlet">Outlet</a>');
  });

  test.each([
    ["/runs/999999"],
    ["/runs/abc"],
    ["/runs/0"],
    ["/runs/99999999999999999999"],
    ["/products/12"],
    ["/products/x"],
    ["/nothing"],
  ])("returns a 404 page for %s, or a problem document for other clients", async (path) => {
    const { status, text } = await load(service, path);
    expect([status, text.includes("Page not found")]).toEqual([404, true]);
    const machine = await fetch(service.adminUrl + path);
    expect([machine.status, machine.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });

  test("loads nothing from other origins", async () => {
    for (const path of ["/", "/runs", "/products", "/personalization", "/nothing"]) {
      const { html, headers } = await load(service, path);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src data: 'self'; connect-src 'self'",
      );
      expect(policy).not.toContain("unsafe");
      expect(html).not.toMatch(/<[^>]* style=|<style|<script(?! src=)| on[a-z]+=/);
    }
  });

  test("search follows updates and deletions of products", async () => {
    const database = await openDatabase(url);
    const find = async (text: string) => (await searchProducts(database, { text }, 5)).map(({ id }) => id);
    const id = 2n ** 60n + 1n;
    const product = (title: string, sku: string) =>
      toStoredProduct(toProduct(id, { title, handle: "kept", variants: [toVariant(id, { sku })] }));
    await saveProducts(database, [product("Quixotic Zeppelin", "ZZ/1")], readNow());
    expect([await find("zepp"), await find("zz1"), await find("ZZ/1")]).toEqual([[`${id}`], [`${id}`], [`${id}`]]);
    await saveProducts(database, [product("Quixotic Airship", "YY/1")], readNow());
    expect([await find("zepp"), await find("zz/1"), await find("quixotic air")]).toEqual([[], [], [`${id}`]]);
    await database.sql`DELETE FROM product WHERE id = ${id}`;
    expect(await find("quixotic")).toEqual([]);
    await closeDatabase(database);
  });
});

test("only the page of a SKU loads the widget", async () => {
  const environment = { DATABASE_URL: await createMigratedStore("sqlite"), BRAND: "B" };
  await importHere(["import", "personalization", await writeFeed(folder, "widget")], environment);
  await using console = await openConsole(environment.DATABASE_URL, "B", undefined, {
    publicUrl: "http://0.0.0.0:3000/pds",
    examplePath: "/example",
  });
  const get = (path: string) => console.open(`http://pds.example:3001${path}`);
  const { body, headers } = await get("/personalization?sku=MUG");
  expect(body).toContain('<script src="http://pds.example:3000/pds/personalizer.js" type="module">');
  expect(body).toContain(
    '<form method="dialog"><personalization-options sku="MUG" endpoint="http://pds.example:3000/pds/api/v1">',
  );
  const policy = headers["Content-Security-Policy"];
  expect(policy).toContain("script-src 'self' http://pds.example:3000;");
  expect(policy).toContain("connect-src 'self' http://pds.example:3000;");
  expect((await get("/personalization")).headers["Content-Security-Policy"]).not.toContain("pds.example");
  expect((await get("/")).body).toContain('<a href="http://pds.example:3000/pds/example">Example page</a>');
});

test("a generation that is removed while it is compared is no error", async () => {
  await using console = await openConsole(await createMigratedStore("sqlite"), "B");
  const { sql } = console.database;
  for (let id = 1; id <= 2; id++) {
    // Without tables, as after the list was read.
    await sql`INSERT INTO generation (brand, loaded_at) VALUES ('B', '2026-01-01T00:00:00.000Z')`;
  }
  await sql`INSERT INTO current_generation (brand, generation) VALUES ('B', 2)`;
  expect(await console.load("/personalization/difference?brand=B&from=1&to=2")).toContain(
    "One of these generations has just been removed.",
  );
});

test("every page of the console requires the admin token if one is set", async () => {
  await using service = await serve({
    DATABASE_URL: `sqlite:${join(folder, "guarded.sqlite")}`,
    ADMIN_TOKEN: "correct-horse-battery",
  });
  const paths = pages.map(({ route }) => route.replace(/:\w+/, "1"));
  for (const path of [...paths, "/nothing"]) {
    const { status, headers, text } = await load(service, path);
    expect([path, status, headers.get("www-authenticate")]).toEqual([path, 401, 'Bearer realm="Product Data Service"']);
    expect(text).toContain("Sign in This page requires a token. Token Sign in");
  }
  // The page to sign in needs it.
  expect((await load(service, "/console/style.css")).status).toBe(200);
  const given = { authorization: `Basic ${btoa("any:correct-horse-battery")}` };
  const empty = await load(service, "/", given);
  expect(empty.status).toBe(200);
  expect(empty.text).toContain("Nothing is stored, and no jobs are configured. Import files: pds import products FILE");
  expect(empty.text).toContain("No jobs are configured, and none have run.");
  for (const path of ["/runs", "/products", "/products?q=a", "/personalization", "/personalization/difference"]) {
    const { status, html } = await load(service, path, given);
    expect([path, status, html.includes('class="empty"')]).toEqual([path, 200, true]);
  }
});

test("a store with one product says so in the singular", async () => {
  const environment = { DATABASE_URL: await createMigratedStore("sqlite") };
  await fillStore(environment, [toProduct(1)]);
  await using console = await openConsole(environment.DATABASE_URL, "B");
  expect(textOf(await console.load("/"))).toMatch(
    / 1 product 0 SKUs with personalization 0 personalization rows 0 brands /,
  );
  expect(textOf(await console.load("/products"))).toContain(" 1 product stored. ");
});

test("every page is documented, and every section is in the navigation", async () => {
  const documentation = await Bun.file(join(root, "docs", "reference", "console.md")).text();
  const documented = [...documentation.matchAll(/^\| `(\/[^`]*)` /gm)].map(([, route = ""]) => route);
  expect(documented).toEqual(pages.map(({ route }) => route.replace(/:(\w+)/, (_, name) => name.toUpperCase())));
  const inNavigation = pages.filter(({ section }) => section === undefined).map(({ route }) => route);
  const outside = pages.filter(({ section, route }) => section === route).map(({ route }) => route);
  expect(outside).toEqual(["/search"]);
  for (const { section, route } of pages) expect([...inNavigation, ...outside]).toContain(section ?? route);
});

const now = Date.parse("2026-03-01T12:00:00.000Z");
const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString();
const run = (changes: Partial<Run>): Run => ({
  id: 7,
  job: "feed",
  brand: "B",
  scheduledAt: null,
  attempt: 1,
  startedAt: ago(10),
  finishedAt: ago(9),
  leaseUntil: ago(9),
  outcome: "succeeded",
  counts: 1,
  reason: null,
  log: null,
  cancelled: null,
  isFirst: 0,
  ...changes,
});
const health = (changes: Partial<JobHealth>): JobHealth => ({
  job: "feed",
  brand: "B",
  next: ago(-30),
  last: run({}),
  runningSince: null,
  lastSuccess: ago(9),
  age: 540,
  isStale: false,
  isSlow: false,
  isAhead: false,
  pausedSince: null,
  pausedBy: null,
  source: "folder",
  failingSince: null,
  schedule: "0 * * * * UTC",
  scheduleWords: "Every hour",
  dueSince: 0,
  ...changes,
});

test.each([
  ["that succeeded on time", {}, undefined],
  [
    "that was due twice since its last success",
    { isStale: true, lastSuccess: ago(180), dueSince: 2 },
    "feed for B last succeeded 3 hours ago and has been due twice since.",
  ],
  [
    "whose last run is in the future",
    { isAhead: true, last: run({ finishedAt: "2036-01-01T00:00:00.000Z" }) },
    "feed for B last ran at 2036-01-01 00:00:00 UTC, which is in the future: the clock of the database was set back. The next run is in 30 minutes.",
  ],
  [
    "that failed",
    { last: run({ outcome: "failed", reason: "it broke." }) },
    "feed for B failed 9 minutes ago: it broke. It last succeeded at 2026-03-01 11:51:00 UTC; shoppers still see what is stored. The next run is in 30 minutes.",
  ],
  [
    "that was abandoned and has no schedule",
    { last: run({ outcome: "abandoned", reason: null }), lastSuccess: null, next: null },
    "feed for B was abandoned 9 minutes ago. It has never succeeded, so shoppers see none of its data. No further run is scheduled.",
  ],
  [
    "that failed and is running again",
    { last: run({ outcome: "failed" }), runningSince: ago(2), dueSince: 1 },
    "feed for B failed 9 minutes ago. It last succeeded at 2026-03-01 11:51:00 UTC; shoppers still see what is stored. A new run has been in progress for 2 minutes.",
  ],
  [
    "whose run takes far longer than usual",
    { isSlow: true, runningSince: ago(90) },
    "feed for B has been running for 90 minutes, far longer than its last successful runs.",
  ],
] as [string, Partial<JobHealth>, string | undefined][])("the overview describes a job %s", (_, changes, words) => {
  const problems = listProblems([health(changes)], ["B"], 1, now);
  expect(problems.map(({ text }) => text)).toEqual(words === undefined ? [] : [words]);
});

test("data that no configured job would import is not missing", () => {
  const catalog = health({ job: "catalog-import" });
  expect(listProblems([catalog], [], 5, now)).toEqual([]);
  expect(listProblems([catalog], [], 0, now).map(({ text }) => text)).toEqual([
    "No products are stored, although their job has succeeded.",
  ]);
  expect(listProblems([health({ job: "personalization-import" })], [], 0, now)).toHaveLength(1);
});

test.each([
  [0.4, "0 seconds"],
  [1, "1 second"],
  [119, "119 seconds"],
  [120, "2 minutes"],
  [7199, "120 minutes"],
  [7200, "2 hours"],
  [172_800, "2 days"],
  [86_400 * 1500, "1,500 days"],
])("%d seconds in words: %j", (seconds, words) => {
  expect(durationInWords(seconds)).toBe(words);
});

test("relative times, durations, and chart maximums are rounded for reading", () => {
  expect([relativeTime(now - 1000, now), relativeTime(now - 5000, now), relativeTime(now + 5000, now)]).toEqual([
    "just now",
    "5 seconds ago",
    "in 5 seconds",
  ]);
  expect([formatDuration(0.05), formatDuration(61), formatDuration(600)]).toEqual([
    "0.1 s",
    "61 seconds",
    "10 minutes",
  ]);
  expect([0, 999, 750_000, 1_500_000, 1_250_000_000].map(formatCompactly)).toEqual([
    "0",
    "999",
    "750K",
    "1.5M",
    "1.25B",
  ]);
  expect([0, 0.75, 100, 500, 5400, 200_000].map(formatDurationCompactly)).toEqual([
    "0 s",
    "0.75 s",
    "100 s",
    "8.3 min",
    "90 min",
    "2.3 d",
  ]);
  expect([0, 1, 7, 12, 351, 1000, 7600].map(roundUp)).toEqual([1, 1, 7.5, 15, 400, 1000, 10_000]);
});

test.each([
  ["https://cdn.example/a.jpg?v=1", "https://cdn.example"],
  ["http://127.0.0.1:3000/a", "http://127.0.0.1:3000"],
  ["http://[::1]:3000/a", "http://[::1]:3000"],
  ["https://*/a.jpg", undefined],
  ["https://a;script-src/a.jpg", undefined],
  ["https://a,b/a.jpg", undefined],
  ["javascript:alert(1)", undefined],
  ["data:image/png;base64,AA", undefined],
  ["/a.jpg", undefined],
])("the URL %j has the origin %p for a policy", (url, origin) => {
  expect(originOf(url)).toBe(origin as string);
});

test("a run took no negative time, although the clock was set back meanwhile", () => {
  expect(runSeconds(run({ startedAt: ago(9), finishedAt: ago(10) }), now)).toBe(0);
  expect(runSeconds(run({ finishedAt: null }), now)).toBe(600);
});
