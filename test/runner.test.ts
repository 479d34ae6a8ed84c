import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { temporaryFolder, writeFiles } from "./support/pds.ts";
import { type Outcome, runAndRepeat } from "./support/run-files.ts";

/** A test that a busy machine may break, since it starts a process. */
const startsProcess = 'Bun.spawnSync(["true"]);';
/** Adds a file to the folder for each run of a test file. */
const countRun = 'await Bun.write("run-" + crypto.randomUUID(), "");';
/** Fails in the first run only. */
const failsOnce = `${countRun} test("answers", () => expect([...new Bun.Glob("run-*").scanSync()]).not.toHaveLength(1));`;

async function runFixture(
  files: Readonly<Record<string, string>>,
  runTimeoutMs = 120_000,
): Promise<Outcome & { readonly runs: number }> {
  const folder = await temporaryFolder();
  const head = 'import { afterAll, describe, expect, test } from "bun:test";';
  await writeFiles(
    folder,
    Object.fromEntries(Object.entries(files).map(([name, text]) => [name, `${head}\n${text}\n`])),
  );
  const outcome = await runAndRepeat(Object.keys(files), {
    root: folder,
    parallel: 3,
    testTimeoutMs: 60_000,
    runTimeoutMs,
    print: () => {},
  });
  return { ...outcome, runs: readdirSync(folder).filter((name) => name.startsWith("run-")).length };
}

const passes = 'test("passes", () => {});';

describe("a run is red if a test file", () => {
  const faults: [fault: string, text: string, error: string | RegExp][] = [
    ["expects another value", 'describe("<a>", () => test("is & is", () => expect(1).toBe(2)));', /Received: 1/],
    ["ends its process", 'test("exits", () => process.exit(1));', /crashed/],
    ["ends its process with success", 'test("exits", () => process.exit(0)); test("never runs", () => {});', /crashed/],
    [
      "rejects between tests",
      `${passes} afterAll(async () => { Promise.reject(new Error("late")); await Bun.sleep(50); });`,
      /late/,
    ],
    ["rejects while it loads", `Promise.reject(new Error("early")); ${passes}`, /early|did not run/],
    ["throws while it loads", 'throw new Error("early");', /early|did not run/],
    ["imports a missing file", 'import "./missing.ts";', /missing|did not run/],
    ["has no test", "", /did not run/],
    ["waits for ever", 'test("waits", () => new Promise(() => {}), 100);', /timed out/],
    ["fails after its tests", `${passes} afterAll(() => { throw new Error("cleaning up"); });`, /cleaning up/],
  ];

  test.each(faults)("%s", async (_, text, error) => {
    const { failures, unstable } = await runFixture({ "a.test.ts": passes, "b.test.ts": startsProcess + text });
    expect(failures.map(({ file }) => file)).toContain("b.test.ts");
    expect(failures.map((failure) => failure.error).join("\n")).toMatch(error);
    expect(unstable).toEqual([]);
  });

  test("never returns", async () => {
    const { failures } = await runFixture({ "a.test.ts": 'test("loops", () => { for (;;); });' }, 3000);
    expect(failures).not.toBeEmpty();
  });
});

describe("a test file that fails only the first time", () => {
  test("leaves the run green, and is listed as unstable with its first error", async () => {
    const { failures, unstable, runs } = await runFixture({
      "a.test.ts": passes,
      "b.test.ts": startsProcess + failsOnce,
    });
    expect({ failures, runs }).toEqual({ failures: [], runs: 2 });
    expect(unstable).toMatchObject([
      { file: "b.test.ts", test: "answers", error: expect.stringContaining("toHaveLength") },
    ]);
  });

  test.each([
    ["it starts nothing that a busy machine delays", { "b.test.ts": failsOnce }],
    ["it kills and repeats at random", { "kills.test.ts": startsProcess + failsOnce }],
    [
      "it is one of more than three",
      Object.fromEntries(
        [1, 2, 3, 4].map((number) => [`${number}.test.ts`, `${startsProcess} test("x", () => expect(1).toBe(2));`]),
      ),
    ],
  ])("is red at once if %s", async (_, files) => {
    const { failures, unstable, runs } = await runFixture(files);
    expect(failures).toHaveLength(Object.keys(files).length);
    expect(unstable).toEqual([]);
    expect(runs).toBeLessThanOrEqual(1);
  });
});
