import { expect, test } from "bun:test";
import { closeDatabase, openDatabase } from "../../src/database/index.ts";
import { findFailingSince } from "../../src/jobs/runs.ts";
import { createMigratedStore } from "../support/pds.ts";

const instant = (n: string) =>
  `to_char(to_timestamp(1735000000 + ${n}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const columns = "(job, brand, started_at, finished_at, lease_until, outcome, reason)";
const others = 20_000;

test("since the start of which run a new job fails is found without reading the runs of others", async () => {
  const database = await openDatabase(await createMigratedStore("postgres"), "background");
  const { sql } = database;
  await sql.unsafe(`
    INSERT INTO run ${columns} SELECT 'job-' || (n % 4), 'brand-' || (n % 3), ${instant("n")}, ${instant("n")},
      ${instant("n")}, CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'succeeded' END, CASE WHEN n % 10 = 0 THEN 'why' END
    FROM generate_series(1, ${others}) AS numbers (n)`);
  const outcomes = [
    ["failing", "cancelled"],
    ["failing", "failed"],
  ] as const;
  for (const [index, [job, outcome]] of outcomes.entries()) {
    const at = instant(`${others + index}`);
    const end = instant(`${others + index} + 0.5`);
    await sql.unsafe(`INSERT INTO run ${columns} VALUES ($1, 'acme', ${at}, ${end}, ${end}, $2, $3)`, [
      job,
      outcome,
      "new",
    ]);
  }
  await sql`VACUUM ANALYZE run`;
  const counted = await database.inTransaction(async (transaction) => {
    const failing = { id: others + outcomes.length, job: "failing", brand: "acme" };
    const since = await findFailingSince(transaction, failing);
    const [row] = await transaction.sql<{ rows: number }[]>`
      SELECT CAST(seq_tup_read + idx_tup_fetch AS INTEGER) AS rows FROM pg_stat_xact_user_tables WHERE relname = 'run'`;
    return { since, rows: row?.rows ?? Number.NaN };
  });
  const iso = (index: number) => new Date((1_735_000_000 + others + index) * 1000).toISOString();
  expect(counted.since).toBe(iso(0));
  expect(counted.rows).toBeLessThan(others / 10);
  await closeDatabase(database);
});
