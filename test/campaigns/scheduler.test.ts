import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toJson } from "../../src/base/json.ts";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { toProduct } from "../support/catalog.ts";
import { writeFeed } from "../support/feed.ts";
import {
  begin,
  connectTo,
  type Engine,
  type Environment,
  type Finished,
  pds,
  type RunningService,
  serve,
  writeFiles,
} from "../support/pds.ts";
import { createPostgresDatabase } from "../support/postgres.ts";
import { startServer } from "../support/server.ts";
import { canSeeProcesses, childrenOf, isAlive } from "../support/service-process.ts";
import { startSilence } from "../support/silence.ts";
import { until } from "../support/until.ts";

// Real services on real stores in real time. The tests mostly wait, so they run concurrently.
/** With more concurrent tests, the processors would be too busy to keep the timing. */
const mostWorlds = 4;
const { concurrent } = test;
/** Tests that must find child processes are skipped on systems without /proc. */
const withProcesses = concurrent.skipIf(!canSeeProcesses);
const longMs = 180_000;
setDefaultTimeout(longMs);

const brand = "acme";
const everySecond = 'schedule = "* * * * * *"';
const shortLease = "lease_seconds = 4";

const silence = startSilence();
const hangingPlatform = `
  shopify_access_token = "token"
  shopify_api_url = "${silence.url.origin}"`;

interface Run {
  readonly id: number;
  readonly job: string;
  readonly brand: string;
  readonly scheduledAt: string | null;
  readonly attempt: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly log: string | null;
}

/** A store with settings. Disposal stops its services and removes it. */
interface World extends AsyncDisposable {
  readonly environment: Environment;
  start(): Promise<RunningService>;
  /**
   * In the order in which they began. One whose process has just ended may still be told why, and
   * what that said last.
   */
  runs(): Promise<Run[]>;
  /** Stops its services. @returns all runs, to which nothing is added any more */
  stop(): Promise<Run[]>;
}

let worlds = 0;

/**
 * @param settings the file of settings, without those that every world has
 * @param past jobs with a successful run, without which their first runs would come at once
 */
async function createWorld(
  engine: Engine,
  settings: string | ((folder: string) => Promise<string>),
  past: readonly string[] = [],
): Promise<World> {
  await until("it is its turn", () => worlds < mostWorlds, longMs);
  worlds++;
  const folder = await mkdtemp(join(tmpdir(), "pds-test-"));
  const own = engine === "postgres" ? await createPostgresDatabase() : undefined;
  const url = own?.url ?? `sqlite:${join(folder, "pds.sqlite")}`;
  const general = `brand = "${brand}"\nshop_domain = "shop.example"\n`;
  const special = typeof settings === "string" ? settings : await settings(folder);
  const [config = ""] = await writeFiles(folder, { "pds.toml": general + special });
  const environment = { PDS_CONFIG: config, DATABASE_URL: url };
  const services: RunningService[] = [];
  const sql = await connectTo(url);
  if (past.length > 0) {
    await closeDatabase(await openDatabase(url));
    const at = new Date().toISOString();
    for (const job of past) {
      await sql`INSERT INTO run (job, brand, started_at, finished_at, outcome)
        VALUES (${job}, ${brand}, ${at}, ${at}, 'succeeded')`;
    }
  }
  const runs = async () => {
    const all = await sql<Run[]>`
      SELECT id, job, brand, scheduled_at AS ${sql("scheduledAt")}, attempt, started_at AS ${sql("startedAt")},
        finished_at AS ${sql("finishedAt")}, outcome, reason, log
      FROM run ORDER BY started_at, id`;
    return all.slice(past.length);
  };
  const stop = () => Promise.all(services.map((service) => service.stop()));
  return {
    environment,
    runs,
    stop: async () => {
      await stop();
      return await runs();
    },
    start: async () => {
      const service = await serve(environment);
      services.push(service);
      return service;
    },
    [Symbol.asyncDispose]: async () => {
      await stop();
      await sql.close();
      await own?.drop();
      await rm(folder, { recursive: true, force: true });
      worlds--;
    },
  };
}

/** Waits until a job has a number of finished runs, and returns them. */
async function ended({ runs }: World, count: number, which: Partial<Run> = {}): Promise<Run[]> {
  let found: Run[] = [];
  await until(`${count} runs have ended`, async () => {
    found = (await runs()).filter((run) => run.finishedAt !== null && matches(run, which));
    return found.length >= count;
  });
  return found;
}

/** Waits for a current run of a job, and returns the newest. */
async function underWay({ runs }: World, which: Partial<Run> = {}): Promise<Run> {
  let found: Run | undefined;
  await until("a run is under way", async () => {
    found = (await runs()).findLast((run) => run.finishedAt === null && matches(run, which));
    return found !== undefined;
  });
  return found as Run;
}

const matches = (run: Run, which: Partial<Run>) =>
  Object.entries(which).every(([key, value]) => run[key as keyof Run] === value);

const findRun = async (world: World, { id }: Run) => (await world.runs()).find((run) => run.id === id);

const secondsOf = ({ startedAt, finishedAt }: Run) => (Date.parse(finishedAt ?? "") - Date.parse(startedAt)) / 1000;

/** Checks that no run starts before its time, or before the previous run has finished. */
function expectInTurn(runs: readonly Run[]): void {
  for (const [index, { startedAt, scheduledAt }] of runs.entries()) {
    expect(startedAt >= (scheduledAt ?? "")).toBe(true);
    expect(startedAt >= (runs[index - 1]?.finishedAt ?? "")).toBe(true);
  }
}

/** The command line of a process; empty if it has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

/** Waits for the child process of a run. */
async function processOf({ id }: Run, { process: { pid } }: RunningService): Promise<number> {
  let found: number | undefined;
  await until("the run has its process", () => {
    found = childrenOf(pid).find((child) => commandOf(child).includes(` --claimed ${id} `));
    return found !== undefined;
  });
  return found as number;
}

const isGone = (pid: number) => until("the process is gone", () => !isAlive(pid));

async function kill(service: RunningService): Promise<void> {
  service.process.kill("SIGKILL");
  await service.process.exited;
}

const linesOf = (service: { log(): string }) =>
  service
    .log()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const hangingSync = `${hangingPlatform}\n[jobs.catalog-sync]\n${everySecond}\n`;
const syncedBefore = ["catalog-sync"];

describe("a run that hangs", () => {
  withProcesses("is killed if it ignores SIGTERM, and keeps its lease until then", async () => {
    await using world = await createWorld("postgres", `${shortLease}${hangingSync}limit_seconds = 1`, syncedBefore);
    const service = await world.start();
    const first = await underWay(world);
    const pid = await processOf(first, service);
    // A stopped process does not receive SIGTERM, only SIGKILL.
    process.kill(pid, "SIGSTOP");
    await isGone(pid);
    await ended(world, 1);
    await underWay(world);
    const [run, next] = await world.stop();
    expect(run).toMatchObject({ id: first.id, outcome: "failed", reason: "it exceeded its time limit of 1 s" });
    expect(secondsOf(run as Run)).toBeGreaterThan(10.9);
    expect((next?.startedAt ?? "") >= (run?.finishedAt ?? "~")).toBe(true);
  });
});

describe("a run whose processes are killed", () => {
  withProcesses("is abandoned when its service is killed, also beside other runs", async () => {
    await using world = await createWorld("sqlite", `${hangingSync}[jobs.catalog-reconcile]\n${everySecond}`, [
      ...syncedBefore,
      "catalog-reconcile",
    ]);
    const service = await world.start();
    const runs = await Promise.all(["catalog-sync", "catalog-reconcile"].map((job) => underWay(world, { job })));
    const pids = await Promise.all(runs.map((run) => processOf(run, service)));
    await kill(service);
    await Promise.all(pids.map((pid) => isGone(pid)));
    for (const run of runs) {
      const reason = "its parent process exited";
      expect(await findRun(world, run)).toMatchObject({ outcome: "abandoned", reason });
    }
    await world.start();
    for (const { job } of runs) await underWay(world, { job });
  });

  withProcesses("while its service lives fails, and the next run starts", async () => {
    await using world = await createWorld("postgres", hangingSync, syncedBefore);
    const service = await world.start();
    const first = await underWay(world);
    process.kill(await processOf(first, service), "SIGKILL");
    await ended(world, 1);
    await underWay(world);
    const [run] = await world.stop();
    expect(run).toMatchObject({ id: first.id, outcome: "failed", reason: "its process was killed by SIGKILL" });
  });
});

describe("a scheduled time during a manual run", () => {
  concurrent.each([
    ["has its run as soon as that has ended", "once", "sqlite"],
    ["is left out", "skip", "postgres"],
  ] as const)("%s, where missed = %p, on %s", async (_, missed, engine) => {
    const settings = async (folder: string) => `
        [jobs.personalization-import]
        source = "${await writeFeed(folder, "feed")}"
        schedule = "*/3 * * * * *"
        missed = "${missed}"`;
    await using world = await createWorld(engine, settings, ["personalization-import"]);
    const byHand = begin(["import", "personalization", silence.url.href], world.environment);
    const hanging = await underWay(world);
    await world.start();
    // By then the scheduler has started.
    const due = Math.ceil((Date.now() + 1000) / 3000) * 3000;
    await until("a time of the schedule has passed", () => Date.now() > due + 500);
    expect(await world.runs()).toEqual([expect.objectContaining({ id: hanging.id, outcome: null })]);
    byHand.kill("SIGTERM");
    await byHand.exited;
    await ended(world, 2);
    const runs = await world.stop();
    expectInTurn(runs);
    const [first, next] = runs;
    const reason = "stopped by SIGTERM";
    expect(first).toMatchObject({ id: hanging.id, scheduledAt: null, outcome: "failed", reason });
    expect(next).toMatchObject({ outcome: "succeeded", log: null });
    const isOfAPastTime = (next?.scheduledAt ?? "~") <= (first?.finishedAt ?? "");
    expect(isOfAPastTime).toBe(missed === "once");
  });
});

const many = Array.from({ length: 50 }, (_, index) => `brand-${index}`);

concurrent(
  "fifty brands on one schedule all succeed at each of its times, on two replicas and a server for a hundred clients",
  async () => {
    const settings = async (folder: string) => {
      const source = await writeFeed(folder, "feed");
      const tables = many.map(
        (each) => `
          [[jobs.personalization-import]]
          brand = "${each}"
          source = "${source}"
          settle_seconds = 0
          schedule = "*/30 * * * * *"`,
      );
      return tables.join("\n");
    };
    await using world = await createWorld("postgres", settings);
    await Promise.all([world.start(), world.start()]);
    // The first run of each brand, and two on schedule.
    const runs = await ended(world, 3 * many.length);
    expect(runs.filter(({ outcome }) => outcome !== "succeeded")).toEqual([]);
    for (const each of many) expectInTurn(runs.filter((run) => run.brand === each));
    expect(new Set(runs.map((run) => run.brand)).size).toBe(many.length);
  },
);

describe("external monitors", () => {
  const calls: string[] = [];
  const origin = startServer(async ({ method, url }) => {
    const { pathname, search } = new URL(url);
    // Long enough to reveal notifications that do not wait for the previous one.
    if (/start|begins/.test(pathname)) await Bun.sleep(500);
    calls.push(`${method} ${pathname}${search}`);
    return new Response(null, { status: pathname.startsWith("/broken") ? 500 : 200 });
  });
  const callsOf = (name: string) => calls.filter((call) => call.includes(name));

  concurrent.each([
    ["within seconds of SIGTERM", "SIGTERM", 0],
    ["at once after a second Ctrl+C", "SIGINT", 130],
  ] as const)("that hang do not keep the service from ending %s", async (_, signal, code) => {
    const settings = `[jobs.history-retention]\nping = { start = "${silence.url.origin}/start" }`;
    await using world = await createWorld("sqlite", settings);
    const service = await world.start();
    await ended(world, 1);
    const signaledMs = performance.now();
    service.process.kill(signal);
    await until("it stops", () => service.log().includes('"stopping"'));
    await until("it has ended", () => {
      // Less than a second apart, two would count as one.
      if (signal === "SIGINT") service.process.kill(signal);
      return service.process.exitCode !== null;
    });
    expect(await service.process.exited).toBe(code);
    // Three attempts would take half a minute, and more with a notification after that.
    expect(performance.now() - signaledMs).toBeLessThan(15_000);
  });

  concurrent("that are unreachable are called three times, also by pds run, and do not affect the run", async () => {
    const settings = async (folder: string) => {
      const product = toJson(toProduct(1));
      const [source] = await writeFiles(folder, { "twice.ndjson": `${product}\n${product}` });
      // The port of a stopped service refuses connections.
      const closed = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
      await closed.stop(true);
      return `
          [jobs.catalog-import]
          source = ["${source}"]
          ping = { success = "${origin}/broken/secret" }
          [jobs.personalization-import]
          source = "/nowhere"
          ping = { failure = "${closed.url.origin}/secret" }`;
    };
    await using world = await createWorld("sqlite", settings);
    const [works, fails] = (await Promise.all(
      ["catalog-import", "personalization-import"].map((job) => pds(["run", job], world.environment)),
    )) as [Finished, Finished];
    expect(callsOf("/broken")).toEqual(Array(3).fill("POST /broken/secret"));
    const logOf = ({ stderr }: Finished) => linesOf({ log: () => stderr }).map(({ level, msg }) => [level, msg]);
    expect(works.code).toBe(0);
    expect(logOf(works)).toEqual([[40, "cannot notify the monitor: it responded with status 500"]]);
    expect(fails.code).toBe(1);
    expect(logOf(fails)).toEqual([[40, "cannot notify the monitor: it cannot be reached"]]);
    expect(works.stderr + fails.stderr).not.toContain("secret");
    const runs = await world.runs();
    expect(runs.map(({ outcome }) => outcome).sort()).toEqual(["failed", "succeeded"]);
    // The log of a successful run is not stored.
    expect(works.stderr).toContain("duplicate product 1");
    expect(runs.find(({ outcome }) => outcome === "succeeded")?.log).toBe(null);
  });
});
