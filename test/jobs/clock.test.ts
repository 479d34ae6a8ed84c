import { describe, expect, test } from "bun:test";
import {
  connectTo,
  createStore,
  enginesOf,
  migrateStore,
  pds,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { until, untilEqual } from "../support/until.ts";

// The clock of the database was ahead by years, and has been corrected.
const folder = await temporaryFolder();
const [yearly = "", everySecond = ""] = await writeFiles(folder, {
  "yearly.toml": '[jobs.history-retention]\nschedule = "@yearly"\n',
  "second.toml": '[jobs.history-retention]\nschedule = "* * * * * *"\nmissed = "all"\n',
});
const then = "2036-01-01T00:00:00.000Z";

describe.each([...enginesOf("postgres")])("on %s, a run from the future", (engine) => {
  const createWorld = async () => {
    const environment = { DATABASE_URL: await createStore(engine), BRAND: "acme" };
    await migrateStore(environment.DATABASE_URL);
    const query = async (statement: string) => {
      await using sql = await connectTo(environment.DATABASE_URL);
      return [...(await sql.unsafe(statement))] as Record<string, unknown>[];
    };
    const insert = (...times: readonly string[]) =>
      query(`INSERT INTO run (job, brand, scheduled_at, started_at, finished_at, outcome)
        VALUES ${times.map((at) => `('history-retention', 'acme', '${at}', '${at}', '${at}', 'succeeded')`).join(", ")}`);
    return { environment, query, insert };
  };

  test("is reported everywhere, and does not count as the last success", async () => {
    const { environment, insert } = await createWorld();
    await insert(then);
    await using service = await serve({ ...environment, PDS_CONFIG: yearly, SCHEDULER: "off" });
    const clock = `history-retention for acme last ran at ${then}, which is in the future: the clock of the database was set back`;
    const readiness = async () => {
      const response = await service.get("/readyz");
      const { status, checks } = (await response.json()) as { status: string; checks: { clock: string } };
      return { code: response.status, status, clock: checks.clock };
    };
    await untilEqual(readiness, { code: 200, status: "degraded", clock });
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
    const next = `${new Date().getUTCFullYear() + 1}-01-01T00:00:00Z`;
    expect(stdout).toContain(next);
  });

  /** @returns the times that had a run at the end, and when the service ran first */
  async function followSchedule(afterS: number) {
    const { environment, query, insert } = await createWorld();
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
    await until("it is ready again", async () =>
      (await (await service.get("/readyz")).text()).includes('"clock":"ok"'),
    );
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
