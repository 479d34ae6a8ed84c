import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { feedFiles } from "../support/feed.ts";
import { killOnExit } from "../support/kill-on-exit.ts";
import { createStore, type Engine, isCampaign, main, root, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

// Several replicas share a store and a job that is due every second. Every few seconds one of them
// is killed.

/** Number of scheduled times to observe; the full campaign observes more. */
const ticks = Number(process.env.FAULT_TICKS ?? 8);
const replicaCount = 3;
/** Time between two kills, and from a kill to the restart. */
const killPauseMs = isCampaign ? 4000 : 2500;
const restartPauseMs = 700;
const leaseSeconds = 4;

interface TickRun {
  readonly scheduledAt: string;
  readonly attempt: number;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly outcome: string;
}

interface Replica {
  readonly process: Bun.Subprocess;
  readonly exited: Promise<number>;
}

/** A slow feed, so that a kill often interrupts a run. */
const feed = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async ({ url }) => {
    await Bun.sleep(50);
    const file = feedFiles[new URL(url).pathname.slice(1) as keyof typeof feedFiles];
    return file === undefined ? new Response(null, { status: 404 }) : new Response(file);
  },
});
afterAll(() => feed.stop(true));

const folder = await temporaryFolder();
const [config = ""] = await writeFiles(folder, {
  "pds.toml": `
    brand = "acme"
    lease_seconds = ${leaseSeconds}
    [jobs.personalization-import]
    source = "${feed.url.origin}/"
    schedule = "* * * * * *"
    missed = "all"
    settle_seconds = 0
  `,
});

/** Starts a replica in its own process group, like a container. */
function start(url: string, shiftMs: number): Replica {
  const child = Bun.spawn([process.execPath, main, "serve"], {
    env: {
      PATH: process.env.PATH ?? "",
      PDS_CONFIG: config,
      DATABASE_URL: url,
      PORT: "0",
      ADMIN_PORT: "0",
      LOG_LEVEL: "error",
      ...(shiftMs !== 0 && {
        BUN_OPTIONS: `--preload=${join(root, "test", "support", "clock.ts")}`,
        TEST_CLOCK_SHIFT_MS: `${shiftMs}`,
      }),
    },
    stdio: ["ignore", "ignore", "ignore"],
    detached: true,
  });
  killOnExit(child, "TERM");
  return { process: child, exited: child.exited };
}

/** Kills a replica, alone or with its children like the loss of a machine. */
async function kill({ process: child, exited }: Replica, isWholeGroup: boolean): Promise<void> {
  process.kill(isWholeGroup ? -child.pid : child.pid, "SIGKILL");
  await exited;
}

const canSeeChildren = existsSync("/proc");

/** Whether a replica is running a job. */
function isRunning({ process: child }: Replica): boolean {
  const path = `/proc/${child.pid}/task/${child.pid}/children`;
  return existsSync(path) && readFileSync(path, "utf8") !== "";
}

/** Waits for a replica that is running a job. */
async function findRunning(replicas: readonly Replica[]): Promise<number> {
  let found = -1;
  await until("a run is under way", () => {
    found = replicas.findIndex(isRunning);
    return found >= 0;
  });
  return found;
}

async function campaign(url: string, shiftsMs: readonly number[]): Promise<{ runs: TickRun[]; kills: number }> {
  const replicas = shiftsMs.map((shiftMs) => start(url, shiftMs));
  let kills = 0;
  let isOver = false;
  const killing = (async () => {
    while (!isOver) {
      await Bun.sleep(killPauseMs);
      // Every other kill hits a replica that is running a job.
      const victim = kills % 2 === 0 && canSeeChildren ? await findRunning(replicas) : kills % replicas.length;
      await kill(replicas[victim] as Replica, kills % 4 !== 2);
      kills++;
      await Bun.sleep(restartPauseMs);
      replicas[victim] = start(url, shiftsMs[victim] ?? 0);
    }
  })();
  await using sql = new SQL(url, { max: 1 });
  const read = () => sql<TickRun[]>`
    SELECT scheduled_at AS ${sql("scheduledAt")}, attempt, started_at AS ${sql("startedAt")},
      finished_at AS ${sql("finishedAt")}, outcome
    FROM run WHERE scheduled_at IS NOT NULL ORDER BY scheduled_at, id`;
  // Before that, the tables may not exist.
  const finished = async () => (await read().catch(() => [])).filter(({ outcome }) => outcome !== null);
  try {
    const mostMs = (ticks * 5 + 180) * 1000;
    await until(`${ticks} times have had their run`, async () => (await finished()).length >= ticks, mostMs);
    isOver = true;
    await killing;
    // The run of the last kill must be abandoned too, because it blocks the next run.
    const seen = (await finished()).length;
    await until("the schedule goes on", async () => (await finished()).length >= seen + 2);
  } finally {
    isOver = true;
    await killing;
    for (const replica of replicas) replica.process.kill("SIGTERM");
    await Promise.all(replicas.map(({ exited }) => exited));
  }
  return { runs: await read(), kills };
}

function judge(name: string, { runs, kills }: { runs: TickRun[]; kills: number }): void {
  const times = runs.map(({ scheduledAt }) => Date.parse(scheduledAt));
  const first = times[0] ?? 0;
  // Each second has exactly one run.
  expect(times).toEqual(Array.from({ length: runs.length }, (_, index) => first + index * 1000));
  expect(runs.every(({ attempt }) => attempt === 1)).toBe(true);
  expect(runs.filter(({ outcome }) => outcome === null)).toEqual([]);

  // Runs that did not succeed were interrupted by a kill, or by the stop at the end.
  const abandoned = runs.filter(({ outcome }) => outcome === "abandoned").length;
  const stopped = runs.filter(({ outcome }) => outcome === "failed");
  expect(abandoned).toBeLessThanOrEqual(kills);
  if (canSeeChildren) expect(abandoned).toBeGreaterThan(0);
  expect(stopped.length).toBeLessThanOrEqual(1);
  expect(stopped).toEqual(runs.slice(runs.length - stopped.length));

  // By the store's clock, no run starts early or during another run.
  for (const [index, { scheduledAt, startedAt }] of runs.entries()) {
    expect(startedAt >= scheduledAt).toBe(true);
    expect(startedAt >= (runs[index - 1]?.finishedAt ?? "")).toBe(true);
  }
  if (!isCampaign) return;
  const delays = runs
    .map(({ startedAt, scheduledAt }) => Date.parse(startedAt) - Date.parse(scheduledAt))
    .sort((a, b) => a - b);
  const at = (share: number) => delays[Math.floor(share * (delays.length - 1))];
  process.stderr.write(
    `${name}: ${runs.length} ticks, each claimed once; ${kills} kills, ${abandoned} runs abandoned; ` +
      `begun after ${at(0.5)} ms (median), ${at(0.9)} ms (90 %), ${at(1)} ms (last)\n`,
  );
}

const scenarios: readonly [string, Engine, readonly number[]][] = [
  ["on one embedded store", "sqlite", Array(replicaCount).fill(0)],
  ["on one shared store, with clocks that are ten minutes apart", "postgres", [0, 300_000, -300_000]],
  ...(isCampaign
    ? [["on one shared store", "postgres", Array(replicaCount).fill(0)] satisfies [string, Engine, number[]]]
    : []),
];

describe(`${replicaCount} replicas, one of which is killed and restarted every few seconds`, async () => {
  const stores = await Promise.all(scenarios.map(([, engine]) => createStore(engine)));
  test.concurrent.each(scenarios.map(([name, , shiftsMs], index) => ({ name, shiftsMs, url: stores[index] ?? "" })))(
    "$name run each time of the schedule once",
    async ({ name, shiftsMs, url }) => {
      judge(name, await campaign(url, shiftsMs));
    },
    (ticks * 6 + 300) * 1000,
  );
});
