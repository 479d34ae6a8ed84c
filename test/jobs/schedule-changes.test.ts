import { describe, expect, test } from "bun:test";
import { jsonOf } from "../support/command-output.ts";
import { createMigratedStore, engines, queryStore, serve, temporaryFolder, writeFiles } from "../support/pds.ts";
import { until } from "../support/until.ts";

// A missed time is one that the schedule had while it was in force.
const folder = await temporaryFolder();
const retention = (schedule: string, missed = "all") =>
  `[jobs.history-retention]\nschedule = "${schedule}"\nmissed = "${missed}"\n`;
const [everySecond = "", once = "", skip = "", everyOtherSecond = "", off = "", another = ""] = await writeFiles(
  folder,
  {
    "second.toml": retention("* * * * * *"),
    "once.toml": retention("* * * * * *", "once"),
    "skip.toml": retention("* * * * * *", "skip"),
    "other-second.toml": retention("*/2 * * * * *"),
    "off.toml": retention("off"),
    "another.toml": '[[jobs.personalization-import]]\nsource = "/nowhere"\n',
  },
);

describe.each([...engines])("on %s, a job", (engine) => {
  const createWorld = async () => {
    const url = await createMigratedStore(engine);
    const query = (statement: string) => queryStore(url, statement);
    const times = async () => {
      const rows = await query(
        "SELECT DISTINCT scheduled_at AS at FROM run WHERE scheduled_at IS NOT NULL ORDER BY at",
      );
      return rows.map(({ at }) => `${at}`);
    };
    /** Serves until the job has had some runs on schedule after an instant. */
    const follow = async (PDS_CONFIG: string, after = "", runs = 2) => {
      await using _service = await serve({ DATABASE_URL: url, PDS_CONFIG, BRAND: "acme" });
      await until("the schedule is followed", async () => (await times()).filter((at) => at > after).length >= runs);
    };
    /** Moves the last run on schedule an hour back, and removes the others. */
    const leaveForAnHour = async () => {
      const at = new Date(Date.now() - 3_600_000).toISOString();
      await query("DELETE FROM run WHERE id < (SELECT max(id) FROM run)");
      await query(
        `UPDATE run SET scheduled_at = '${at}', started_at = '${at}', finished_at = '${at}', outcome = 'succeeded'`,
      );
      return at;
    };
    return { url, query, times, follow, leaveForAnHour };
  };

  test("makes up for no time that a new schedule would have had before it was in force", async () => {
    const { times, follow, leaveForAnHour } = await createWorld();
    await follow(everySecond);
    const last = await leaveForAnHour();
    const changedAt = new Date().toISOString();
    await follow(everyOtherSecond, last);
    expect((await times()).filter((at) => at > last && at <= changedAt)).toEqual([]);
  });

  test.each([
    ["switched off", off],
    ["removed", another],
  ])("makes up for no time during which it was %s", async (_, without) => {
    const { url, query, times, follow, leaveForAnHour } = await createWorld();
    await follow(everySecond);
    const last = await leaveForAnHour();
    await using _service = await serve({ DATABASE_URL: url, PDS_CONFIG: without, BRAND: "acme" });
    await until("the schedule is forgotten", async () => (await query("SELECT * FROM job_schedule")).length === 0);
    const switchedOnAt = new Date().toISOString();
    await follow(everySecond, last);
    expect((await times()).filter((at) => at > last && at <= switchedOnAt)).toEqual([]);
  });

  test("makes up for the times of its schedule while no service was running", async () => {
    const { times, follow } = await createWorld();
    await follow(everySecond);
    const stoppedAt = (await times()).at(-1) ?? "";
    await follow(everySecond, stoppedAt, 3);
    const all = await times();
    const firstMs = Date.parse(all[0] ?? "");
    expect(all).toEqual(all.map((_, index) => new Date(firstMs + index * 1000).toISOString()));
  });

  test.each([
    ["once", once],
    ["skip", skip],
  ])("says in the report of its next run which times had none, with missed times that run %s", async (_, file) => {
    const { query, times, follow, leaveForAnHour } = await createWorld();
    await follow(file);
    const last = await leaveForAnHour();
    await query(`UPDATE job_schedule SET since = '${last}'`);
    await follow(file, last);
    const next = (await times()).find((at) => at > last) ?? "";
    const [row] = await query(`SELECT report FROM run WHERE scheduled_at = '${next}'`);
    const first = new Date(Math.ceil(Date.parse(last) / 1000) * 1000).toISOString();
    const final = new Date(Date.parse(next) - 1000).toISOString();
    expect(JSON.parse(`${row?.report}`).notes).toEqual([`no run at the scheduled times from ${first} to ${final}`]);
  });

  test("is shown with its next time when the schedule was changed", async () => {
    const { url, follow, leaveForAnHour } = await createWorld();
    await follow(everySecond);
    await leaveForAnHour();
    const before = Date.now();
    const [job] = await jsonOf(["jobs"], { DATABASE_URL: url, PDS_CONFIG: everyOtherSecond, BRAND: "acme" });
    expect(Date.parse(job.next)).toBeGreaterThan(before);
  });
});
