import { afterAll } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { leash } from "./leash.ts";
import { createPostgresDatabase } from "./postgres.ts";
import { untilEqual } from "./until.ts";

export const root = Bun.fileURLToPath(new URL("../..", import.meta.url));
/** The program: as the test run has built it, or, when a test file is run alone, its source. */
export const main = process.env.TEST_MAIN ?? join(root, "src", "main.ts");

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a test gives a process, undefined to take something away; nothing of the surrounding environment gets in. */
export type Environment = Readonly<Record<string, string | undefined>>;

const base: Environment = { PATH: process.env.PATH ?? "", HOME: tmpdir(), PDS_CONFIG: "/dev/null" };

/** A command mostly has ended before it is worth to compile what it runs, which took a seventh of the CPU: it begins later (500). */
const compiledLate: Environment = { BUN_JSC_thresholdForJITAfterWarmUp: "10000", BUN_JSC_thresholdForJITSoon: "2000" };

/** Runs the command line to its end. */
export async function pds(args: readonly string[], environment: Environment = {}, cwd = root): Promise<Finished> {
  const child = Bun.spawn([process.execPath, main, ...args], {
    cwd,
    env: { ...base, ...compiledLate, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

/** Ends at its `stop`, or, when held by `await using`, at the end of the block. */
export interface RunningService extends AsyncDisposable {
  readonly url: string;
  readonly adminUrl: string;
  readonly process: Bun.Subprocess;
  /** All that it has said on standard error so far. */
  log(): string;
  get(path: string, init?: BunFetchRequestInit): Promise<Response>;
  stop(): Promise<void>;
}

/** Runs `pds serve` on free ports until the test stops it. */
export async function serve(environment: Environment = {}, cwd = root): Promise<RunningService> {
  const child = Bun.spawn([process.execPath, main, "serve"], {
    cwd,
    env: { ...base, PORT: "0", ADMIN_PORT: "0", DRAIN_SECONDS: "0", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  leash(child, "TERM");
  let said = "";
  const logged = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) said += chunk;
  })();
  let printed = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    printed += chunk;
    if (printed.includes("Admin")) break;
  }
  const url = printed.match(/^Public\s+(\S+)\/api\/v1$/m)?.[1];
  const adminUrl = printed.match(/^Admin\s+(\S+)$/m)?.[1];
  if (url === undefined || adminUrl === undefined) {
    await logged;
    throw new Error(`pds serve printed no address: ${printed}${said}`);
  }
  const stop = async () => {
    child.kill("SIGTERM");
    await Promise.all([child.exited, logged]);
  };
  return {
    url,
    adminUrl,
    process: child,
    log: () => said,
    get: (path, init) => fetch(`${url}${path}`, init),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** What is stored, as it is answered. */
export interface Answering {
  /** The body at a path: as the store has it now, and within a second as a service answers it that remembers. */
  text(path: string): Promise<string>;
}

/** Runs two services on a store to the end of the test file: one that asks the store each time, and one that remembers. */
export async function serveAgreeing(environment: Environment): Promise<Answering> {
  const services = await Promise.all([serve({ ...environment, MEMORY_MEGABYTES: "0" }), serve(environment)]);
  afterAll(() => Promise.all(services.map((service) => service.stop())));
  const [asked, remembered] = services.map(({ get }) => async (path: string) => {
    const response = await get(path);
    // A failure quotes its request's reference, which differs each time.
    return (await response.text()).replaceAll(response.headers.get("x-request-id") ?? "", "REFERENCE");
  });
  return {
    text: async (path) => {
      const text = (await asked?.(path)) ?? "";
      await untilEqual(async () => (await remembered?.(path)) ?? "", text);
      return text;
    },
  };
}

/** A folder that is removed after the test file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "pds-test-"));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes files below a folder. @returns their paths */
export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<string[]> {
  const paths = Object.keys(files).map((name) => join(folder, name));
  await Promise.all(Object.values(files).map((content, index) => writeFile(paths[index] ?? "", content)));
  return paths;
}

export const engines = ["sqlite", "postgres"] as const;
export type Engine = (typeof engines)[number];

/** Whether everything is to be tried, however long it takes: `npm run test:faults`. */
export const isCampaign = process.env.TEST_CAMPAIGN !== undefined;

/** The engines of suites that take long: `npm test` tries one, the short campaigns of CI the other, whole campaigns both. */
export const enginesInTurn: readonly Engine[] = isCampaign
  ? engines
  : [process.env.TEST_SHORT_CAMPAIGN === undefined ? "sqlite" : "postgres"];

/**
 * The cases of a table that an engine gets where what they try does not depend on it: of each three two on the one and the third
 * on the other, so that every case is tried; in a campaign all on both.
 */
export function casesFor<Case>(engine: Engine, cases: readonly Case[]): Case[] {
  return cases.filter((_, index) => isCampaign || (index % 3 === 0) === (engine === "postgres"));
}

/** The address of a new empty store, which is removed after the test file. */
export async function createStore(engine: Engine): Promise<string> {
  if (engine === "sqlite") return `sqlite:${join(await temporaryFolder(), "pds.sqlite")}`;
  const { url, drop } = await createPostgresDatabase();
  afterAll(drop);
  return url;
}

/** What otherwise time does: ends the leases of the runs whose processes were killed, so that the next need not wait for that. */
export async function endLeases(url: string): Promise<void> {
  await using sql = new SQL(url, { max: 1 });
  // What was killed may hold its lock for another moment.
  if (url.startsWith("sqlite:")) await sql`PRAGMA busy_timeout = 5000`;
  await sql`UPDATE run SET lease_until = '' WHERE finished_at IS NULL`;
}
