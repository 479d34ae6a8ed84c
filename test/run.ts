import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPostgres } from "./support/postgres.ts";

// Starts one PostgreSQL for all test files; each test creates its own database. Also bundles the
// program into one file, because the tests start it a thousand times, and the bundle starts twice
// as fast.
const asked = process.argv.slice(2);
/** Measures how long each file takes, in `test/timings.json`. */
const measures = asked.length === 1 && asked[0] === "--update-timings";
/** By default everything but the campaigns, which take long: `npm run test:faults`. */
const files = asked.length > 0 && !measures ? asked : [...listTests(), ...asked];
const folder = await mkdtemp(join(tmpdir(), "pds-tests-"));
const postgres = await createPostgres();
try {
  const built = await Bun.build({
    entrypoints: [Bun.fileURLToPath(new URL("../src/main.ts", import.meta.url))],
    outdir: folder,
    target: "bun",
    format: "cjs",
    bytecode: true,
  });
  if (!built.success) throw new AggregateError(built.logs, "building the program failed");
  const tests = Bun.spawn(
    [
      process.execPath,
      "test",
      // Tests mostly wait. Campaigns keep the cores busy, and some show their faults by what is slow.
      `--parallel=${(process.env.TEST_SHORT_CAMPAIGN ?? process.env.TEST_CAMPAIGN) ? 4 : 6}`,
      "--max-concurrency=4",
      // The slowest files start first, so that none of them is left running alone at the end.
      `--timings=${Bun.fileURLToPath(new URL("timings.json", import.meta.url))}`,
      `--timeout=${process.env.TEST_TIMEOUT_MS ?? 180_000}`,
      ...files,
    ],
    {
      env: { ...process.env, TEST_POSTGRES_URL: postgres.url, TEST_MAIN: join(folder, "main.js") },
      stdio: ["ignore", "inherit", process.stderr.isTTY ? "inherit" : "pipe"],
    },
  );
  const failures = tests.stderr === undefined ? [] : await passOn(tests.stderr);
  process.exitCode = await tests.exited;
  // A log of CI has thousands of lines, and some show only its end.
  if (failures.length > 0) process.stderr.write(`\nwhy they failed:\n\n${failures.join("\n\n")}\n`);
} finally {
  await postgres.remove();
  await rm(folder, { recursive: true, force: true });
}

/** Prints what the test runner prints. @returns what it says about each failed test */
async function passOn(printed: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string[]> {
  const failures: string[] = [];
  let report: string[] = [];
  let rest = "";
  for await (const chunk of printed.pipeThrough(new TextDecoderStream())) {
    process.stderr.write(chunk);
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      report.push(line);
      // The runner's summary repeats the names without the reasons.
      if (line.startsWith("(fail) ") && report.length > 1) failures.push(report.join("\n"));
      if (/^\((pass|fail|skip|todo)\) |^\S+\.test\.ts:$|tests failed:$/.test(line)) report = [];
    }
  }
  return failures;
}

function listTests(): string[] {
  const root = Bun.fileURLToPath(new URL("..", import.meta.url));
  const found = ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"].flatMap((pattern) => {
    const files = [...new Bun.Glob(pattern).scanSync(root)];
    // Without a file to run, the runner would run every test that it finds.
    if (files.length === 0) throw new Error(`no test file matches ${pattern}`);
    return files;
  });
  return found.filter((file) => !file.startsWith(join("test", "campaigns"))).sort();
}
