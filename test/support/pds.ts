import { afterAll } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { cleanUp } from "./clean-up.ts";
import { killOnExit } from "./kill-on-exit.ts";
import { createPostgresDatabase } from "./postgres.ts";
import { until } from "./until.ts";

export const root = Bun.fileURLToPath(new URL("../..", import.meta.url));
/** The program: the build of the test run, or the source when a test file runs alone. */
export const main = process.env.TEST_MAIN ?? join(root, "src", "main.ts");

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Environment of a process; undefined removes a variable. Nothing is inherited from the environment
 * of the test.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

const base: Environment = { PATH: process.env.PATH ?? "", HOME: tmpdir(), PDS_CONFIG: "/dev/null" };

/**
 * Most processes end before JIT compilation pays off, which took a seventh of the CPU, so it starts
 * later than by default (500).
 */
const lateCompilation: Environment = {
  BUN_JSC_thresholdForJITAfterWarmUp: "10000",
  BUN_JSC_thresholdForJITSoon: "2000",
};

/**
 * Runs a command until it exits.
 * @param wrapper the command that runs it, such as a shell
 */
export async function pds(
  args: readonly string[],
  environment: Environment = {},
  cwd = root,
  wrapper: readonly string[] = [],
): Promise<Finished> {
  const child = Bun.spawn([...wrapper, process.execPath, main, ...args], {
    cwd,
    env: { ...base, ...lateCompilation, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

/** Starts a command in a process group of its own, so that it can be killed together with its worker process. */
export const begin = (args: readonly string[], environment: Environment) =>
  Bun.spawn([process.execPath, main, ...args], {
    env: { ...base, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });

/** Kills a run and its supervisor, so that neither can record its end; the next run need not wait. */
export async function killRun({ pid, exited }: Bun.Subprocess, url: string): Promise<void> {
  process.kill(-pid, "SIGKILL");
  await exited;
  await endLeases(url);
}

/** A running service. It ends at `stop`, or at the end of an `await using` block. */
export interface RunningService extends AsyncDisposable {
  readonly url: string;
  readonly adminUrl: string;
  readonly process: Bun.Subprocess;
  /** Its standard error so far. */
  log(): string;
  get(path: string, init?: BunFetchRequestInit): Promise<Response>;
  stop(): Promise<void>;
}

/** Runs `pds serve` on free ports until the test stops it. */
export async function serve(environment: Environment = {}, cwd = root): Promise<RunningService> {
  const child = Bun.spawn([process.execPath, main, "serve"], {
    cwd,
    env: { ...base, ...lateCompilation, PORT: "0", ADMIN_PORT: "0", DRAIN_SECONDS: "0", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  killOnExit(child, "TERM");
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

/** Runs `pds serve` until the end of the tests that call this. */
export async function serveUntilEnd(environment: Environment): Promise<RunningService> {
  const service = await serve(environment);
  cleanUp(() => service.stop());
  return service;
}

/** Responses that are the same with and without a cache. */
export interface SameResponses {
  /**
   * The body at a path, from the store; waits until the cached response is the same.
   */
  text(path: string): Promise<string>;
}

/**
 * Runs two services on a store until the end of the test file: one without a cache and one with it.
 */
export async function serveWithAndWithoutCache(environment: Environment): Promise<SameResponses> {
  const services = await Promise.all([serve({ ...environment, MEMORY_MEGABYTES: "0" }), serve(environment)]);
  afterAll(() => Promise.all(services.map((service) => service.stop())));
  const [asked, remembered] = services.map(({ get }) => async (path: string) => {
    const response = await get(path);
    const text = await response.text();
    const reference = response.headers.get("x-request-id");
    // A failure quotes its request's reference, which differs each time.
    return reference === null ? text : text.replaceAll(reference, "REFERENCE");
  });
  return {
    text: async (path) => {
      let text = "";
      // On a busy machine, evicting what changed takes more than a second, and so may the store.
      await until(`the cached response at ${path} is the same`, async () => {
        text = (await asked?.(path)) ?? "";
        return (await remembered?.(path)) === text;
      });
      return text;
    },
  };
}

/** Creates a folder that is removed after the test file. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "pds-test-"));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes files into a folder. @returns their paths */
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

/** Whether this is a full campaign, which may take long: `npm run test:faults`. */
export const isCampaign = process.env.TEST_CAMPAIGN !== undefined;

/** Whether suites that name one engine run on both, as every night. */
export const runsOnBothEngines = isCampaign || process.env.TEST_BOTH_ENGINES !== undefined;

/**
 * The engines of a suite whose result hardly depends on the engine: the one that it names, and every
 * night both. It names PostgreSQL where locks and SQL matter.
 */
export const enginesOf = (engine: Engine): readonly Engine[] => (runsOnBothEngines ? engines : [engine]);

/**
 * The cases of a table for an engine, where the result hardly depends on the engine: two thirds run
 * on SQLite and one third on PostgreSQL, so that every case runs; every night, all run on both.
 */
export function casesFor<Case>(engine: Engine, cases: readonly Case[]): Case[] {
  return cases.filter((_, index) => runsOnBothEngines || (index % 3 === 0) === (engine === "postgres"));
}

/** URL of a new empty store, which is removed after the test file. */
export async function createStore(engine: Engine): Promise<string> {
  if (engine === "sqlite") return `sqlite:${join(await temporaryFolder(), "pds.sqlite")}`;
  const { url, drop } = await createPostgresDatabase();
  cleanUp(drop);
  return url;
}

/** Creates the tables of a store. */
export async function migrateStore(url: string): Promise<void> {
  await closeDatabase(await openDatabase(url));
}

/** URL of a new store with its tables. */
export async function createMigratedStore(engine: Engine): Promise<string> {
  const url = await createStore(engine);
  await migrateStore(url);
  return url;
}

/** A connection to a store on which SQLite waits, as PostgreSQL does, while another process writes. */
export async function connectTo(url: string): Promise<SQL> {
  const sql = new SQL(url, { max: 1 });
  if (url.startsWith("sqlite:")) await sql`PRAGMA busy_timeout = 30000`;
  return sql;
}

/** Runs a statement on a connection of its own. @returns its rows */
export async function queryStore<Row = Record<string, unknown>>(url: string, statement: string): Promise<Row[]> {
  await using sql = await connectTo(url);
  return [...(await sql.unsafe<Row[]>(statement))];
}

/** Ends the leases of killed runs, so that the next run need not wait for them to expire. */
export async function endLeases(url: string): Promise<void> {
  await using sql = await connectTo(url);
  await sql`UPDATE run SET lease_until = '' WHERE finished_at IS NULL`;
}
