import { describe, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { dataOf, jsonOf } from "../support/command-output.ts";
import { feedFiles, writeFeed } from "../support/feed.ts";
import { importHere } from "../support/import-here.ts";
import {
  connectTo,
  createMigratedStore,
  createStore,
  type Engine,
  enginesOf,
  pds,
  root,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { untilEqual } from "../support/until.ts";

// The commands by which people look after a running service.

const folder = await temporaryFolder();
const feed = await writeFeed(folder, "feed");

/** A store in which three imports succeeded, and then one failed. */
async function createUsedStore(engine: Engine) {
  const environment = { DATABASE_URL: await createStore(engine), BRAND: "acme" };
  for (const brand of ["acme", "a/b `$x` é", "acme"]) {
    await importHere(["import", "personalization", feed, "--brand", brand, "--force"], environment);
  }
  await importHere(["import", "personalization", folder], environment);
  return environment;
}

describe.each([...enginesOf("sqlite")])("on %s", async (engine) => {
  const environment = await createUsedStore(engine);
  const runs: { run: number; brand: string; outcome: string }[] = (await jsonOf(["history"], environment)).histories;

  test.each([
    [["--brand", "a/b `$x` é"], [2]],
    [["--outcome", "failed"], [4]],
    [
      ["--outcome", "succeeded", "--limit", "2"],
      [3, 2],
    ],
    [["--job", "catalog-sync"], []],
    [["--since", "1h", "--limit", "1"], [4]],
    [["--since", "2999-01-01"], []],
    [["--since", "2000-02-29T12:00+01:00", "--limit", "1"], [4]],
    [
      ["asc", "--limit", "2"],
      [3, 4],
    ],
  ])("pds history %j", async (options, numbers) => {
    const { histories } = await jsonOf(["history", ...options], environment);
    expect(histories.map(({ run }: { run: number }) => run)).toEqual(numbers);
  });

  test("pds history counts an age by the clock that dates the runs, not by this machine's", async () => {
    const BUN_OPTIONS = `--preload=${join(root, "test/support/clock.ts")}`;
    const shifted = { ...environment, BUN_OPTIONS, TEST_CLOCK_SHIFT_MS: "7200000" };
    expect((await jsonOf(["history", "--since", "1h"], shifted)).histories).toHaveLength(4);
  });

  test("pds logs prints a run with its report, and why it failed", async () => {
    expect(runs.map(({ run }) => run)).toEqual([4, 3, 2, 1]);
    expect(await dataOf(["logs", "4"], environment)).toMatch(/^run 4: personalization-import .+failed.+\n.+pzlines/);
    expect(await dataOf(["logs", "1"], environment)).toContain("pzlines.csv: 3 rows");
    expect(await jsonOf(["logs", "2"], environment)).toMatchObject({
      run: 2,
      brand: "a/b `$x` é",
      report: { notes: [] },
      is_first: false,
    });
    const { code, stderr } = await pds(["logs", "99"], environment);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'pds: there is no run 99; "pds history" lists the runs\n' });
  });

  test("pds brands remove removes what a running service answers", async () => {
    const environment = await createUsedStore(engine);
    await using service = await serve(environment);
    const styles = async () => {
      const { pzstyles } = (await (await service.get("/api/v1/products/pz/MUG")).json()) as { pzstyles: unknown[] };
      return pzstyles.length;
    };
    expect(await styles()).toBe(3);
    const names = async () =>
      (await jsonOf(["brands"], environment)).brands.map(({ brand }: { brand: string }) => brand);
    expect(await names()).toEqual(["a/b `$x` é", "acme"]);
    expect(await dataOf(["brands", "remove", "acme"], environment)).toContain("2 generations");
    // The other brand has the SKU too.
    await untilEqual(styles, 3);
    expect(await dataOf(["brands", "remove", "a/b `$x` é"], environment)).toContain("1 generation");
    await untilEqual(styles, 0);
    expect(await names()).toEqual([]);
    const again = await pds(["brands", "remove", "acme"], environment);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('no personalization of "acme" is stored') });

    await using sql = await connectTo(environment.DATABASE_URL);
    expect(await sql`SELECT id FROM generation`).toHaveLength(0);
    expect((await pds(["import", "personalization", feed], environment)).code).toBe(0);
    await untilEqual(styles, 3);
  });
});

test("pds run tries an import without changing anything, and forces it past its checks", async () => {
  const home = await temporaryFolder();
  const rejected = { ...feedFiles, "pzlines.csv": `${feedFiles["pzlines.csv"]},WITHOUT-SKU,1,A\n` };
  const source = await writeFeed(home, "feed", rejected);
  const table = `[jobs.personalization-import]\nsource = "${source}"\nsettle_seconds = 0\n`;
  const [PDS_CONFIG] = await writeFiles(home, { "pds.toml": `${table}[jobs.history-retention]\n` });
  const environment = { PDS_CONFIG, DATABASE_URL: `sqlite:${join(home, "pds.sqlite")}` };
  const { code, stdout } = await pds(["run", "personalization-import", "--dry-run", "--json"], environment);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ rejected: 1, reason: expect.stringContaining("use --force") });
  expect(existsSync(join(home, "pds.sqlite"))).toBe(false);
  const forced = await pds(["run", "personalization-import", "--force", "--json"], environment);
  expect(forced.code).toBe(0);
  expect(JSON.parse(forced.stdout)).toMatchObject({ outcome: "succeeded", rejected: 1 });
  for (const option of ["--dry-run", "--force"]) {
    const { code, stderr } = await pds(["run", "history-retention", option], environment);
    const reason = `pds: run: ${option} is for imports; history-retention is none\n`;
    expect({ code, stderr: stderr.startsWith(reason) }).toEqual({ code: 2, stderr: true });
  }
});

describe("pds check", () => {
  test("says what can be reached, and when jobs run next", async () => {
    const [config = ""] = await writeFiles(folder, {
      "check.toml": `[jobs.personalization-import]\nsource = "${feed}"\nschedule = "@daily"\n[jobs.catalog-import]\nsource = ["${folder}/absent.json"]`,
    });
    const DATABASE_URL = `sqlite:${join(folder, "unchecked.sqlite")}`;
    const { code, stdout } = await pds(["check", "--json"], { PDS_CONFIG: config, DATABASE_URL, SCHEDULER: "off" });
    expect(code).toBe(1);
    const { checks, schedules, settings_without_effect, warnings } = JSON.parse(stdout);
    expect(checks).toMatchObject([
      { checked: "store", problem: null },
      { checked: "time zones", problem: null, at: expect.stringMatching(/^20\d\d[a-z] \(.+\)$/) },
      { checked: "catalog-import of default", problem: expect.stringContaining("/absent.json") },
      { checked: "personalization-import of default", problem: null },
    ]);
    const times = expect.any(Array);
    expect(schedules).toEqual([
      {
        ...{ job: "personalization-import", brand: "default", schedule: "@daily", time_zone: "UTC" },
        ...{ next: schedules[0].times[0], times, paused_since: null, paused_by: null },
      },
    ]);
    expect(schedules[0].times).toHaveLength(5);
    expect(settings_without_effect).toHaveLength(1);
    expect(warnings).toEqual([]);
    expect(existsSync(join(folder, "unchecked.sqlite"))).toBe(false);
  });
});

test("pds jobs and pds check print a schedule and its next run in one way", async () => {
  const [PDS_CONFIG = ""] = await writeFiles(folder, {
    "daily.toml": '[jobs.history-retention]\nschedule = "0 3 * * *"\ntime_zone = "Asia/Tokyo"\n',
  });
  const environment = { PDS_CONFIG, DATABASE_URL: await createMigratedStore("sqlite") };
  const shown = async () => {
    const [job] = await jsonOf(["jobs"], environment);
    const [checked] = JSON.parse((await pds(["check", "--json"], environment)).stdout).schedules;
    return [job, checked].map(({ schedule, time_zone, next }) => ({ schedule, time_zone, next }));
  };
  const shared = { schedule: "0 3 * * *", time_zone: "Asia/Tokyo" };
  const next = expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(await shown()).toEqual(Array(2).fill({ ...shared, next }));
  expect((await pds(["pause", "history-retention"], environment)).code).toBe(0);
  expect(await shown()).toEqual(Array(2).fill({ ...shared, next: null }));
});

test("pds check names what a store lacks", async () => {
  const [PDS_CONFIG = ""] = await writeFiles(folder, {
    "lacks.toml": `brand = "acme"\n[jobs.personalization-import]\nsource = "${feed}"\n`,
  });
  const environment = { PDS_CONFIG, DATABASE_URL: await createMigratedStore("sqlite") };
  const warnings = async () => JSON.parse((await pds(["check", "--json"], environment)).stdout).warnings;
  const [never, products, personalization, presentation] = [
    "personalization-import of acme has never succeeded",
    "the store has no products",
    "the store has no personalization of acme",
    "the store has no presentation of acme",
  ];
  expect(await warnings()).toEqual([never, products, personalization, presentation]);
  expect((await pds(["run", "personalization-import"], environment)).code).toBe(0);
  expect(await warnings()).toEqual([products, presentation]);
});

test.if(process.platform === "linux")("pds check says when connections of a shared port are lost", async () => {
  const migrates = await Bun.file("/proc/sys/net/ipv4/tcp_migrate_req")
    .text()
    .catch(() => "");
  const DATABASE_URL = await createStore("sqlite");
  const warningsOf = async (environment: Record<string, string>) =>
    JSON.parse((await pds(["check", "--json"], { DATABASE_URL, ...environment })).stdout).warnings;
  expect(await warningsOf({ REUSE_PORT: "on" })).toEqual(
    migrates.trim() === "1" ? [] : [expect.stringMatching(/^REUSE_PORT: .* net\.ipv4\.tcp_migrate_req to 1$/)],
  );
});

describe("pds init", () => {
  test("writes a file that pds check accepts, and never replaces one", async () => {
    const cwd = await temporaryFolder();
    const environment = { PDS_CONFIG: undefined };
    const { code } = await pds(["init", "--brand", 'A "B" \\ é', "--feed", feed], environment, cwd);
    expect(code).toBe(0);
    expect((await pds(["check"], environment, cwd)).code).toBe(0);
    const { settings } = JSON.parse((await pds(["config", "--json"], environment, cwd)).stdout);
    expect(settings).toContainEqual({ setting: "BRAND", value: 'A "B" \\ é', from: "file" });
    const written = await Bun.file(join(cwd, "pds.toml")).text();
    const again = await pds(["init"], environment, cwd);
    expect(again).toMatchObject({ code: 1, stderr: "pds: pds.toml exists already, and is not changed\n" });
    expect(await Bun.file(join(cwd, "pds.toml")).text()).toBe(written);
  });

  test("writes the file that PDS_CONFIG names, and says in a sentence why it cannot", async () => {
    const cwd = await temporaryFolder();
    expect(await pds(["init"], { PDS_CONFIG: "other.toml" }, cwd)).toMatchObject({ code: 0 });
    expect(existsSync(join(cwd, "other.toml"))).toBe(true);
    expect(await pds(["init"], { PDS_CONFIG: "missing/pds.toml" }, cwd)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^pds: cannot write missing\/pds\.toml: .+\n$/),
    });
  });

  test.each([
    ["--database-url", "postgres://user:secret@host/db", 0o600],
    ["--database-url", "postgres://user@host/db?password=secret", 0o600],
    ["--database-url", "postgres://user@host/db?sslmode=require", 0o644],
    ["--database-url", "postgres://user@host/db", 0o644],
    ["--database-url", "sqlite:data/store.sqlite", 0o644],
    ["--products", "https://user:secret@host/products.ndjson", 0o600],
  ])("writes the file for its owner only if it holds a password: %s %s", async (option, address, mode) => {
    const cwd = await temporaryFolder();
    const environment = { PDS_CONFIG: "pds.toml" };
    expect(await pds(["init", option, address], environment, cwd)).toMatchObject({ code: 0 });
    expect(statSync(join(cwd, "pds.toml")).mode & 0o777).toBe(mode);
  });

  test("refuses a wrong answer", async () => {
    const environment = { PDS_CONFIG: "pds.toml" };
    const { code, stderr } = await pds(["init", "--feed", "ftp://host/"], environment, await temporaryFolder());
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(/^pds: --feed: expected https/) });
  });
});

describe("for the shell", () => {
  /** What bash offers for the last of some words. */
  async function complete(...words: string[]): Promise<string[]> {
    const [script = ""] = await writeFiles(folder, { "pds.bash": await dataOf(["completions", "bash"]) });
    const program =
      // biome-ignore lint/suspicious/noTemplateCurlyInString: bash's
      'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pds; printf "%s\\n" "${COMPREPLY[@]}"';
    const child = Bun.spawn(["bash", "-c", program, "bash", script, "pds", ...words], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    return (await child.stdout.text()).trim().split("\n").toSorted();
  }

  test.each([
    [["ro"], ["rollback"]],
    [
      ["import", ""],
      ["personalization", "presentation", "products"],
    ],
    [["import", "personalization", "--f"], ["--force"]],
    [["history", "--l"], ["--limit"]],
    [
      ["brands", "remove", "--"],
      ["--help", "--json"],
    ],
    [["jobs", "--claimed"], [""]],
  ])("bash completes pds %j", async (words, offered) => {
    expect(await complete(...words)).toEqual(offered);
  });

  test("bash completes the names of files, with their spaces", async () => {
    const [file = ""] = await writeFiles(folder, { "all products.json": "[]" });
    expect(await complete("import", "products", join(folder, "all"))).toEqual([file]);
  });

  test("fish offers second words once, and then files", async () => {
    const script = await dataOf(["completions", "fish"]);
    expect(script).toContain(
      '-n "__fish_seen_subcommand_from import; and not __fish_seen_subcommand_from products personalization presentation" -f -a products',
    );
  });

  test.each(["constructor", "__proto__", "tcsh"])("there are no completions for %s", async (shell) => {
    expect(await pds(["completions", shell])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("expected one of"),
    });
  });

  test.each(["zsh", "fish"])("the script for %s names every command and option", async (shell) => {
    const script = await dataOf(["completions", shell]);
    for (const word of ["personalization", "history", "remove", "dry-run", "limit"]) expect(script).toContain(word);
    expect(script).not.toContain("claimed");
  });
});
