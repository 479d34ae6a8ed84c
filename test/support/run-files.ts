import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** What went wrong in a test file. */
export interface Failure {
  /** Relative to the folder of the run. */
  readonly file: string;
  /** Empty if it is not about one test. */
  readonly test: string;
  readonly error: string;
}

export interface Report {
  readonly failures: readonly Failure[];
  /** `FILE > TEST` of each test that was skipped. */
  readonly skipped: readonly string[];
}

export interface Options {
  /** Folder to which the paths of files are relative. */
  readonly root: string;
  /** How many files run at the same time. */
  readonly parallel: number;
  readonly testTimeoutMs: number;
  /** Ends a run that would never end: an endless loop has no time limit of its own. */
  readonly runTimeoutMs: number;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Gets what the test runner prints. */
  readonly print: (text: string) => void;
}

/** Runs test files. A file is reported as failed, too, if it crashed, did not run, or left an unhandled error. */
export async function runFiles(files: readonly string[], options: Options): Promise<Report> {
  const { root, parallel, testTimeoutMs, runTimeoutMs, flags = [], env = {}, print } = options;
  const folder = await mkdtemp(join(tmpdir(), "pds-report-"));
  const path = join(folder, "report.xml");
  const child = Bun.spawn(
    [
      ...[process.execPath, "test", `--timeout=${testTimeoutMs}`, "--max-concurrency=4"],
      ...(files.length > 1 ? [`--parallel=${parallel}`] : []),
      ...["--reporter=junit", `--reporter-outfile=${path}`],
      ...flags,
      // Without a leading dot, a path is a pattern that other files may match.
      ...files.map((file) => `./${file}`),
    ],
    { cwd: root, env: { ...process.env, ...env }, stdio: ["ignore", "inherit", "pipe"], timeout: runTimeoutMs },
  );
  let printed = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    print(text);
    printed += text;
  }
  const code = await child.exited;
  const report = existsSync(path) ? readFileSync(path, "utf8") : "";
  await rm(folder, { recursive: true });

  const { ran, failures, skipped } = readReport(report);
  failures.push(...findUnhandledErrors(printed, files));
  for (const file of files) if (!ran.has(file)) failures.push({ file, test: "", error: "the file did not run" });
  if (code !== 0 && failures.length === 0) {
    failures.push({ file: "", test: "", error: `the test runner exited with ${code}` });
  }
  return { failures, skipped };
}

/** Reads a report in the format of JUnit. */
function readReport(xml: string) {
  const ran = new Set<string>();
  const failures: Failure[] = [];
  const skipped: string[] = [];
  const cases = xml.matchAll(/<testcase((?: \w+="[^"]*")*) *(?:\/>|>(.*?)<\/testcase>)/gs);
  for (const [, attributes = "", content = ""] of cases) {
    const of = Object.fromEntries(
      [...attributes.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value = ""]) => [name, unescapeXml(value)]),
    );
    const { file = "", classname = "", name = "" } = of;
    const test = [classname, name].filter((part) => part !== "").join(" > ");
    ran.add(file);
    const [, message = "", details = ""] =
      content.match(/<failure[^>]*? message="([^"]*)" *(?:\/>|>(.*?)<\/failure>)/s) ?? [];
    if (content.includes("<failure")) failures.push({ file, test, error: unescapeXml(details || message).trim() });
    if (content.includes("<skipped")) skipped.push(`${file} > ${test}`);
  }
  return { ran, failures, skipped };
}

const unescapeXml = (text: string) =>
  text
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");

/**
 * Finds errors outside of tests, which the report leaves out. The test runner prints one below the
 * heading of its file; but one that ends at the same time may put its own heading between them, so
 * the file that the error names counts first.
 */
function findUnhandledErrors(printed: string, files: readonly string[]): Failure[] {
  const failures: Failure[] = [];
  let heading = "";
  let block: string[] | undefined;
  for (const line of printed.split("\n")) {
    if (block === undefined) {
      const [, file] = line.match(/^(\S+):$/) ?? [];
      if (file !== undefined && files.includes(file)) heading = file;
      if (line === "# Unhandled error between tests") block = [];
      continue;
    }
    if (!/^-{20,}$/.test(line)) {
      block.push(line);
      continue;
    }
    if (block.length === 0) continue;
    const error = `unhandled error between tests\n${block.join("\n")}`;
    const named = files.filter((file) => error.includes(`/${file}:`) || error.includes(`/${file}'`));
    for (const file of named.length > 0 ? named : [heading]) failures.push({ file, test: "", error });
    block = undefined;
  }
  return failures;
}

/** More files than this do not fail by chance. */
const maxRepeatedFiles = 3;
/** They kill, repeat, and reorder at random what must not lose anything: a failure is never an accident. */
const neverRepeated = /(^|\/)(kills|deliveries|generations|fuzz)\.test\.ts$/;

/** The failures of a run, of which some may be unstable: their files passed when each ran alone. */
export interface Outcome extends Report {
  readonly unstable: readonly Failure[];
}

/**
 * Runs test files, and those that failed once more, each alone, if a busy machine may be the cause:
 * at most three files, which start a process, a server, or a browser. Bun's own `--retry` lets a test
 * that was retried pass without a word.
 */
export async function runAndRepeat(files: readonly string[], options: Options): Promise<Outcome> {
  const { failures, skipped } = await runFiles(files, options);
  const failed = [...new Set(failures.map(({ file }) => file))];
  const isRepeated =
    failed.length <= maxRepeatedFiles &&
    failed.every((file) => file !== "" && !neverRepeated.test(file) && startsAnything(join(options.root, file)));
  if (!isRepeated) return { failures, skipped, unstable: [] };
  const failedAgain: Failure[] = [];
  for (const file of failed) failedAgain.push(...(await runFiles([file], options)).failures);
  const isRed = ({ file }: Failure) => failedAgain.some((again) => again.file === file);
  return {
    failures: [...failures.filter(isRed), ...failedAgain],
    skipped,
    unstable: failures.filter((failure) => !isRed(failure)),
  };
}

/** Whether a test file, or a file of the tests that it imports, starts a process, a server, or a browser. */
function startsAnything(path: string, seen = new Set<string>()): boolean {
  if (seen.has(path) || !existsSync(path)) return false;
  seen.add(path);
  const text = readFileSync(path, "utf8");
  if (/\b(Bun\.(spawn|spawnSync|serve|listen)|spawn|createServer|launch)\(|\bawait \$`|new Worker\(/.test(text)) {
    return true;
  }
  const imported = [...text.matchAll(/\bfrom "(\.[^"]*)"/g)].map(([, name = ""]) => join(dirname(path), name));
  return imported.some((file) => file.includes("/test/") && startsAnything(file, seen));
}
