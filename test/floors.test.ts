import { describe, expect, test } from "bun:test";
import { posix } from "node:path";
import { importsOf, measure, readSources, roomOf } from "./structure.ts";
import { root } from "./support/pds.ts";

/**
 * The floors from the ground up, each a list of its rooms; a room is a folder, or `main`.
 */
const floors = [
  ["base"],
  ["contract", "database", "feed"],
  ["cache", "cdn", "jobs", "platforms"],
  ["http", "personalization"],
  ["catalog", "operators", "sample"],
  ["config", "console", "operations"],
  ["reference"],
  ["service"],
  ["commands"],
  ["main"],
];

/** The rooms that give the others their settings. No other may import `config`. */
const composes = ["service", "commands", "main"];

/** What stands on no floor: it may be imported from anywhere. */
const outside = [
  "../package.json",
  "../packages/personalizer/build.ts",
  "../packages/personalizer/src/form/instruction.ts",
  ...["de", "es", "fr", "ja"].map((language) => `../packages/personalizer/languages/${language}.json`),
];

const floorOf = (file: string) => floors.findIndex((rooms) => rooms.includes(roomOf(file)));

/**
 * Why a file of `src` may not have an import, or undefined when it may. Files are named from `src`.
 */
function refusal(file: string, path: string | undefined): string | undefined {
  if (path === undefined) return `${file} computes what it imports`;
  if (!path.startsWith(".")) return undefined;
  const target = posix.join(posix.dirname(file), path);
  if (outside.includes(target) || roomOf(target) === roomOf(file)) return undefined;
  const [from, to] = [floorOf(file), floorOf(target)];
  if (from < 0 || to < 0) return `${file} imports ${target}: ${from < 0 ? file : target} stands on no floor`;
  if (roomOf(target) === "config" && !composes.includes(roomOf(file)))
    return `${file} imports ${target}: only ${composes.join(", ")} may`;
  if (to > from) return `${file} imports ${target}: that is up`;
  if (to === from) return `${file} imports ${target}: that is sideways`;
  return undefined;
}

/**
 * An engine's name appears in its own folder, in the list of engines, and in the setting
 * DATABASE_URL.
 */
const engines = { sqlite: /sqlite/i, postgres: /postgres/i };
const namesEveryEngine = ["database/engines/index.ts", "config/settings.ts", "config/values.ts"];

/** A platform's name appears in its own folder, in the list of platforms, in the settings, and in its data. */
const platforms = [...new Bun.Glob("*/index.ts").scanSync(`${root}/src/platforms`)].map(posix.dirname);
const mayNameEveryPlatform = /^(platforms\/index\.ts$|config\/|reference\/examples\.json$)/;

/** The tables of each room. Those of `database` are everybody's. */
const tablesOf: Readonly<Record<string, readonly string[]>> = {
  catalog: ["product", "product_news", "product_removal", "product_word", "push_queue"],
  cdn: ["purge_target"],
  database: ["change", "cursor", "lease", "schema_fingerprint"],
  jobs: ["run", "job_pause", "job_schedule"],
  operators: ["audit_record", "operator_session"],
  personalization: ["generation", "current_generation", "generation_list", "presentation"],
};
const roomOfTable = new Map(
  Object.entries(tablesOf).flatMap(([room, tables]) => tables.map((table): [string, string] => [table, room])),
);

/** The tables of other rooms that a room's SQL names. */
function foreignTables(file: string, text: string): string[] {
  const named = text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+([a-z_]+)\b/g);
  const foreign = [...named].filter(([, table = ""]) => {
    const room = roomOfTable.get(table);
    return room !== undefined && room !== "database" && room !== roomOf(file);
  });
  return [...new Set(foreign.map(([, table]) => `${file} names the table ${table}`))];
}

/** What a source text may not hold, whatever it imports. */
function faultsOf(file: string, text: string): string[] {
  const namesEngine = Object.entries(engines).some(
    ([engine, name]) =>
      name.test(text) && !namesEveryEngine.includes(file) && !file.startsWith(`database/engines/${engine}/`),
  );
  const namesPlatform = platforms.some(
    (platform) =>
      new RegExp(platform, "i").test(text) &&
      !mayNameEveryPlatform.test(file) &&
      !file.startsWith(`platforms/${platform}/`),
  );
  const withoutComments = text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, "");
  const faults = {
    "silences the type checker": /@ts-(ignore|expect-error|nocheck)/.test(text),
    "has the type any": /(?:[:<,|&(=]|=>|\bas|\bkeyof)\s*any\b(?!\s+\w|["'`])/.test(withoutComments),
    "runs a statement by sql.unsafe outside of database/":
      roomOf(file) !== "database" && /(?:await|return)\s+sql\.unsafe\b|\bsql\.unsafe(?:<[^(]*>)?\([^()]*,/.test(text),
    "writes by read": /\bread(?:<[^(]*>)?\(\s*["`]\s*(?:INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\b/.test(text),
    "names a database engine": namesEngine,
    "names a platform": namesPlatform,
  };
  return Object.entries(faults).flatMap(([fault, found]) => (found ? [`${file} ${fault}`] : []));
}

const files = [...new Bun.Glob("**/*").scanSync(`${root}/src`)].sort();
const sources = await Promise.all(
  files.map(async (file) => ({ file, text: await Bun.file(`${root}/src/${file}`).text() })),
);
const code = await readSources(root);

test("the documentation lists the floors", async () => {
  const page = await Bun.file(`${root}/docs/explanation/architecture.md`).text();
  const [, table = ""] = page.match(/^\| layer.*\n\| ---.*\n((?:\|.*\n)+)/m) ?? [];
  const rows = table.trimEnd().split("\n");
  const named = rows.map((row) => [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  expect(named).toEqual(floors.toReversed());
});

describe("the source", () => {
  test("imports only downwards", () => {
    const refused = code.flatMap(({ file, text }) => importsOf(text).map((of) => refusal(file, of)));
    expect(refused.filter((reason) => reason !== undefined)).toEqual([]);
  });

  test("has no circles, also not of types", () => {
    const { circles, rooms } = measure(code);
    expect(circles).toEqual([]);
    expect(rooms).toBe(floors.flat().length);
  });

  test("stands on the floors, file by file", () => {
    expect(code.map(({ file }) => file).filter((file) => floorOf(file) < 0)).toEqual([]);
  });

  test("names engines and platforms only in their folders, and nowhere gives up its types", () => {
    expect(sources.flatMap(({ file, text }) => faultsOf(file, text))).toEqual([]);
  });

  test("names the JSX runtime in each page, as Bun finds tsconfig.json only from the folder in which it is started", () => {
    const pages = code.filter(({ file }) => file.endsWith(".tsx"));
    expect(pages).not.toBeEmpty();
    expect(pages.filter(({ text }) => !text.startsWith("/** @jsxImportSource hono/jsx */\n"))).toEqual([]);
  });

  test("names in its SQL only tables of its own room, and those of the store", async () => {
    const schema = sources.find(({ file }) => file === "database/schema.ts")?.text ?? "";
    const created = [...schema.matchAll(/CREATE TABLE (\w+)/g)].map(([, table]) => table);
    expect(created.filter((table = "") => !roomOfTable.has(table))).toEqual([]);
    // The ground creates all of them.
    const rooms = code.filter(({ file }) => roomOf(file) !== "database");
    expect(rooms.flatMap(({ file, text }) => foreignTables(file, text))).toEqual([]);
    expect(foreignTables("console/pages/overview.tsx", "`SELECT 1 FROM run`")).toHaveLength(1);
  });

  test("is read whole: the scan sees every import that the bundler sees", () => {
    for (const { file, text } of code) {
      const bundled = new Bun.Transpiler({ loader: file.endsWith("x") ? "tsx" : "ts" }).scanImports(
        text.replace(/^#!.*/, ""),
      );
      const paths = bundled.map(({ path }) => path).filter((path) => path.startsWith("."));
      expect(importsOf(text)).toEqual(expect.arrayContaining(paths));
    }
  });
});

describe("the rule on imports", () => {
  test.each([
    ["feed/csv.ts", `import { openDatabase } from "../database/index.ts";`, "sideways"],
    ["feed/csv.ts", `import type { Database } from "../database/index.ts";`, "sideways"],
    ["feed/csv.ts", `import type { Change } from "../jobs/run.ts";`, "up"],
    ["base/log.ts", `import { settings } from "../config/settings.ts";`, "only service"],
    ["reference/openapi.ts", `import type { Config } from "../config/index.ts";`, "only service"],
    ["contract/history.ts", `import type { LogLevel } from "../config/settings.ts";`, "only service"],
    ["contract/history.ts", `export { listRuns } from "../jobs/runs.ts";`, "up"],
    ["base/errors.ts", `export * from "../http/errors.ts";`, "up"],
    ["database/change.ts", `const { runJob } = await import("../jobs/run-job.ts");`, "up"],
    ["database/change.ts", `let job: import("../jobs/job.ts").Job;`, "up"],
    ["jobs/run-job.ts", `import "../service/start.ts";`, "up"],
    ["commands/index.ts", `import "../main.ts";`, "up"],
    ["http/server.ts", "await import(file);", "computes"],
    ["http/server.ts", `import { pds } from "../../test/support/pds.ts";`, "no floor"],
    ["utilities.ts", `import { z } from "./base/json.ts";`, "no floor"],
  ])("refuses in %s: %j (%s)", (file, text, reason) => {
    const imports = importsOf(text);
    expect(imports).toHaveLength(1);
    for (const found of imports) expect(refusal(file, found)).toContain(reason);
  });
});

test("a circle of files is found, whatever it imports", () => {
  const sources = [
    { file: "main.ts", text: `import { serve } from "./commands/serve.ts";` },
    { file: "commands/serve.ts", text: `import type { Log } from "../base/log.ts";` },
    { file: "base/log.ts", text: `export * from "./json.ts";` },
    { file: "base/json.ts", text: `const { log } = await import("./log.ts");\n` },
  ];
  expect(measure(sources)).toEqual({
    rooms: 3,
    arrows: ["commands → base", "main → commands"],
    files: 4,
    lines: 1,
    circles: [["base/json.ts", "base/log.ts"]],
  });
});

describe("the rule on the text", () => {
  test.each([
    ["jobs/run-job.ts", "// as SQLite does it"],
    ["http/health.ts", `const url = "postgres://";`],
    ["database/index.ts", `import { sqlite } from "./engines/sqlite/index.ts";`],
    ["database/engines/engine.ts", "// such as SQLite"],
    ["database/engines/postgres/index.ts", "// unlike SQLite"],
    ["catalog/sync.ts", `import { listProducts } from "../platforms/shopify/list-products.ts";`],
    ["contract/product.ts", `const gid = "gid://shopify/Product/1";`],
    ["platforms/platform.ts", "// as Shopify does it"],
    ["base/json.ts", "const a: any = 1;"],
    ["base/json.ts", "const a = b as any;"],
    ["base/json.ts", "function f(a: any, b: Array<any>) {}"],
    ["base/json.ts", "type A = Record<string, any>;"],
    ["base/json.ts", "type A = any[] | string;"],
    ["base/json.ts", "// @ts-ignore"],
    ["base/json.ts", "// @ts-expect-error: it is right"],
    ["jobs/runs.ts", "await sql.unsafe(statement);"],
    ["jobs/runs.ts", "const rows = sql.unsafe<Run[]>(query, [id]);"],
    ["jobs/runs.ts", "await read<Run>(`UPDATE run SET cancelled = $1 RETURNING id`, [by]);"],
  ])("refuses in %s: %j", (file, text) => {
    expect(faultsOf(file, text)).toHaveLength(1);
  });
});
