import { describe, expect, test } from "bun:test";
import { percentile } from "../../bench/support/statistics.ts";
import {
  begin,
  connectTo,
  createStore,
  enginesOf,
  isCampaign,
  migrateStore,
  serve,
  temporaryFolder,
  writeFiles,
} from "../support/pds.ts";
import { until } from "../support/until.ts";

/** Runs to remove. */
const many = isCampaign ? 1_000_000 : 60_000;
const folder = await temporaryFolder();
const [config = ""] = await writeFiles(folder, { "pds.toml": "[jobs.history-retention]\nkeep_days = 30\n" });

describe.each([...enginesOf("postgres")])("on %s, the removal of many old runs", (engine) => {
  test("handles signals, counts what it removed, keeps the latest runs, and leaves others their turn", async () => {
    const environment = { DATABASE_URL: await createStore(engine), PDS_CONFIG: config, SCHEDULER: "off" };
    await migrateStore(environment.DATABASE_URL);
    await using sql = await connectTo(environment.DATABASE_URL);
    const series =
      engine === "sqlite"
        ? `WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${many}) SELECT n FROM series`
        : `SELECT n FROM generate_series(1, ${many}) AS n`;
    const two = (from: number) => (engine === "sqlite" ? `printf('%02d', ${from})` : `lpad('${from}', 2, '0')`);
    await sql.unsafe(`INSERT INTO run (job, brand, scheduled_at, started_at, finished_at, outcome)
      SELECT 'catalog-sync', 'acme', '2020-01-' || ${two(1)} || 'T' || n, '2020', '2020-01-01T' || n,
        CASE WHEN n % 3 = 0 THEN 'failed' ELSE 'succeeded' END FROM (${series}) AS numbers`);
    const count = async () => (await sql<{ n: number }[]>`SELECT CAST(count(*) AS INTEGER) AS n FROM run`)[0]?.n ?? 0;
    const newestId = (await sql<{ id: number }[]>`SELECT max(id) AS id FROM run`)[0]?.id;
    await using service = await serve({ ...environment, MEMORY_MEGABYTES: "0" });
    const measure = async (isOver: () => boolean) => {
      const times: number[] = [];
      while (!isOver() || times.length < 300) {
        const begunAt = performance.now();
        expect((await service.get("/api/v1/products/1")).status).toBe(404);
        times.push(performance.now() - begunAt);
        await Bun.sleep(2);
      }
      return percentile(times, 0.99);
    };
    const aloneMs = await measure(() => true);

    const job = () => begin(["run", "history-retention"], environment);
    const stopped = job();
    await until("it has removed some", async () => (await count()) < many);
    stopped.kill("SIGTERM");
    const signaledAt = performance.now();
    await stopped.exited;
    const stopMs = performance.now() - signaledAt;
    const left = await count();
    expect(left).toBeGreaterThan(1);
    const runs = () => sql<{ outcome: string; counts: number }[]>`
      SELECT outcome, counts FROM run WHERE job = 'history-retention' ORDER BY id`;
    // The run itself is one more.
    expect([...(await runs())]).toEqual([{ outcome: "failed", counts: many - (left - 1) }]);

    const whole = job();
    let isOver = false;
    void whole.exited.then(() => {
      isOver = true;
    });
    const besideMs = await measure(() => isOver);
    expect(await whole.exited).toBe(0);
    const [, second] = await runs();
    // Of the sync: the newest, which failed or succeeded, and the newest that succeeded.
    const kept = await sql<{ id: number }[]>`SELECT id FROM run WHERE job = 'catalog-sync' ORDER BY id`;
    expect(kept.at(-1)?.id).toBe(newestId);
    expect(kept.length).toBeLessThanOrEqual(2);
    expect(second).toMatchObject({ outcome: "succeeded", counts: left - 1 - kept.length });
    if (!isCampaign) return;
    process.stderr.write(
      `${engine}: ${many} runs; p99 ${aloneMs.toFixed(1)} ms alone, ${besideMs.toFixed(1)} ms beside; stopped in ${stopMs.toFixed(0)} ms\n`,
    );
    expect(besideMs).toBeLessThan(2 * aloneMs + 1);
  }, 900_000);
});
