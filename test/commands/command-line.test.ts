import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { toProduct } from "../support/catalog.ts";
import { dataOf, jsonOf } from "../support/command-output.ts";
import { writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  connectTo,
  createMigratedStore,
  createStore,
  type Environment,
  pds,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";

const folder = await temporaryFolder();
/** Where nothing is. */
const absent = join(folder, "absent");
const feed = await writeFeed(folder, "feed");
const [products = "", oneProduct = "", brokenProducts = ""] = await writeFiles(folder, {
  "products.ndjson": `${toJson(toProduct(1))}\n${toJson(toProduct(2))}\n`,
  "one.json": toJson(toProduct(3)),
  "broken.ndjson": `${toJson(toProduct(1))}\n{"id": "x"}\n`,
});

/** A store of its own, empty, and the environment that names it. */
const newStore = async (): Promise<Environment> => ({
  DATABASE_URL: await createMigratedStore("sqlite"),
  BRAND: "acme",
});

interface Histories {
  readonly histories: readonly { brand: string; counts: number; finished_at: string }[];
}

const commands = [
  "serve",
  "import products",
  "import personalization",
  "import presentation",
  "presentation check",
  "presentation template",
  "rollback personalization",
  "rollback presentation",
  "run",
  "cancel",
  "pause",
  "resume",
  "jobs",
  "history",
  "logs",
  "brands",
  "brands remove",
  "explain sku",
  "backup",
  "check",
  "health",
  "platform subscribe",
  "platform unsubscribe",
  "platform subscriptions",
  "platform shop",
  "token create",
  "config",
  "openapi",
  "init",
  "service install",
  "completions",
];

test("pds --version prints the version", async () => {
  expect(await dataOf(["--version"])).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each([
  [["histroy"], "unknown command 'histroy' (Did you mean history?); see pds --help"],
  [["imprt", "products"], "unknown command 'imprt' (Did you mean import?); see pds --help"],
  [["import", "prodcts"], "unknown command 'prodcts' (Did you mean products?); see pds import --help"],
  [["jobs", "--jsno"], "unknown option '--jsno' (Did you mean --json?); see pds jobs --help"],
  [["jobs", "--claimed"], "unknown option '--claimed'; see pds jobs --help"],
])("a mistyped word gets a suggestion: pds %j", async (args, message) => {
  expect(await pds(args)).toEqual({ code: 2, stdout: "", stderr: `pds: ${message}\n` });
});

/** The words that begin the lines below a title. */
const listedUnder = (title: string, help: string) =>
  [...(help.split(`\n\n${title}:\n`)[1]?.split("\n\n")[0] ?? "").matchAll(/^ {2}(?:-h, )?(\S+)/gm)].map(
    ([, word]) => word,
  );

/** The second words of a group's commands, or the first words of all. */
const wordsAfter = (group: string) => {
  const prefix = group === "" ? "" : `${group} `;
  const rest = commands.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return [...new Set(rest.map((name) => name.split(" ")[0]))];
};

const groups = ["import", "presentation", "rollback", "explain", "platform", "token", "service"];

describe("help", () => {
  test.each([["--help"], ["-h"], ["help"]])("pds %s lists the commands and the groups of commands", async (word) => {
    expect(listedUnder("Commands", await dataOf([word]))).toEqual([...wordsAfter(""), "help"]);
  });

  test("of pds run lists --brand, and leaves out the internal option --claimed", async () => {
    const help = await dataOf(["run", "--help"]);
    expect(listedUnder("Options", help)).toContain("--brand");
    expect(help).not.toContain("--claimed");
  });

  test.each(groups)("pds %s --help lists the commands of this group only", async (group) => {
    const help = await dataOf([group, "--help"]);
    expect(help).toStartWith(`Usage: pds ${group} <command>\n`);
    expect(listedUnder("Commands", help)).toEqual(wordsAfter(group));
  });

  test.each(commands)("pds %s --help prints its usage, its summary, and its options", async (command) => {
    const help = await dataOf([...command.split(" "), "--help"], { PORT: "junk" });
    const [usage, summary] = help.split("\n\n");
    expect(usage).toStartWith(`Usage: pds ${command} [options]`.replace(/ \[options\]$/, ""));
    expect(summary).toEndWith(".");
    expect(listedUnder("Options", help).at(-1)).toBe("--help");
  });

  test.each(["", ...groups, ...commands])("pds %s --help is aligned, and at most 80 columns wide", async (command) => {
    const help = await dataOf([...command.split(" ").filter(Boolean), "--help"]);
    expect(help.split("\n").filter((line) => line.length > 80)).toEqual([]);
    for (const part of help.split("\n\n").filter((text) => /^(Options|Commands):/.test(text))) {
      const columns = part
        .split("\n")
        .slice(1)
        .map((line) => line.match(/^ {2}\S.*? {2,}|^ {3,}/)?.[0].length);
      expect(new Set(columns.filter((column) => column !== undefined)).size).toBe(1);
    }
  });

  test.each(["", "import", "import products", "brands remove"])("is printed by pds help %s", async (command) => {
    const words = command.split(" ").filter(Boolean);
    expect(await dataOf(["help", ...words])).toBe(await dataOf([...words, "--help"]));
  });

  test.each([
    [["nope"], /^pds: unknown command 'nope'; the commands are serve, import, .*completions, help; see pds --help\n$/],
    [["platform", "subscrib"], "pds: unknown command 'subscrib' (Did you mean subscribe?); see pds platform --help\n"],
    [["pause", "x"], "pds: unknown command 'x'; see pds pause --help\n"],
  ])("of an unknown command is an error that says what is valid: pds help %j", async (words, message) => {
    const { code, stdout, stderr } = await pds(["help", ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    if (typeof message === "string") expect(stderr).toBe(message);
    else expect(stderr).toMatch(message);
  });

  test.each([
    [["nope", "--help"]],
    [["nope", "--json", "-h"]],
    [["platform", "subscrib", "--help"]],
    [["brands", "remov", "--help"]],
  ])("of an unknown command is the same error with an option: pds %j", async (words) => {
    const names = words.filter((word) => !word.startsWith("-"));
    expect(await pds(words)).toEqual(await pds(["help", ...names]));
  });

  test("is printed for -h too, and among other arguments", async () => {
    expect(await dataOf(["import", "products", "-h", "--json"])).toBe(await dataOf(["import", "products", "--help"]));
  });

  test.each([[[]], [["import"]], [["rollback"]]])("without a command, pds %j prints it as a message", async (words) => {
    const { code, stdout, stderr } = await pds(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(`pds: no command given; choose one of these\n${await dataOf([...words, "--help"])}`);
  });
});

describe("wrong usage exits with 2 and says what is wrong", async () => {
  const migrated = await createMigratedStore("sqlite");
  test.each([
    ["frobnicate", ["frobnicate"], "'frobnicate'"],
    ["a name that every object has", ["constructor"], "'constructor'"],
    ["a day that does not exist", ["history", "--since", "2026-02-30"], "--since: expected"],
    ["a time without its zone", ["history", "--since", "2026-01-31T12:00"], "--since: expected"],
    ["a brand that is not an option", ["brands", "remove", "--", "--help", "x"], "Expected 1 argument but got 2"],
    ["half a command with something else", ["import", "orders"], "see pds import --help"],
    ["an option before the command", ["--json", "config"], "'--json'"],
    ["an unknown option", ["config", "--yaml"], "--yaml"],
    ["an option of another command", ["jobs", "--dry-run"], "--dry-run"],
    ["a value for a switch", ["config", "--json=yes"], "--json"],
    ["an option without its value", ["import", "products", products, "--brand"], "--brand"],
    ["an option in the place of a value", ["import", "products", products, "--brand", "--json"], "--brand"],
    ["an empty brand", ["import", "products", products, "--brand", " "], "--brand"],
    ["an argument too many", ["serve", "now"], "serve"],
    ["no file", ["import", "products"], "'file'"],
    ["two folders", ["import", "personalization", feed, feed], "Expected 1 argument but got 2"],
    ["a file that is not there", ["import", "products", products, absent], `${absent}: no such file`],
    ["a folder instead of a file", ["import", "products", feed], "not a file"],
    ["a folder that is not there", ["import", "personalization", absent], `${absent}: no such folder`],
    ["a file instead of a folder", ["import", "personalization", products], "not a folder"],
    ["no job", ["run"], "'job'"],
    ["an unknown job", ["run", "nightly"], '"nightly"'],
    ["an unknown order", ["history", "up"], "asc or desc"],
    ["an order in capitals", ["history", "DESC"], "asc or desc"],
    ["two orders", ["history", "asc", "desc"], "Expected 1 argument but got 2"],
    ["an empty name of a job", ["history", "--job", ""], "--job: expected the name of a job"],
    ["an empty name of a brand", ["history", "--brand", " "], "--brand: expected the name of a brand"],
  ])("%s", async (_, args, words) => {
    // An import that has begun creates the store, to record it.
    const DATABASE_URL = args[0] === "import" ? await createStore("sqlite") : migrated;
    const { code, stdout, stderr } = await pds(args, { DATABASE_URL, BRAND: "acme" });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    if (args[0] === "import") expect(existsSync(DATABASE_URL.slice("sqlite:".length))).toBe(false);
    expect(stderr).toMatch(/^pds: .+\n$/);
    expect(stderr).toContain(words);
  });
});

describe("a failure exits with 1 and says why", () => {
  test("a rejected product", async () => {
    const { code, stdout, stderr } = await pds(["import", "products", brokenProducts], await newStore());
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`${brokenProducts}:2: id: `);
    expect(stderr).not.toContain("    at ");
  });

  describe("a brand that is not stored, with the brands that are", async () => {
    const environment = await newStore();
    for (let brand = 1; brand <= 11; brand++) {
      await importHere(["import", "personalization", feed, "--brand", `b${brand}`], environment);
    }
    const [stored, none] = [/; stored brands: "b1", "b10", "b11", "b2", .+, "b8" and 1 more/, /; stored brands: none/];
    test.each([
      [["rollback", "personalization", "--brand", "Typo"], stored],
      [["rollback", "personalization", "--brand", "Typo", "--to", "1"], stored],
      [["rollback", "presentation", "--brand", "Typo"], none],
      [["brands", "remove", "Typo"], stored],
      [["presentation", "template", "--brand", "Typo"], stored],
      [["presentation", "check", "--brand", "Typo"], none],
    ])("pds %j", async (args, names) => {
      const { code, stdout, stderr } = await pds(args, environment);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^pds: no (personalization|presentation) of "Typo" is stored; /);
      expect(stderr).toMatch(names);
    });

    test("pds explain sku", async () => {
      const { code, stdout } = await pds(["explain", "sku", "NOTHING", "--brand", "Typo"], environment);
      expect(code).toBe(1);
      expect(stdout).toMatch(/\n- No feed of Typo was ever loaded: .+\. Brands with a feed: b1, .+ and 1 more\.\n/);
    });

    test("pds history", async () => {
      const { stdout, stderr } = await pds(["history", "--brand", "Typo", "--job", "personalisation"], environment);
      expect(stdout).toBe("");
      expect(stderr).toMatch(
        /^no finished run matches; no run is of the job "personalisation"; jobs with runs: "personalization-import"; no run is of the brand "Typo"; brands with runs: "b1", .+ and 1 more\n$/,
      );
      const { stderr: known } = await pds(["history", "--brand", "b1", "--outcome", "failed"], environment);
      expect(known).toBe("no finished run matches\n");
    });
  });

  test("a store that cannot be opened", async () => {
    const { code, stdout, stderr } = await pds(["history"], { DATABASE_URL: `sqlite:${folder}` });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^pds: DATABASE_URL: .+\n$/);
  });
});

describe("pds history", async () => {
  const environment = await newStore();
  const brands = Array.from({ length: 12 }, (_, index) => `brand-${index + 1}`);
  await pds(["import", "products", oneProduct, "--brand", `${brands[0]}`], environment);
  {
    using database = new Database(`${environment.DATABASE_URL}`.slice("sqlite:".length));
    const copy = database.query(`
      INSERT INTO run (job, brand, started_at, finished_at, outcome, counts, report)
      SELECT job, ?, ?, ?, outcome, counts, report FROM run WHERE id = 1`);
    for (const [index, brand] of brands.entries()) {
      const at = new Date(Date.now() - (brands.length - index) * 60_000).toISOString();
      if (index > 0) copy.run(brand, at, at);
      else database.run("UPDATE run SET started_at = ?, finished_at = ?", [at, at]);
    }
  }
  const brandsOf = ({ histories }: Histories) => histories.map(({ brand }) => brand);

  test.each([
    ["by default", [], brands.slice(2).toReversed()],
    ["desc", ["desc"], brands.slice(2).toReversed()],
    ["asc", ["asc"], brands.slice(2)],
  ])("prints the 10 newest runs in order: %s", async (_, order, expected) => {
    expect(brandsOf(await jsonOf(["history", ...order], environment))).toEqual(expected);
    const [head, ...lines] = (await dataOf(["history", ...order], environment)).trimEnd().split("\n");
    expect(head).toMatch(/^run +finished_at +job +brand +outcome +duration +counts +reason$/);
    expect(lines.map((line) => line.split(/ +/).toSpliced(0, 2).toSpliced(3, 2))).toEqual(
      expected.map((brand) => ["catalog-import", brand, "succeeded", "1"]),
    );
  });

  test("prints the runs of the operation with --json", async () => {
    await using service = await serve(environment);
    for (const order of ["asc", "desc"]) {
      const { histories }: Histories = await jsonOf(["history", order], environment);
      const expected = histories.map(({ brand, counts, finished_at }) => ({
        ...{ brand, counts, created_at: finished_at.replace(/\.\d+Z$/, "Z") },
      }));
      expect(await (await service.get(`/api/v1/histories/${order}`)).json()).toEqual({ histories: expected });
    }
  });

  test("prints a message and no data before the first run", async () => {
    const { code, stdout, stderr } = await pds(["history"], await newStore());
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(/^.+\n$/);
  });
});

describe("jobs", async () => {
  const cwd = await temporaryFolder();
  await writeFeed(cwd, "feed");
  await writeFiles(cwd, {
    "products.ndjson": `${toJson(toProduct(1))}\n${toJson(toProduct(2))}\n`,
    "pds.toml":
      'brand = "acme"\n' +
      '[jobs.catalog-import]\nsource = ["products.ndjson"]\n' +
      '[jobs.personalization-import]\nsource = "feed"\n',
  });
  const newEnvironment = async () => ({ PDS_CONFIG: undefined, DATABASE_URL: await createMigratedStore("sqlite") });

  test("are listed, run by name, and listed with their outcome", async () => {
    const environment = await newEnvironment();
    const source = "products.ndjson";
    const never = { outcome: "never run", finished_at: "", counts: 0, reason: null, last_success_at: null, age: null };
    const still = {
      ...{ brand: "acme", schedule: null, time_zone: null, next: null, running_since: null },
      ...{ is_slow: false, is_stale: false, is_ahead: false, paused_since: null, paused_by: null },
    };
    expect(await jsonOf(["jobs"], environment, cwd)).toEqual([
      { job: "catalog-import", ...still, ...never, source },
      { job: "personalization-import", ...still, ...never, source: "feed" },
    ]);
    expect(await dataOf(["run", "catalog-import"], environment, cwd)).toBe("catalog-import: 2 imported for acme\n");
    const [ran] = await jsonOf(["jobs"], environment, cwd);
    expect(ran).toEqual({
      ...{ job: "catalog-import", ...still, outcome: "succeeded", counts: 2, reason: null, source },
      finished_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      ...{ last_success_at: ran.finished_at, age: expect.any(Number) },
    });
    const [head, ...lines] = (await dataOf(["jobs"], environment, cwd)).trimEnd().split("\n");
    expect(head).toMatch(/^job +brand +schedule +next +outcome +finished_at +success +counts +source$/);
    expect(lines.map((line) => line.split(" ")[0])).toEqual(["catalog-import", "personalization-import"]);
  });

  test("print their reports as JSON", async () => {
    expect(await jsonOf(["run", "personalization-import"], await newEnvironment(), cwd)).toMatchObject({
      ...{ job: "personalization-import", brand: "acme", outcome: "succeeded", counts: 12, accepted: 12 },
      ...{ duplicates: 0, rejected: 0, rejections: [], notes: [], overridden: [] },
      personalization: {
        skus: null,
        non_numeric_sequences: { count: 1 },
        statuses: { style_sku_status: { A: 2, I: 1 } },
      },
    });
  });

  test("are named as on the wire in all that is printed about them", async () => {
    const environment = await newEnvironment();
    const printed = [await jsonOf(["run", "personalization-import"], environment, cwd)];
    for (const args of [["jobs"], ["history"], ["logs", "1"], ["brands"]]) {
      printed.push(await jsonOf(args, environment, cwd));
    }
    const names = [...JSON.stringify(printed).matchAll(/"(\w+)":/g)].map(([, name]) => `${name}`);
    expect(names).toContain("finished_at");
    expect(names.filter((name) => /[a-z][A-Z]/.test(name))).toEqual([]);
  });

  test("that fail show this in the exit status, in the list, and in the history", async () => {
    const failing = await temporaryFolder();
    await writeFiles(failing, {
      "broken.ndjson": '{"id": "x"}\n',
      "pds.toml": '[jobs.catalog-import]\nsource = ["broken.ndjson"]\n',
    });
    const failingEnvironment = { PDS_CONFIG: undefined, DATABASE_URL: await createStore("sqlite") };
    const { code, stdout, stderr } = await pds(["run", "catalog-import", "--json"], failingEnvironment, failing);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: "failed", counts: 0, rejected: 1 });
    expect(stderr).toContain("broken.ndjson:1: id: ");
    const failed = { job: "catalog-import", outcome: "failed", counts: 0, reason: expect.stringContaining("1 of 1") };
    expect(await jsonOf(["jobs"], failingEnvironment, failing)).toMatchObject([failed]);
    expect(await jsonOf(["history"], failingEnvironment, failing)).toMatchObject({
      histories: [{ ...failed, log: expect.stringContaining("broken.ndjson:1: id: ") }],
    });
  });

  test("print a message instead of a list if none are configured", async () => {
    const { code, stdout, stderr } = await pds(["jobs"], await newStore());
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toContain("[jobs.NAME]");
    expect(await jsonOf(["jobs"], await newStore())).toEqual([]);
  });
});

describe("pds openapi", () => {
  test("prints the same document that the service serves", async () => {
    await using service = await serve(await newStore());
    const printed = JSON.parse(await dataOf(["openapi"]));
    expect(printed.openapi).toStartWith("3.1");
    expect(await (await service.get("/openapi.json")).json()).toEqual(printed);
  });

  test("needs no settings, no store, and no particular folder", async () => {
    const printed = await dataOf(["openapi"], { PORT: "junk", DATABASE_URL: "junk" }, await temporaryFolder());
    expect(JSON.parse(printed)).toHaveProperty("paths");
  });
});

describe("pds serve", () => {
  test("runs in any folder and keeps its store there", async () => {
    const cwd = await temporaryFolder();
    await using service = await serve({ PDS_CONFIG: undefined }, cwd);
    expect((await service.get("/docs")).status).toBe(200);
    expect(existsSync(join(cwd, "data", "pds.sqlite"))).toBe(true);
  });
});

describe("pds import", () => {
  test("prints its result to standard output and notes to standard error", async () => {
    const twice = join(folder, "twice.ndjson");
    await Bun.write(twice, `${toJson(toProduct(1))}\n${toJson(toProduct(1))}\n`);
    const { code, stdout, stderr } = await pds(["import", "products", twice], await newStore());
    expect({ code, stdout }).toEqual({ code: 0, stdout: "catalog-import: 1 imported for acme\n" });
    expect(stderr).toContain(`${twice}:2: `);
  });

  test.each([
    ["products", products, 2],
    ["personalization", feed, 12],
  ])("%s --dry-run reads and checks without changing or recording anything", async (what, source, counts) => {
    const environment = { DATABASE_URL: await createStore("sqlite"), BRAND: "acme" };
    const args = ["import", what, source, "--dry-run"];
    expect(await dataOf(args, environment)).toEndWith(`-import: ${counts} would be imported for acme\n`);
    expect(existsSync(`${environment.DATABASE_URL}`.slice("sqlite:".length))).toBe(false);

    await dataOf(["import", "products", oneProduct], environment);
    const before = await jsonOf(["history"], environment);
    expect(await jsonOf(args, environment)).toMatchObject({ outcome: "succeeded", counts, accepted: counts });
    expect(await jsonOf(["history"], environment)).toEqual(before);
    await using service = await serve(environment);
    expect((await service.get("/api/v1/products/1")).status).toBe(404);
    expect((await service.get("/api/v1/products/3")).status).toBe(200);
    expect(await (await service.get("/api/v1/products/pz/MUG")).json()).toMatchObject({ pzlines: [] });
  });

  test("imports several files together, and prints a report with --json", async () => {
    const environment = await newStore();
    const report = await jsonOf(["import", "products", products, oneProduct, "--brand", "Other"], environment);
    expect(report).toMatchObject({ job: "catalog-import", brand: "Other", outcome: "succeeded", counts: 3 });
    expect(await jsonOf(["history"], environment)).toMatchObject({ histories: [{ brand: "Other", counts: 3 }] });
  });
});

describe("a brand that looks like an option", () => {
  test.each(["-x", "--acme", "--json", "-h", "-", "--", "=x", "-a=b c", `-"ü'; \\ 💥`])(
    "can be set, and its runs succeed: %s",
    async (BRAND) => {
      const [PDS_CONFIG = ""] = await writeFiles(folder, {
        "brand.toml": `[jobs.personalization-import]\nsource = "${feed}"\nsettle_seconds = 0\n`,
      });
      const environment = { ...(await newStore()), BRAND, PDS_CONFIG };
      await dataOf(["run", "personalization-import"], environment);
      await using service = await serve(environment);
      expect(await (await service.get("/api/v1/histories")).json()).toMatchObject({
        histories: [{ brand: BRAND, counts: 12 }],
      });
      expect(await (await service.get("/api/v1/products/pz/MUG")).text()).toContain("SCRIPT");
    },
  );

  test.each([
    ["-x", ["--brand", "-x"]],
    ["-x=y", ["--brand", "-x=y"]],
    ["--acme", ["--brand=--acme"]],
    ["--json", ["--brand=--json"]],
    ["-h", ["--brand=-h"]],
    ["=x", ["--brand", "=x"]],
    ["=", ["--brand=="]],
  ])("can be given to a command: %s", async (brand, words) => {
    const environment = await newStore();
    expect(await jsonOf(["import", "personalization", ...words, feed], environment)).toMatchObject({ brand });
    expect(await jsonOf(["history"], environment)).toMatchObject({ histories: [{ brand, counts: 12 }] });
  });
});

describe("an unexpected error", () => {
  test("is reported on one line, with its stack at the log level debug", async () => {
    const environment = { DATABASE_URL: await createMigratedStore("sqlite") };
    await using sql = await connectTo(environment.DATABASE_URL);
    await sql`DROP TABLE run`;
    const { code, stdout, stderr } = await pds(["history"], environment);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe("pds: SQLiteError: no such table: run (LOG_LEVEL=debug prints the stack)\n");
    expect((await pds(["history"], { ...environment, LOG_LEVEL: "debug" })).stderr).toMatch(/\n +at /);
  });
});
