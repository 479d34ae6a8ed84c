import { describe, expect, test } from "bun:test";
import { hostname } from "node:os";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { claimRun } from "../../src/jobs/claim.ts";
import { pauseJob } from "../../src/jobs/job-pause.ts";
import {
  connectTo,
  createMigratedStore,
  createStore,
  type Engine,
  enginesOf,
  pds,
  queryStore,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { childrenOf, readinessOf, type ServiceProcess, startService } from "../support/service-process.ts";
import { startSilence } from "../support/silence.ts";
import { until, untilEqual } from "../support/until.ts";

// Operators cancel runs and pause jobs; every process of the store follows.

const silence = startSilence();

const folder = await temporaryFolder();
const hanging = (brand: string) => `
  [[jobs.personalization-import]]
  brand = "${brand}"
  source = "${silence.url.href}"
  schedule = "* * * * * *"
  retries = 3
  retry_seconds = 1`;
const [config = "", pausing = ""] = await writeFiles(folder, {
  "cancel.toml": `brand = "acme"\n${hanging("acme")}`,
  "pause.toml": `brand = "acme"
    [jobs.history-retention]
    schedule = "* * * * * *"
    missed = "all"
    [[jobs.personalization-import]]
    source = "/nowhere"
    schedule = "@yearly"
    [[jobs.personalization-import]]
    brand = "b/2 é"
    source = "/nowhere"
    schedule = "@yearly"`,
});

interface Run {
  readonly id: number;
  readonly attempt: number;
  readonly scheduledAt: string | null;
  readonly startedAt: string;
  readonly outcome: string | null;
  readonly reason: string | null;
}

// Also without the variable `USER`.
const by = `cancelled by ${(await Bun.$`id -un`.text()).trim()}@${hostname()}`;

/** A new store, and its runs of a job in their order. */
async function createWorld(engine: Engine, PDS_CONFIG: string) {
  const environment = { DATABASE_URL: await createMigratedStore(engine), PDS_CONFIG };
  const query = <Row>(statement: string) => queryStore<Row>(environment.DATABASE_URL, statement);
  const runs = (job: string) =>
    query<Run>(`SELECT id, attempt, scheduled_at AS "scheduledAt", started_at AS "startedAt", outcome, reason
      FROM run WHERE job = '${job}' ORDER BY id`);
  const underWay = async (after = 0): Promise<Run> => {
    let found: Run | undefined;
    const find = async () => {
      found = (await runs("personalization-import")).find(({ id, outcome }) => id > after && outcome === null);
      return found !== undefined;
    };
    await until("a run is in progress", find);
    return found as Run;
  };
  const find = async (id: number) => (await runs("personalization-import")).find((run) => run.id === id);
  return { environment, query, runs, underWay, find };
}

const processOf = async (service: ServiceProcess): Promise<number> => {
  let pid: number | undefined;
  await until("the run has a process", () => {
    [pid] = childrenOf(service.pid);
    return pid !== undefined;
  });
  return pid as number;
};

describe.each([...enginesOf("postgres")])("on %s, pds cancel", (engine) => {
  test.concurrent("ends a run of any replica, which is not retried, and refuses what is not in progress", async () => {
    const { environment, underWay, find } = await createWorld(engine, config);
    // Without a scheduler this replica only serves, so that the run is the other one's.
    await using _serving = await startService({ ...environment, SCHEDULER: "off" });
    await using _running = await startService(environment);
    const first = await underWay();
    const { code, stdout } = await pds(["cancel", `${first.id}`, "--json"], environment);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ...{ run: first.id, job: "personalization-import", brand: "acme", outcome: "cancelled", reason: by },
    });
    expect(await find(first.id)).toMatchObject({ outcome: "cancelled", reason: by });
    const next = await underWay(first.id);
    expect(next.attempt).toBe(1);
    expect((next.scheduledAt ?? "") > (first.scheduledAt ?? "")).toBe(true);
    // Its time had a run, which is why the schedule does not count it as missed.
    const log = (await pds(["logs", `${first.id}`], environment)).stdout;
    expect(log).toMatch(/cancelled by \S+@/);

    for (const [word, code, message] of [
      [`${first.id}`, 1, `run ${first.id} has ended already: cancelled at 20`],
      ["999999", 1, "there is no run 999999"],
      ["x", 2, "expected the number of a run"],
    ] as const) {
      expect(await pds(["cancel", word], environment)).toMatchObject({
        code,
        stderr: expect.stringContaining(message),
      });
    }
  });

  test.concurrent("kills a process that ignores SIGTERM", async () => {
    const { environment, underWay, find } = await createWorld(engine, config);
    await using service = await startService(environment);
    const run = await underWay();
    // A stopped process does not receive SIGTERM, only SIGKILL.
    process.kill(await processOf(service), "SIGSTOP");
    expect((await pds(["cancel", `${run.id}`], environment)).code).toBe(0);
    expect(await find(run.id)).toMatchObject({ outcome: "cancelled", reason: by });
  });

  test.concurrent("waits for the lease of a run whose machine is lost, which is not retried", async () => {
    const { environment, underWay, find } = await createWorld(engine, config);
    const lost = await startService({ ...environment, LEASE_SECONDS: "10" });
    const run = await underWay();
    for (const pid of [lost.pid, await processOf(lost)]) process.kill(pid, "SIGKILL");
    await lost.exited;
    expect((await pds(["cancel", `${run.id}`], environment)).code).toBe(0);
    const reason = expect.stringMatching(/^cancelled by \S+, but its process sent no heartbeat until its lease/);
    expect(await find(run.id)).toMatchObject({ outcome: "abandoned", reason });
    await using _other = await startService(environment);
    expect((await underWay(run.id)).attempt).toBe(1);
  });

  test.concurrent("ends an import from the command line", async () => {
    const { environment, underWay, find } = await createWorld(engine, config);
    const importing = pds(["import", "personalization", silence.url.href], environment);
    const run = await underWay();
    expect((await pds(["cancel", `${run.id}`], environment)).code).toBe(0);
    expect(await importing).toMatchObject({ code: 1, stderr: expect.stringMatching(/cancelled by \S+@/) });
    expect(await find(run.id)).toMatchObject({ outcome: "cancelled" });
  });
});

describe.each([...enginesOf("postgres")])("on %s, a paused job", (engine) => {
  test.concurrent("has no scheduled runs in any replica, also after a restart, and continues from its resumption", async () => {
    const job = "history-retention";
    const { environment, query, runs } = await createWorld(engine, pausing);
    await using first = await startService(environment);
    await using second = await startService(environment);
    await until("the schedule is followed", async () => (await runs(job)).length > 2);
    expect(await pds(["pause", job], environment)).toMatchObject({ code: 0, stdout: `${job} for acme is paused\n` });
    const again = await pds(["pause", job], environment);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("has been paused since 20") });
    const ended = async () => (await runs(job)).every(({ outcome }) => outcome === "succeeded");
    await until("no run is in progress", ended);
    const count = (await runs(job)).length;
    await second.end("SIGTERM");
    await using third = await startService(environment);
    await Bun.sleep(3000);
    expect((await runs(job)).length).toBe(count);

    // Everywhere, it is paused, and nothing is wrong.
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    await query(`UPDATE run SET finished_at = '${hourAgo}' WHERE job = '${job}'`);
    let readiness = "";
    await until("it names the jobs that never succeeded", async () => {
      readiness = await (await fetch(`${third.url}/readyz`)).text();
      return readiness.includes("personalization-import for acme has never succeeded");
    });
    expect(readiness).not.toContain(job);
    let metrics = "";
    const labels = `{job="${job}",brand="acme"}`;
    await until("metrics say so", async () => {
      metrics = await (await fetch(`${first.adminUrl}/metrics`)).text();
      return metrics.includes(`pds_job_paused${labels} 1`);
    });
    expect(metrics).toContain(`pds_job_stale${labels} 0`);
    expect(metrics).not.toContain(`pds_job_next_run_timestamp_seconds${labels}`);
    const overview = async () => (await fetch(first.adminUrl)).text();
    await until("the console says so", async () => (await overview()).includes("<strong>paused</strong>"));
    expect((await pds(["jobs"], environment)).stdout).toMatch(new RegExp(`${job} .*paused`));
    expect((await pds(["check"], environment)).stdout).toMatch(new RegExp(`${job} .*paused since 20.* by \\S+@`));

    const manual = await pds(["run", job], environment);
    expect(manual).toMatchObject({ code: 0, stderr: expect.stringContaining("it runs once now, and stays paused") });
    const before = await runs(job);
    expect(before.length).toBe(count + 1);
    const resumed = await pds(["resume", job], environment);
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("is resumed; its next run is at 20") });
    await until("the schedule goes on", async () => (await runs(job)).length > count + 3);
    const [pause] = await query<{ resumedAt: string }>(`SELECT resumed_at AS "resumedAt" FROM job_pause`);
    const later = (await runs(job)).filter(({ id }) => id > (before.at(-1)?.id ?? 0));
    const firstMs = Date.parse(later[0]?.scheduledAt ?? "");
    expect(firstMs).toBe(Math.floor(Date.parse(pause?.resumedAt ?? "") / 1000) * 1000 + 1000);
    expect(later.map(({ scheduledAt }) => scheduledAt)).toEqual(
      later.map((_, index) => new Date(firstMs + index * 1000).toISOString()),
    );
    expect((await pds(["resume", job], environment)).stdout).toContain("is not paused");
  });

  test.concurrent("is not claimed by a replica that decided to before the pause, but by hand", async () => {
    const { environment } = await createWorld(engine, pausing);
    const database = await openDatabase(environment.DATABASE_URL);
    const job = { job: "history-retention", brand: "acme" };
    await pauseJob(database, job.job, job.brand, "a person");
    for (const isFirst of [false, true]) {
      const basis = { newest: 0, isFirst, wasRunning: false };
      expect(await claimRun(database, { ...job, basis }, 10)).toBeUndefined();
    }
    expect(await claimRun(database, job, 10)).toBeNumber();
    await closeDatabase(database);
  });

  test.concurrent("has no first run, and keeps no service from being ready", async () => {
    const { environment, runs } = await createWorld(engine, config);
    expect((await pds(["pause", "personalization-import"], environment)).code).toBe(0);
    await using service = await startService({ ...environment, STALE_DATA: "fail" });
    const readiness = async () => {
      const { code, checks } = await readinessOf(service.url);
      return { code, data: checks.data, jobs: checks.jobs };
    };
    await untilEqual(readiness, { code: 200, data: "ok", jobs: "ok" });
    expect(await runs("personalization-import")).toEqual([]);
  });
});

test.each([
  [["pause", "history-retnetion"], 'no job "history-retnetion" is configured; did you mean "history-retention"?'],
  [["resume", "nothing-like-it"], "the configured jobs are personalization-import, history-retention"],
  [["run", "history-retentio"], 'did you mean "history-retention"?'],
  [["pause", "personalization-import"], 'is configured for "acme", "b/2 é"; choose one with --brand'],
  [["pause", "personalization-import", "--brand", "c"], 'is configured for "acme", "b/2 é"; choose one with --brand'],
])("a name that is not configured is a usage error: pds %j", async (words, message) => {
  const DATABASE_URL = await createStore("sqlite");
  const { code, stderr } = await pds(words, { DATABASE_URL, PDS_CONFIG: pausing });
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});

test("runs have the settings that the service read, whatever is in the file meanwhile", async () => {
  const DATABASE_URL = await createMigratedStore("sqlite");
  const [PDS_CONFIG = ""] = await writeFiles(await temporaryFolder(), {
    "pds.toml": '[jobs.history-retention]\nschedule = "* * * * * *"\n',
  });
  await using sql = await connectTo(DATABASE_URL);
  const newest = async () => (await sql`SELECT max(id) AS id FROM run WHERE finished_at IS NOT NULL`)[0]?.id ?? 0;
  await using _ = await startService({ DATABASE_URL, PDS_CONFIG });
  await Bun.write(PDS_CONFIG, "brnad = 1\n");
  const before = await newest();
  await until("more runs have finished", async () => (await newest()) > before + 2);
  expect([...(await sql`SELECT DISTINCT outcome FROM run WHERE finished_at IS NOT NULL`)]).toEqual([
    { outcome: "succeeded" },
  ]);
});
