import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { median, percentile } from "../../bench/support/statistics.ts";
import { feedOf } from "../support/feed.ts";
import { killOnExit } from "../support/kill-on-exit.ts";
import { createNewVersion } from "../support/new-version.ts";
import {
  connectTo,
  createStore,
  type Engine,
  enginesOf,
  isCampaign,
  main,
  migrateStore,
  root,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { createPostgres, type Postgres } from "../support/postgres.ts";
import { startProxy } from "../support/proxy.ts";
import { startServer } from "../support/server.ts";
import { canSeeProcesses, childrenOf, isAlive } from "../support/service-process.ts";
import { until } from "../support/until.ts";

// Everything at once: three replicas whose clocks are ten years apart follow several schedules.
// Replicas are killed, alone and with their runs; machines are frozen or cut off in the middle of a
// load; the server crashes; and all are upgraded one after the other on the way. Each scheduled time
// has one run.

/** Scheduled times to observe. */
const ticks = Number(process.env.CHAOS_TICKS ?? (isCampaign ? 1000 : 20));
setDefaultTimeout((ticks * 3 + 300) * 1000);
const leaseSeconds = isCampaign ? 15 : 3;
const brands = Array.from({ length: isCampaign ? 6 : 3 }, (_, index) => `brand ${index}`);
const everySeconds = isCampaign ? 5 : 2;
const yearMs = 365 * 86_400_000;
/** How wrong the clock of each replica is. The database's counts. */
const shiftsMs = [0, 10 * yearMs, -10 * yearMs];
const outageMs = leaseSeconds * 1200;
const recoveryMs = leaseSeconds * (isCampaign ? 1200 : 300);

/** A slow feed that is new at each time of the schedules, so that faults interrupt loads. */
const skus = Array.from({ length: 300 }, (_, index) => `SKU-${index}`);
const feed = startServer(async ({ url }) => {
  await Bun.sleep(50);
  const files: Readonly<Record<string, string>> = feedOf(skus, `Serif ${Math.floor(Date.now() / 1000 / everySeconds)}`);
  const file = files[new URL(url).pathname.slice(1)];
  return file === undefined ? new Response(null, { status: 404 }) : new Response(file);
});

const folder = await temporaryFolder();
const [config = ""] = await writeFiles(folder, {
  "pds.toml": [
    `lease_seconds = ${leaseSeconds}\n`,
    ...brands.map(
      (brand) => `[[jobs.personalization-import]]
        brand = "${brand}"
        source = "${feed}/"
        schedule = "*/${everySeconds} * * * * *"
        missed = "all"
        settle_seconds = 0\n`,
    ),
  ].join("\n"),
});
const newVersion = await createNewVersion();

/** A machine: a process group with its own clock and its own way to the store. */
class Machine {
  readonly #url: string;
  readonly #shiftMs: number;
  readonly proxy: Awaited<ReturnType<typeof startProxy>> | undefined;
  #program = main;
  #child: Bun.Subprocess;
  #isEnding = false;
  /** Starts after it was killed, or ended by itself, as it does when it starts without a store. */
  restarts = 0;

  constructor(url: string, shiftMs: number, proxy: Machine["proxy"]) {
    this.#url = url;
    this.#shiftMs = shiftMs;
    this.proxy = proxy;
    this.#child = this.#spawn();
  }

  #spawn(): Bun.Subprocess {
    const child = Bun.spawn([process.execPath, this.#program, "serve"], {
      cwd: root,
      env: {
        PATH: process.env.PATH ?? "",
        PDS_CONFIG: config,
        DATABASE_URL: this.proxy?.url ?? this.#url,
        PORT: "0",
        ADMIN_PORT: "0",
        DRAIN_SECONDS: "0",
        LOG_LEVEL: "error",
        BUN_OPTIONS: `--preload=${join(root, "test", "support", "clock.ts")}`,
        TEST_CLOCK_SHIFT_MS: `${this.#shiftMs}`,
      },
      stdio: ["ignore", "ignore", "ignore"],
      detached: true,
    });
    killOnExit(child, "TERM");
    void child.exited.then(async () => {
      await Bun.sleep(500);
      if (this.#child !== child || this.#isEnding) return;
      this.restarts++;
      this.#child = this.#spawn();
    });
    return child;
  }

  get isLoading(): boolean {
    return isAlive(this.#child.pid) && childrenOf(this.#child.pid).length > 0;
  }

  /** Sends a signal to its processes. */
  signal(name: NodeJS.Signals): void {
    process.kill(-this.#child.pid, name);
  }

  async kill(isWholeGroup: boolean): Promise<void> {
    if (isWholeGroup) this.signal("SIGKILL");
    else this.#child.kill("SIGKILL");
    await this.#child.exited;
  }

  async stop(): Promise<void> {
    this.#isEnding = true;
    this.#child.kill("SIGTERM");
    await this.#child.exited;
  }

  async upgrade(): Promise<void> {
    await this.stop();
    this.#isEnding = false;
    this.#program = newVersion;
    this.#child = this.#spawn();
  }
}

type Fault = "kill" | "machine" | "freeze" | "cut" | "crash";
const faultsOf: Readonly<Record<Engine, readonly Fault[]>> = {
  sqlite: ["freeze", "kill", "machine"],
  postgres: ["cut", "freeze", "kill", "crash", "machine"],
};

async function findLoading(machines: readonly Machine[]): Promise<Machine> {
  let found: Machine | undefined;
  await until("a run is in progress", () => {
    found = machines.find(({ isLoading }) => isLoading);
    return found !== undefined;
  });
  return found as Machine;
}

async function cause(fault: Fault, machines: readonly Machine[], server: Postgres | undefined): Promise<void> {
  const victim = await findLoading(machines);
  if (fault === "kill" || fault === "machine") await victim.kill(fault === "machine");
  else if (fault === "crash") {
    await server?.stop("SIGQUIT");
    await server?.start();
  } else if (fault === "cut") {
    victim.proxy?.cut();
    await Bun.sleep(outageMs);
    victim.proxy?.heal();
  } else {
    // An embedded store has one machine.
    const frozen = server === undefined ? machines : [victim];
    for (const machine of frozen) machine.signal("SIGSTOP");
    await Bun.sleep(server === undefined ? outageMs / 1.5 : outageMs);
    for (const machine of frozen) machine.signal("SIGCONT");
  }
}

interface TickRun {
  readonly brand: string;
  readonly scheduledAt: string;
  readonly attempt: number;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly outcome: string | null;
  readonly reason: string | null;
}

interface Result {
  readonly runs: TickRun[];
  readonly faults: number;
  readonly restarts: number;
}

async function campaign(engine: Engine): Promise<Result> {
  const server = engine === "postgres" ? await createPostgres() : undefined;
  const url = server?.url ?? (await createStore(engine));
  await migrateStore(url);
  const machines: Machine[] = [];
  try {
    for (const shiftMs of shiftsMs) {
      machines.push(new Machine(url, shiftMs, server && (await startProxy(url))));
    }
    const read = async () => {
      await using sql = await connectTo(url);
      return [
        ...(await sql<TickRun[]>`
          SELECT brand, scheduled_at AS "scheduledAt", attempt, started_at AS "startedAt",
            finished_at AS "finishedAt", outcome, reason
          FROM run WHERE scheduled_at IS NOT NULL ORDER BY brand, scheduled_at, id`),
      ];
    };
    const countEnded = async () => (await read().catch(() => [])).filter(({ outcome }) => outcome !== null).length;
    await until("the schedules are followed", async () => (await countEnded()) > brands.length, 120_000);
    const kinds = faultsOf[engine];
    let faults = 0;
    let isUpgraded = false;
    for (; faults < kinds.length || (await countEnded()) < ticks; faults++) {
      await cause(kinds[faults % kinds.length] as Fault, machines, server);
      await Bun.sleep(recoveryMs);
      if (isUpgraded || (faults < kinds.length / 2 && (await countEnded()) < ticks / 2)) continue;
      isUpgraded = true;
      for (const machine of machines) await machine.upgrade();
    }
    expect(isUpgraded).toBe(true);
    const begunBefore =
      (await read())
        .map(({ startedAt }) => startedAt)
        .toSorted()
        .at(-1) ?? "";
    await until(
      "the runs of lost machines have ended",
      async () => {
        const runs = await read().catch(() => undefined);
        return runs?.every(({ startedAt, outcome }) => startedAt > begunBefore || outcome !== null) === true;
      },
      120_000,
    );
    const seen = await countEnded();
    await until("the schedules go on", async () => (await countEnded()) > seen + brands.length, 120_000);
    await Promise.all(machines.map((machine) => machine.stop()));
    return { runs: await read(), faults, restarts: machines.reduce((sum, { restarts }) => sum + restarts, 0) };
  } finally {
    for (const machine of machines) {
      try {
        machine.signal("SIGKILL");
      } catch {
        // It has stopped.
      }
    }
    await server?.remove();
  }
}

/** A delayed run may also see the feed change. */
const causedByFault =
  /changed while it was read|^(the service was stopped$|its lease expired|its process (exited|was killed))|connection/i;

function judge(engine: Engine, { runs, faults, restarts }: Result): void {
  for (const brand of brands) {
    const own = runs.filter((run) => run.brand === brand);
    const firstMs = Date.parse(own[0]?.scheduledAt ?? "");
    // Each time has one run, and none begins early or during another one.
    expect(own.map(({ scheduledAt }) => scheduledAt)).toEqual(
      own.map((_, index) => new Date(firstMs + index * everySeconds * 1000).toISOString()),
    );
    for (const [index, { attempt, scheduledAt, startedAt }] of own.entries()) {
      expect(attempt).toBe(1);
      expect(startedAt >= scheduledAt).toBe(true);
      expect(startedAt >= (own[index - 1]?.finishedAt ?? "")).toBe(true);
    }
  }
  expect(runs.filter(({ outcome }) => outcome === null)).toEqual([]);
  for (const end of ["succeeded", "abandoned"]) expect(runs.map(({ outcome }) => outcome)).toContain(end);
  // Faults end runs; they don't make the runs of others fail.
  const failed = runs.filter(({ outcome }) => outcome === "failed").map(({ reason }) => reason);
  expect(failed.filter((reason) => !causedByFault.test(reason ?? ""))).toEqual([]);
  if (!isCampaign) return;
  const delays = runs.map(({ startedAt, scheduledAt }) => Date.parse(startedAt) - Date.parse(scheduledAt));
  const ends = Map.groupBy(runs, ({ outcome }) => outcome);
  process.stderr.write(
    `${engine}: ${runs.length} ticks, each once; ${faults} faults, ${restarts} restarts; ` +
      `${[...ends].map(([outcome, some]) => `${some.length} ${outcome}`).join(", ")}; ` +
      `begun after ${median(delays)} ms (median), ${percentile(delays, 0.99)} ms (99 %), ${Math.max(...delays)} ms (last)\n`,
  );
  expect(Math.max(...delays)).toBeLessThan(2 * leaseSeconds * 1000);
}

describe.skipIf(!canSeeProcesses)("three replicas under faults of every kind", () => {
  test.each([...enginesOf("postgres")])("run each time of the schedules once, on %s", async (engine) => {
    judge(engine, await campaign(engine));
  });
});
