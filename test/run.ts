import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPostgres } from "./support/postgres.ts";
import { type Failure, runAndRepeat, runFiles } from "./support/run-files.ts";

// npm test [-- [--nightly] [PATH …] [OPTION …]]
// npm run test:faults -- [--short] [NAME …]
//
// Starts one PostgreSQL for all test files; each test creates its own database. Also bundles the
// program into one file, because the tests start it a thousand times, and the bundle starts twice
// as fast. Other options are those of `bun test`.
const root = Bun.fileURLToPath(new URL("..", import.meta.url));
const ownOptions = ["--campaigns", "--short", "--nightly"] as const;
const given = new Set(process.argv.slice(2));
const [isCampaign, isShort, isNightly] = ownOptions.map((option) => given.delete(option));
const flags = [...given].filter((argument) => argument.startsWith("-"));
const names = [...given].filter((argument) => !argument.startsWith("-"));

const all = ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"]
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)])
  .sort();
const campaigns = all.filter((file) => file.startsWith(join("test", "campaigns")));

/** Run after all others, each alone: they measure what the machine can do. */
const needTheMachine = /\/(capacity|proof|soak)\.test\.ts$/;

/** How much a full campaign does. */
const fullCampaign = {
  BODY_SKUS: "1000000",
  CAPACITY_SECONDS: "600",
  DELIVERIES: "100000",
  DELIVERY_KILLS: "20",
  FAULT_KILLS: "100",
  FAULT_TICKS: "300",
  FUZZ_REQUESTS: "1000000",
  SOAK_SECONDS: "600",
  STORM_LOOKUPS: "1000",
  TEST_CAMPAIGN: "1",
  TRUTH_SECONDS: "600",
};

async function listFiles(): Promise<string[]> {
  if (!isCampaign) return names.length === 0 ? all.filter((file) => !campaigns.includes(file)) : findPaths();
  if (names.length > 0) return names.flatMap(findCampaign);
  const texts = await Promise.all(all.map((file) => Bun.file(join(root, file)).text()));
  // Some other files do more in a full campaign.
  return all.filter((file, index) => campaigns.includes(file) || (!isShort && texts[index]?.includes("isCampaign")));
}

function findPaths(): string[] {
  for (const name of names) if (!all.some((file) => file.includes(name))) stop(`no test file matches ${name}`);
  return all.filter((file) => names.some((name) => file.includes(name)));
}

function findCampaign(name: string): string[] {
  const found = all.filter((file) => file.endsWith(`/${name}.test.ts`) || file.includes(`/campaigns/${name}/`));
  return found.length > 0 ? found : stop(`no campaign has the name ${name}`);
}

/** A program that is missing is no reason to leave out a test. */
async function findUnexpectedSkips(skipped: readonly string[]): Promise<Failure[]> {
  const list = join("test", "campaigns", "expected-skips.json");
  const { short, always }: Record<"short" | "always", string[]> = await Bun.file(join(root, list)).json();
  const expected = [...(isShort ? short : []), ...always].map(
    (pattern) => new RegExp(`^${pattern.split("*").map(RegExp.escape).join(".*")}$`, "s"),
  );
  return skipped
    .filter((test) => !expected.some((pattern) => pattern.test(test)))
    .map((test) => ({ file: test, test: "skipped", error: `it is not in ${list}` }));
}

function stop(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

const files = await listFiles();
const folder = await mkdtemp(join(tmpdir(), "pds-tests-"));
const postgres = await createPostgres();
try {
  const built = await Bun.build({
    entrypoints: [join(root, "src", "main.ts")],
    outdir: folder,
    target: "bun",
    format: "cjs",
    bytecode: true,
  });
  if (!built.success) throw new AggregateError(built.logs, "building the program failed");
  const options = {
    root,
    // Tests mostly wait. Campaigns keep the cores busy, and some show their faults by what is slow.
    parallel: isCampaign ? 4 : 6,
    testTimeoutMs: Number(process.env.TEST_TIMEOUT_MS ?? (isCampaign && !isShort ? 3_600_000 : 300_000)),
    runTimeoutMs: isCampaign ? 86_400_000 : 2_400_000,
    // The slowest files start first, so that none of them is left running alone at the end.
    flags: [`--timings=${join(root, "test", "timings.json")}`, ...flags],
    env: {
      TEST_POSTGRES_URL: postgres.url,
      TEST_MAIN: join(folder, "main.js"),
      ...(isNightly && { TEST_BOTH_ENGINES: "1" }),
      ...(isCampaign && (isShort ? { TEST_SHORT_CAMPAIGN: "1" } : { ...fullCampaign, ...process.env })),
    },
    print: (text: string) => process.stderr.write(text),
  };
  // Campaigns cause faults, and their failures are read by a person: nothing is repeated.
  const failures: Failure[] = [];
  const unstable: Failure[] = [];
  const skipped: string[] = [];
  const groups = [
    files.filter((file) => !needTheMachine.test(file)),
    ...files.filter((file) => needTheMachine.test(file)).map((file) => [file]),
  ].filter(({ length }) => length > 0);
  for (const group of groups) {
    if (isCampaign || isNightly) {
      const report = await runFiles(group, options);
      failures.push(...report.failures);
      skipped.push(...report.skipped);
    } else {
      const outcome = await runAndRepeat(group, options);
      failures.push(...outcome.failures);
      unstable.push(...outcome.unstable);
    }
  }
  // One that names tests skips the others.
  if (isCampaign && flags.length === 0) failures.push(...(await findUnexpectedSkips(skipped)));
  // A log of CI has thousands of lines, and some show only its end.
  for (const { file, test, error } of failures) process.stderr.write(`\nFAILED ${file} > ${test}\n${error}\n`);
  for (const { file, test, error } of unstable) {
    process.stderr.write(`\nunstable: ${file} > ${test} passed only when it ran alone\n${error}\n`);
  }
  process.exitCode = failures.length === 0 ? 0 : 1;
} finally {
  await postgres.remove();
  await rm(folder, { recursive: true, force: true });
}
