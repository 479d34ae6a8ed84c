import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  createMigratedStore,
  type Engine,
  engines,
  enginesOf,
  pds,
  queryStore,
  type RunningService,
  root,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { readinessOf } from "../support/service-process.ts";
import { until, untilEqual } from "../support/until.ts";

// The clock of the database was ahead by years, and has been corrected.
const folder = await temporaryFolder();
const [yearly = "", everySecond = ""] = await writeFiles(folder, {
  "yearly.toml": '[jobs.history-retention]\nschedule = "@yearly"\n',
  "second.toml": '[jobs.history-retention]\nschedule = "* * * * * *"\nmissed = "all"\n',
});
const then = "2036-01-01T00:00:00.000Z";

async function createStoreOf(engine: Engine) {
  const environment = { DATABASE_URL: await createMigratedStore(engine), BRAND: "acme" };
  const query = (statement: string) => queryStore(environment.DATABASE_URL, statement);
  const insert = (...times: readonly string[]) =>
    query(`INSERT INTO run (job, brand, scheduled_at, started_at, finished_at, outcome)
      VALUES ${times.map((at) => `('history-retention', 'acme', '${at}', '${at}', '${at}', 'succeeded')`).join(", ")}`);
  return { environment, query, insert };
}

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

describe.each([...engines])("on %s, runs from the future", (engine) => {
  test("are in no list", async () => {
    const { environment, query, insert } = await createStoreOf(engine);
    const past = inHours(-1);
    const ahead = Array.from({ length: 12 }, (_, index) => `2036-01-01T00:00:${index + 10}.000Z`);
    await insert(past, ...ahead);
    await query("UPDATE run SET counts = id, reason = 'said so'");
    await using service = await serve({ ...environment, PDS_CONFIG: yearly, SCHEDULER: "off" });
    const record = expect.objectContaining({ created_at: `${past.slice(0, 19)}Z` });
    for (const order of ["", "/asc", "/desc"]) {
      expect(await (await service.get(`/api/v1/histories${order}`)).json()).toEqual({ histories: [record] });
    }
    const { stdout } = await pds(["history", "--json"], environment);
    expect(JSON.parse(stdout)).toEqual({ histories: [expect.objectContaining({ finished_at: past })] });
    const shown = async (search: string) => {
      const text = await (await fetch(`${service.adminUrl}/runs${search}`)).text();
      return [...new Set(text.match(/\/runs\/\d+/g))];
    };
    const searches = ["", "?job=history-retention", "?text=said", `?from=${past.slice(0, 10)}`, "?outcome=succeeded"];
    for (const search of searches) expect([search, await shown(search)]).toEqual([search, ["/runs/1"]]);
    expect(await (await fetch(`${service.adminUrl}/runs?job=history-retention`)).text()).not.toContain("2036");
  });

  test("are removed by history-retention, unless schedules wait for their times", async () => {
    const { environment, query, insert } = await createStoreOf(engine);
    const [past, soon] = [inHours(-1), inHours(1)];
    await insert(past, soon, inHours(4), then);
    // It began before the clock was set back, and ended afterwards.
    await query(`INSERT INTO run (job, brand, started_at, finished_at, outcome)
      VALUES ('history-retention', 'acme', '${then}', '${past}', 'failed')`);
    const { code, stdout } = await pds(["run", "history-retention"], { ...environment, PDS_CONFIG: yearly });
    expect([code, stdout]).toEqual([0, "history-retention: 3 runs removed\n"]);
    const left = await query("SELECT finished_at AS at FROM run WHERE scheduled_at IS NOT NULL ORDER BY id");
    expect(left.map(({ at }) => at)).toEqual([past, soon]);
  });

  test.each([
    [
      "a run that is not the newest",
      (at: string) => `INSERT INTO run (job, brand, started_at, finished_at, outcome)
        VALUES ('catalog-import', 'old', '${at}', '${at}', 'succeeded')`,
    ],
    ["a run in progress", (at: string) => `INSERT INTO run (job, brand, started_at) VALUES ('old', 'old', '${at}')`],
    [
      "the lease of a run",
      (at: string) => `INSERT INTO run (job, brand, started_at, lease_until, lease_seconds)
      VALUES ('old', 'old', '2026-01-01T00:00:00.000Z', '${at}', 60)`,
    ],
    ["another lease", (at: string) => `INSERT INTO lease (name, holder, ends_at) VALUES ('push', 'gone', '${at}')`],
  ])("are reported by readiness: %s", async (_, statement) => {
    const { environment, query } = await createStoreOf(engine);
    await using service = await serve({ ...environment, SCHEDULER: "off" });
    await untilEqual(() => readClock(service), { code: 200, status: "ready", clock: "ok" });
    await query(statement(then));
    const clock = `a run or lease of ${then} is in the future: the clock of the database was set back; history-retention removes runs more than three hours ahead`;
    await untilEqual(() => readClock(service), { code: 200, status: "degraded", clock });
  });
});

test.each([
  [600, "ahead of"],
  [-600, "behind"],
])("on postgres, a clock of the machine that is %d s ahead is reported", async (seconds, words) => {
  const { environment } = await createStoreOf("postgres");
  const BUN_OPTIONS = `--preload=${join(root, "test/support/clock.ts")}`;
  const shifted = { BUN_OPTIONS, TEST_CLOCK_SHIFT_MS: `${seconds * 1000}` };
  await using service = await serve({ ...environment, ...shifted, SCHEDULER: "off" });
  // The database may take a moment to answer.
  const read = async () => (await readClock(service)).clock.replace(/\d+ s/, "some");
  await untilEqual(read, `the clock of this machine is some ${words} that of the database`);
  const overview = await (await fetch(service.adminUrl)).text();
  expect(overview).toMatch(new RegExp(`The clock of this machine is \\d+ s ${words} that of the database\\.`));
});

async function readClock(service: RunningService) {
  const { code, status, checks } = await readinessOf(service.url);
  return { code, status, clock: checks.clock ?? "" };
}

describe.each([...enginesOf("postgres")])("on %s, a run from the future", (engine) => {
  test("is reported everywhere, and does not count as the last success", async () => {
    const { environment, insert } = await createStoreOf(engine);
    await insert(then);
    await using service = await serve({ ...environment, PDS_CONFIG: yearly, SCHEDULER: "off" });
    const clock = `history-retention for acme last ran at ${then}, which is in the future: the clock of the database was set back`;
    await untilEqual(() => readClock(service), { code: 200, status: "degraded", clock });
    let metrics = "";
    await until("metrics say so", async () => {
      metrics = await (await fetch(`${service.adminUrl}/metrics`)).text();
      return metrics.includes('pds_job_from_future{job="history-retention",brand="acme"} 1');
    });
    expect(metrics).not.toContain("pds_job_last_success_age_seconds{");
    const inWords = clock.replace(then, "2036-01-01 00:00:00 UTC");
    await until("the console says so", async () => (await (await fetch(service.adminUrl)).text()).includes(inWords));
    const { stdout } = await pds(["jobs"], { ...environment, PDS_CONFIG: yearly });
    expect(stdout).toMatch(/never .*\(in the future\)/);
    expect(stdout).toContain(`${new Date().getUTCFullYear() + 1}-01-01T00:00:00Z`);
  });

  /** @returns the times that had a run at the end, and when the service ran first */
  async function followSchedule(afterS: number) {
    const { environment, query, insert } = await createStoreOf(engine);
    const nowMs = Math.ceil(Date.now() / 1000) * 1000;
    const soon = [0, 1, 2].map((more) => new Date(nowMs + (afterS + more) * 1000).toISOString());
    await insert(...soon, then);
    await using service = await serve({ ...environment, PDS_CONFIG: everySecond });
    const times = async () => {
      const runs = await query(
        "SELECT scheduled_at AS at FROM run WHERE outcome = 'succeeded' AND scheduled_at IS NOT NULL ORDER BY scheduled_at",
      );
      return runs.map(({ at }) => `${at}`).filter((at) => at !== then);
    };
    const last = soon.at(-1) ?? "";
    await until("the schedule has gone on", async () => (await times()).filter((at) => at > last).length > 1);
    const message = "the last run is in the future: the clock was set back";
    await until("the log says so", () => service.log().includes(message));
    await until("it is ready again", async () => (await readClock(service)).clock === "ok");
    const [first] = await query("SELECT min(scheduled_at) AS at FROM run WHERE started_at <> scheduled_at");
    return { all: await times(), isInTime: `${first?.at}` < (soon[0] ?? "") };
  }

  test("does not stop the schedule, which continues from now and passes over times that had a run", async () => {
    let followed = await followSchedule(4);
    // A busy machine may start the service after those times.
    for (let afterS = 8; !followed.isInTime; afterS *= 2) followed = await followSchedule(afterS);
    const { all } = followed;
    const firstMs = Date.parse(all[0] ?? "");
    expect(all).toEqual(all.map((_, index) => new Date(firstMs + index * 1000).toISOString()));
  });
});
